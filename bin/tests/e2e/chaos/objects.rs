//! Objects that come, go and change, and what they ask for.
//!
//! Each place holds at most one object, of a kind that follows from its number. The first places are never empty: where a kind that
//! had objects has none after a reconnect, the daemon rightly doubts the answer, and that is not the matter here.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zonewright_testkit::KubeApi;

use crate::cluster::{HOSTNAME, TARGET, TTL};
use crate::dice::Dice;
use crate::site::ZONE;

/// How many objects there may be.
const PLACES: usize = 26;
/// How many of them are never deleted.
const PERMANENT: usize = 9;
/// From this place on two objects may ask for the same name.
const SHARING: usize = 22;

/// The objects of a namespace.
#[derive(Debug)]
pub(super) struct Objects {
    namespace: String,
    places: Vec<Option<Object>>,
}

/// An object as the API server has it.
#[derive(Debug, Clone)]
struct Object {
    host: String,
    targets: Vec<String>,
    /// Seconds; 0 where it does not say.
    ttl: usize,
    /// Whether its status names no address for now.
    blank: bool,
}

/// How an object says where it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A Service with its targets in an annotation.
    Service,
    /// A Service with its targets in its status.
    Balancer,
    /// An Ingress with its targets in an annotation.
    Ingress,
}

impl Kind {
    fn of(place: usize) -> Self {
        [Self::Service, Self::Balancer, Self::Ingress][place % 3]
    }

    fn plural(self) -> &'static str {
        if self == Self::Ingress { "ingresses" } else { "services" }
    }
}

impl Objects {
    pub(super) fn new(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), places: vec![None; PLACES] }
    }

    /// Creates the objects that there are from the beginning.
    pub(super) fn begin(&mut self, kube: &KubeApi, dice: &mut Dice) {
        for place in 0..PERMANENT + 4 {
            self.create(kube, dice, place);
        }
    }

    /// One change of one object, or a few that go together; returns what it was.
    pub(super) fn act(&mut self, kube: &KubeApi, dice: &mut Dice) -> String {
        let place = dice.below(PLACES);
        if self.places[place].is_none() {
            return self.create(kube, dice, place);
        }
        match dice.below(10) {
            0..4 => self.retarget(kube, dice, place),
            4 => self.set_ttl(kube, dice, place),
            5..7 => self.rename(kube, dice, place),
            7 if Kind::of(place) == Kind::Balancer => self.blank(kube, place),
            7 | 8 => self.delete(kube, place),
            _ => {
                let further = (0..3).map(|_| dice.below(PLACES)).collect::<Vec<_>>();
                further.into_iter().map(|place| self.delete(kube, place)).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// Gives every object its status again.
    pub(super) fn restore(&mut self, kube: &KubeApi) {
        for place in 0..PLACES {
            if self.places[place].as_ref().is_some_and(|object| object.blank) {
                self.blank(kube, place);
            }
        }
    }

    /// For each name that is asked for: each of the record sets that may stand there, as `name TTL type data`.
    pub(super) fn asked(&self) -> BTreeMap<String, Vec<Vec<String>>> {
        let mut asked: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        for object in self.places.iter().flatten() {
            asked.entry(object.host.clone()).or_default().push(object.records());
        }
        asked
    }

    fn path(&self, place: usize) -> String {
        let plural = Kind::of(place).plural();
        let api = if plural == "ingresses" { "/apis/networking.k8s.io/v1" } else { "/api/v1" };
        format!("{api}/namespaces/{}/{plural}", self.namespace)
    }

    fn create(&mut self, kube: &KubeApi, dice: &mut Dice, place: usize) -> String {
        let host = host(dice, place);
        let object = Object { targets: targets(dice, &host), host, ttl: 0, blank: false };
        let mut body = object.annotations_and_spec(Kind::of(place));
        body["metadata"]["name"] = json!(format!("o{place}"));
        kube.post(&self.path(place), &body).expect_success();
        let line = format!("o{place} comes: {object}");
        self.places[place] = Some(object);
        self.write_status(kube, place);
        line
    }

    /// Changes an object, and writes what differs.
    fn change(&mut self, kube: &KubeApi, place: usize, change: impl FnOnce(&mut Object)) -> String {
        let Some(object) = self.places[place].as_mut() else { return format!("o{place} is not there") };
        change(object);
        let (mut body, line) = (object.annotations_and_spec(Kind::of(place)), format!("o{place} now: {object}"));
        if object.ttl == 0 {
            body["metadata"]["annotations"][TTL] = Value::Null;
        }
        self.write_status(kube, place);
        kube.patch(&format!("{}/o{place}", self.path(place)), &body).expect_success();
        line
    }

    fn write_status(&self, kube: &KubeApi, place: usize) {
        let Some(object) = self.places[place].as_ref().filter(|_| Kind::of(place) == Kind::Balancer) else { return };
        let entry = |target: &String| match target.parse::<std::net::IpAddr>() {
            Ok(_) => json!({ "ip": target }),
            Err(_) => json!({ "hostname": target }),
        };
        let entries: Vec<Value> = object.targets.iter().filter(|_| !object.blank).map(entry).collect();
        let status = json!({ "loadBalancer": { "ingress": entries } });
        kube.patch_status(&format!("{}/o{place}", self.path(place)), &status).expect_success();
    }

    fn retarget(&mut self, kube: &KubeApi, dice: &mut Dice, place: usize) -> String {
        self.change(kube, place, |object| object.targets = targets(dice, &object.host))
    }

    fn set_ttl(&mut self, kube: &KubeApi, dice: &mut Dice, place: usize) -> String {
        self.change(kube, place, |object| object.ttl = [0, 60, 300][dice.below(3)])
    }

    fn rename(&mut self, kube: &KubeApi, dice: &mut Dice, place: usize) -> String {
        let host = host(dice, place);
        self.change(kube, place, |object| {
            object.targets = targets(dice, &host);
            object.host = host;
        })
    }

    /// Takes the addresses out of a load balancer's status, or puts them back.
    fn blank(&mut self, kube: &KubeApi, place: usize) -> String {
        self.change(kube, place, |object| object.blank = !object.blank)
    }

    fn delete(&mut self, kube: &KubeApi, place: usize) -> String {
        if place < PERMANENT || self.places[place].take().is_none() {
            return format!("o{place} stays");
        }
        kube.delete(&format!("{}/o{place}", self.path(place))).expect_success();
        format!("o{place} goes")
    }
}

impl Object {
    fn annotations_and_spec(&self, kind: Kind) -> Value {
        let host = format!("{}.{ZONE}", self.host);
        let mut annotations = json!({});
        if self.ttl > 0 {
            annotations[TTL] = json!(self.ttl.to_string());
        }
        if kind != Kind::Balancer {
            annotations[TARGET] = json!(self.targets.join(","));
        }
        let spec = match kind {
            Kind::Ingress => json!({ "rules": [{ "host": host }] }),
            Kind::Service => json!({ "type": "ClusterIP", "ports": [{ "port": 80 }] }),
            Kind::Balancer => json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }),
        };
        if kind != Kind::Ingress {
            annotations[HOSTNAME] = json!(host);
        }
        json!({ "metadata": { "annotations": annotations }, "spec": spec })
    }

    fn records(&self) -> Vec<String> {
        let record = |target: &String| match target.parse::<std::net::IpAddr>() {
            Ok(std::net::IpAddr::V4(_)) => format!("{} {} A {target}", self.host, self.ttl),
            Ok(std::net::IpAddr::V6(_)) => format!("{} {} AAAA {target}", self.host, self.ttl),
            Err(_) => format!("{} {} CNAME {target}.", self.host, self.ttl),
        };
        let mut records: Vec<String> = self.targets.iter().map(record).collect();
        records.sort_unstable();
        records
    }
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let blank = if self.blank { ", blank" } else { "" };
        write!(f, "{} -> {} (TTL {}{blank})", self.host, self.targets.join(","), self.ttl)
    }
}

/// A name for the object at this place: mostly one that only it asks for; at some places one that a person may have taken
/// before (`pre`), or that another object asks for too (`shared`).
fn host(dice: &mut Dice, place: usize) -> String {
    match dice.below(4) {
        0 if place >= SHARING => format!("shared{}", place % 2),
        0 | 1 if place % 4 == 3 => format!("pre{place}"),
        0..3 => format!("s{place}"),
        _ => format!("m{place}"),
    }
}

/// Where an object is reached. What is shared has one address, so that it is plain what may stand; beside what people have
/// at a `pre` name an alias cannot stand at all.
fn targets(dice: &mut Dice, host: &str) -> Vec<String> {
    let four = format!("192.0.2.{}", 1 + dice.below(120));
    let kind = if host.starts_with("shared") { 0 } else { dice.below(if host.starts_with("pre") { 3 } else { 8 }) };
    match kind {
        0..2 => vec![four],
        2 | 3 => vec![four, format!("192.0.2.{}", 121 + dice.below(120))],
        4 | 5 => vec![four, format!("2001:db8::{:x}", 1 + dice.below(60_000))],
        _ => vec![format!("lb{}.cloud.test", dice.below(50))],
    }
}
