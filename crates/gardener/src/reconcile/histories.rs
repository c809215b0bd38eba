//! Random histories: requests of every kind while calls fail, answers are lost and the process is killed, each at any call. What must
//! hold at every rest: each object is as it was asked for last, and of those that are gone nothing is left.
//!
//! `ZONEWRIGHT_GARDENER_HISTORIES` says how many (200 if it is not set), `ZONEWRIGHT_GARDENER_SEED` where the seeds begin.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use zonewright_core::testing::set;

use super::seed::Seed;
use super::*;
use crate::testing::Upset;

/// Requests of each history.
const STEPS: usize = 12;
/// The two zones of each name.
const BOTH: &[&str] = &["example.com", "com"];
/// What others have, in the order in which it is shown.
const FOREIGN: [&str; 2] = ["other.example.com 60 A 192.0.2.9", "x.example.com 300 TXT \"foreign\""];
const ADDRESSES: [&str; 3] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
/// Host names, of which the second becomes an alias of two families.
const HOSTS: [&str; 3] = ["h.test", "h.aliases.test", "other.test"];

/// What was last asked for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    /// It is not there, and left these records behind when it was migrated.
    Gone(Vec<String>),
    /// It asks for this value.
    Value(&'static str),
    /// It was left to another seed with this value.
    Migrated(&'static str),
}

/// An object, its name in the zone, and the values that it may have.
#[derive(Debug)]
struct Object {
    name: &'static str,
    line: &'static str,
    values: [&'static str; 3],
    /// `spec.zone`.
    zone: Option<&'static str>,
    asked: Asked,
}

impl Object {
    /// What the zones hold of it.
    fn shown(&self) -> Vec<String> {
        match &self.asked {
            Asked::Gone(left) => left.clone(),
            Asked::Value(value) | Asked::Migrated(value) => records(self.line, value),
        }
    }
}

/// What is published for a value.
fn records(line: &str, value: &str) -> Vec<String> {
    let (name, rtype) = line.split_once(' ').unwrap();
    if value.ends_with("aliases.test") {
        // The annotation that names the families is not there: it is IPv4 alone.
        return vec![format!("{name} A alias of {value}")];
    }
    let dot = if rtype == "CNAME" { "." } else { "" };
    vec![format!("{name} 120 {rtype} {value}{dot}")]
}

/// What goes wrong with calls from now on, by chance.
fn upsets(seed: &Seed, mut dice: StdRng, transcript: &Transcript) {
    let transcript = transcript.clone();
    seed.script.fuse.plan(move |what| {
        if !dice.random_bool(0.2) {
            return None;
        }
        let of_api = !matches!(what, "list zones" | "read zone" | "read names" | "change records");
        let kinds: &[ErrorKind] = if of_api {
            &[ErrorKind::Conflict, ErrorKind::Unavailable, ErrorKind::Timeout]
        } else {
            &[ErrorKind::Unavailable, ErrorKind::Throttled, ErrorKind::Unauthorized, ErrorKind::Timeout]
        };
        let upset = match dice.random_range(0..10) {
            0..=2 => Upset::Killed,
            3..=5 => Upset::Lost,
            _ => Upset::Refused(*kinds.choose(&mut dice)?),
        };
        transcript.lock().unwrap().push(format!("  {what}: {upset:?}"));
        Some(upset)
    });
}

struct History {
    seed: Seed,
    dice: StdRng,
    objects: [Object; 2],
    transcript: Transcript,
}

/// What was asked for, and what went wrong, in order.
type Transcript = Arc<Mutex<Vec<String>>>;

impl History {
    fn new(number: u64) -> Self {
        let seed = Seed::new(BOTH);
        seed.script.put(set("x.example.com TXT ttl=300 foreign"));
        seed.script.put(set("other.example.com A ttl=60 192.0.2.9"));
        let object = |name, line, values| Object { name, line, values, zone: None, asked: Asked::Gone(Vec::new()) };
        let objects = [object("a", "x.example.com A", ADDRESSES), object("b", "y.example.com CNAME", HOSTS)];
        Self {
            seed,
            dice: StdRng::seed_from_u64(number),
            objects,
            transcript: Arc::new(Mutex::new(vec![format!("seed {number}")])),
        }
    }

    /// Asks something of an object, if it fits what was asked before.
    async fn ask(&mut self, at: usize) {
        let (dice, object) = (&mut self.dice, &mut self.objects[at]);
        let value = *object.values.choose(dice).unwrap();
        let there = self.seed.api.read(&Seed::name(object.name));
        let deleting = there.as_ref().is_some_and(DnsRecord::is_deleting);
        let choice = dice.random_range(0..10);
        self.transcript.lock().unwrap().push(format!("{} {choice} {value}", object.name));
        match (&object.asked, choice) {
            (Asked::Gone(left), _) if there.is_none() => {
                let adopts = !left.is_empty();
                self.seed.create(object.name, &format!("{} {value}", object.line), "reconcile");
                self.seed.change(object.name, &json!({ "spec": { "zone": object.zone } }));
                object.asked = Asked::Value(value);
                if adopts {
                    // What stood before it is its own from when its zone was looked at: nobody can know of it before.
                    self.under_upsets().await;
                    self.rests().await;
                }
            }
            (Asked::Gone(_), _) => self.seed.asks(object.name, "reconcile", &json!({})),
            (Asked::Value(_), 0..=3) => {
                self.seed.asks(object.name, "reconcile", &json!({ "values": [value] }));
                object.asked = Asked::Value(value);
            }
            (Asked::Value(_), 4..=6) => {
                object.zone = BOTH.choose(dice).copied();
                self.seed.asks(object.name, "reconcile", &json!({ "zone": object.zone }));
            }
            (Asked::Value(now), 7) => {
                // What stands when it is migrated is what was asked for: that is reached first.
                let now = *now;
                self.rests().await;
                self.seed.asks(self.objects[at].name, "migrate", &json!({}));
                self.objects[at].asked = Asked::Migrated(now);
                self.under_upsets().await;
                self.rests().await;
            }
            (Asked::Migrated(now), 0..=4) => {
                let now = *now;
                self.seed.asks(object.name, "restore", &json!({}));
                object.asked = Asked::Value(now);
                self.under_upsets().await;
                self.rests().await;
            }
            (Asked::Value(_), _) if !deleting => {
                self.seed.deletes(object.name);
                object.asked = Asked::Gone(Vec::new());
            }
            (Asked::Migrated(now), _) if !deleting => {
                // The object that takes the name up again is another one, in the same zone.
                object.asked = Asked::Gone(records(object.line, now));
                self.seed.deletes(object.name);
            }
            _ => {}
        }
    }

    /// Works while calls go wrong, and is started again where it was killed.
    async fn under_upsets(&mut self) {
        for _ in 0..self.dice.random_range(1..4) {
            upsets(&self.seed, StdRng::seed_from_u64(self.dice.random()), &self.transcript);
            let lives = self.seed.works().await;
            if !lives || self.dice.random_bool(0.1) {
                self.seed.restart();
            }
            tokio::time::advance(Duration::from_secs(self.dice.random_range(0..60))).await;
        }
    }

    /// Nothing goes wrong any more, until nothing is due; then everything is as it should be.
    async fn rests(&mut self) {
        self.seed.script.fuse.calm();
        self.seed.settles().await;
        let mut expected: Vec<String> = FOREIGN.iter().map(|line| (*line).to_owned()).collect();
        for object in &self.objects {
            expected.extend(object.shown());
            let there = self.seed.api.read(&Seed::name(object.name));
            match &object.asked {
                Asked::Gone(_) => assert!(there.is_none(), "{} is there: {:#?}", object.name, self.transcript),
                Asked::Value(_) | Asked::Migrated(_) => {
                    let says = &self.seed.api.objects.lock().unwrap()[&Seed::name(object.name)].clone();
                    assert!(self.seed.is_done(object.name), "{}: {says:#} {:#?}", object.name, self.transcript);
                }
            }
        }
        expected.sort();
        let mut shown = self.seed.script.shown();
        shown.sort();
        assert_eq!(shown, expected, "{:#?}", self.transcript);
    }
}

async fn play(number: u64) {
    let mut history = History::new(number);
    for _ in 0..STEPS {
        let at = history.dice.random_range(0..2);
        history.ask(at).await;
        history.under_upsets().await;
        if history.dice.random_bool(0.4) {
            history.rests().await;
        }
    }
    history.rests().await;
    let log = history.seed.api.log.lock().unwrap();
    assert!(!log.iter().any(|line| line.ends_with("Failed")), "nobody gives up: {log:?}");
    assert!(!log.iter().any(|line| line.ends_with("in any version")), "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn random_histories_end_as_they_were_asked_to() {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let first: u64 = number("ZONEWRIGHT_GARDENER_SEED", 1);
    for seed in first..first + number("ZONEWRIGHT_GARDENER_HISTORIES", 200) {
        play(seed).await;
    }
}
