//! A public and a private zone of one name, and a zone within another: what is created goes by the rule, and what is listed can be sent
//! back.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use zonewright_core::capability::Capability;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::options::OptionTable;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::{InstanceId, Visibility, ZoneId, ZoneRule};
use zonewright_core::{DnsName, RecordSet, Result, Zone};
use zonewright_provider_local::{Local, LocalConfig};

use crate::common::set;
use crate::site::{Answer, Served};

/// The ids of the zones, in the order of the servers.
const IDS: [&str; 2] = ["a-public", "b-private"];
/// The other way round: the private zone is the first.
const TURNED: [&str; 2] = ["b-public", "a-private"];

/// Two servers with one zone each, as the zones of one account.
struct Account {
    zones: [(Zone, Arc<Local>); 2],
    rule: ZoneRule,
    /// What becomes of everything that is sent to the zone of this position.
    fault: Mutex<Option<(usize, Outcome)>>,
}

fn apex() -> DnsName {
    DnsName::parse("example.test").unwrap()
}

fn zone(id: &str, name: &str, visibility: Visibility) -> Zone {
    Zone { visibility, ..Zone::new(&InstanceId::from("i"), id, DnsName::parse(name).unwrap()) }
}

impl Account {
    fn of(&self, zone: &Zone) -> &Local {
        let (_, server) = self.zones.iter().find(|(known, _)| known.key == zone.key).unwrap();
        server
    }
}

#[async_trait]
impl Provider for Account {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        Capability { zone_rule: self.rule, ..self.zones[0].1.capability(zone) }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        Ok(self.zones.iter().map(|(zone, _)| zone.clone()).collect())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        Ok(self.zones().await?.into_iter().find(|zone| zone.key.zone == *id))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.of(zone).records(zone, read).await
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.of(zone).interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.of(zone).adjust(zone, sets).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let fault = self.fault.lock().unwrap().clone();
        if let Some((_, outcome)) = fault.filter(|(place, _)| self.zones[*place].0.key == zone.key) {
            return groups.iter().map(|_| outcome.clone()).collect();
        }
        self.of(zone).apply(zone, groups).await
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

/// A server in front of two zones.
pub(crate) struct Site {
    served: Served,
    account: Arc<Account>,
    zones: [(Zone, Arc<Local>); 2],
}

impl Site {
    /// A public zone and a private one of one name.
    async fn start(ids: [&'static str; 2]) -> Self {
        let zones =
            [zone(ids[0], "example.test", Visibility::Public), zone(ids[1], "example.test", Visibility::Private)];
        Self::of(zones, ZoneRule::AllPrivateLongestPublic).await
    }

    async fn of(zones: [Zone; 2], rule: ZoneRule) -> Self {
        let [one, two] = zones;
        let local = async |zone: &Zone| Local::start(LocalConfig::with_zones([zone.name.as_str()]).unwrap()).await;
        let (first, second) = (local(&one).await.unwrap(), local(&two).await.unwrap());
        let zones = [(one, first), (two, second)];
        let account = Arc::new(Account { zones: zones.clone(), rule, fault: Mutex::new(None) });
        let served = Served::start(account.clone(), OptionTable::NONE.into()).await;
        Self { served, account, zones }
    }

    /// From now on this becomes of everything that is sent to the zone of this position.
    pub(crate) fn fails(&self, fault: Option<(usize, Outcome)>) {
        *self.account.fault.lock().unwrap() = fault;
    }

    pub(crate) async fn post(&self, body: Value) -> Answer {
        self.served.ask("POST", "/records", &body.to_string()).await
    }

    /// What is listed below the apexes.
    async fn listed(&self) -> Vec<Value> {
        let listed = self.served.ask("GET", "/records", "").await.json();
        let is_apex = |endpoint: &Value| self.zones.iter().any(|(zone, _)| endpoint["dnsName"] == zone.name.as_str());
        listed.as_array().unwrap().iter().filter(|endpoint| !is_apex(endpoint)).cloned().collect()
    }

    /// What stands in the first zone, and in the second one, but for what makes them zones.
    pub(crate) fn stands(&self) -> [Vec<String>; 2] {
        self.zones.each_ref().map(|(zone, local)| {
            let sets = local.dump(&zone.name).unwrap();
            sets.iter().filter(|set| !set.key.makes_zone(&zone.name)).map(ToString::to_string).collect()
        })
    }

    pub(crate) fn holds(&self, place: usize, line: &str) {
        let (zone, local) = &self.zones[place];
        local.insert(&zone.name, set(line)).unwrap();
    }
}

fn address(target: &str) -> Value {
    json!({"dnsName": "a.example.test", "recordType": "A", "targets": [target], "recordTTL": 60})
}

fn claim(owner: &str) -> Value {
    json!({"dnsName": "a-a.example.test", "recordType": "TXT", "recordTTL": 60,
        "targets": [format!("\"heritage=external-dns,external-dns/owner={owner}\"")], "labels": {"ownedRecord": "a.example.test"}})
}

const ADDRESS: &str = "a.example.test A ttl=60 192.0.2.1";

pub(crate) fn done(answer: &Answer) {
    assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{answer:?}");
}

/// The list has the records of both zones, and a caller that deletes sends every entry of it.
#[tokio::test]
async fn what_is_listed_of_two_zones_of_one_name_can_be_deleted() {
    for ids in [IDS, TURNED] {
        let site = Site::start(ids).await;
        done(&site.post(json!({"create": [address("192.0.2.1"), claim("me")]})).await);
        assert_eq!(site.stands().map(|lines| lines.len()), [2, 2], "{:?}", site.stands());
        let listed = site.listed().await;
        assert_eq!(listed.len(), 4, "{listed:?}");
        done(&site.post(json!({"delete": listed})).await);
        assert_eq!(site.stands(), [vec![], vec![] as Vec<String>]);
    }
}

#[tokio::test]
async fn a_record_in_one_of_two_zones_can_be_changed_and_deleted() {
    for ids in [IDS, TURNED] {
        for place in [0, 1] {
            let site = Site::start(ids).await;
            site.holds(place, ADDRESS);
            done(&site.post(json!({"delete": site.listed().await})).await);
            assert_eq!(site.stands(), [vec![], vec![] as Vec<String>], "{ids:?} {place}");

            site.holds(place, ADDRESS);
            let change = json!({"updateOld": site.listed().await, "updateNew": [address("192.0.2.2")]});
            done(&site.post(change).await);
            assert_eq!(site.stands(), [["a.example.test 60 A 192.0.2.2"], ["a.example.test 60 A 192.0.2.2"]]);
        }
    }
}

/// The zones may hold different things: each goes where it stands.
#[tokio::test]
async fn what_differs_between_two_zones_goes_from_each() {
    let site = Site::start(IDS).await;
    site.holds(0, ADDRESS);
    site.holds(1, "a.example.test A ttl=60 10.0.0.1");
    let one = site.post(json!({"delete": [address("10.0.0.1")]})).await;
    done(&one);
    assert_eq!(site.stands(), [vec!["a.example.test 60 A 192.0.2.1".to_owned()], vec![]]);
    site.holds(1, "a.example.test A ttl=60 10.0.0.1");
    done(&site.post(json!({"delete": site.listed().await})).await);
    assert_eq!(site.stands(), [vec![], vec![] as Vec<String>]);
}

#[tokio::test]
async fn what_stands_in_no_zone_and_what_stands_in_the_way_is_refused() {
    let site = Site::start(IDS).await;
    let answer = site.post(json!({"delete": [address("192.0.2.1")]})).await;
    assert_eq!((answer.status, answer.refused()), (500, vec!["a.example.test conflict".to_owned()]));
    site.holds(0, ADDRESS);
    site.holds(1, "a.example.test A ttl=60 10.0.0.1");
    let before = site.stands();
    for body in [
        json!({"updateOld": [address("192.0.2.1")], "updateNew": [address("192.0.2.2")]}),
        json!({"delete": [address("192.0.2.1"), address("192.0.2.9")]}),
    ] {
        let answer = site.post(body).await;
        assert_eq!((answer.status, answer.refused()), (500, vec!["a.example.test conflict".to_owned()]));
        assert_eq!(answer.json()["refused"][0]["outcome"], "refused", "nothing was begun");
        assert_eq!(site.stands(), before);
    }
}

/// The same record by chance, and nobody's claim or another one's beside it.
#[tokio::test]
async fn an_equal_record_without_the_stated_claim_stays() {
    for foreign in [None, Some("a-a.example.test TXT ttl=60 \"heritage=external-dns,external-dns/owner=other\"")] {
        let site = Site::start(IDS).await;
        done(&site.post(json!({"create": [address("192.0.2.1"), claim("me")]})).await);
        let claims = zonewright_core::RecordKey::simple(
            DnsName::parse("a-a.example.test").unwrap(),
            zonewright_core::RecordType::Txt,
        );
        site.zones[1].1.remove(&apex(), &claims).unwrap();
        if let Some(line) = foreign {
            site.holds(1, line);
        }
        let theirs = site.stands()[1].clone();
        let update =
            json!({"updateOld": [address("192.0.2.1"), claim("me")], "updateNew": [address("192.0.2.2"), claim("me")]});
        assert_eq!(site.post(update).await.refused(), ["a.example.test conflict"]);
        done(&site.post(json!({"delete": [address("192.0.2.1"), claim("me")]})).await);
        assert_eq!(site.stands(), [vec![], theirs]);
    }
}

/// The second zone failed after the first was done: the caller sends it once more.
#[tokio::test]
async fn a_change_that_was_done_in_one_zone_is_finished_in_the_other() {
    let site = Site::start(IDS).await;
    site.holds(0, "a.example.test A ttl=60 192.0.2.2");
    site.holds(1, ADDRESS);
    done(&site.post(json!({"updateOld": [address("192.0.2.1")], "updateNew": [address("192.0.2.2")]})).await);
    assert_eq!(site.stands(), [["a.example.test 60 A 192.0.2.2"], ["a.example.test 60 A 192.0.2.2"]]);
}

/// An internal name, and its claim.
pub(crate) const INTERNAL: [&str; 2] = [
    "db.in.example.test A ttl=60 10.0.0.1",
    "a-db.in.example.test TXT ttl=60 \"heritage=external-dns,external-dns/owner=me\"",
];

pub(crate) fn internal(target: &str) -> Value {
    json!({"dnsName": "db.in.example.test", "recordType": "A", "targets": [target], "recordTTL": 60})
}

/// The internal name's entries of a list, the record first and its claim with whose it is, as external-dns sends them back.
fn sent_back(mut listed: Vec<Value>) -> Vec<Value> {
    listed.sort_by_key(|endpoint| endpoint["recordType"].to_string());
    for claim in listed.iter_mut().filter(|endpoint| endpoint["recordType"] == "TXT") {
        claim["labels"] = json!({"ownedRecord": "db.in.example.test"});
    }
    listed
}

/// A zone, and one within it: the second is private, or as public as the first.
pub(crate) async fn nested(inner: Visibility) -> Site {
    let rule = match inner {
        Visibility::Private => ZoneRule::AllPrivateInnermostPublic,
        Visibility::Public => ZoneRule::LongestSuffix,
    };
    Site::of([zone("a", "example.test", Visibility::Public), zone("b", "in.example.test", inner)], rule).await
}

/// What an older rule, or a time without the nearer zone, has left in the zone above: it is listed, and goes with what is asked for.
#[tokio::test]
async fn what_is_left_in_the_zone_above_goes_with_the_record() {
    for inner in [Visibility::Private, Visibility::Public] {
        for places in [vec![0, 1], vec![0]] {
            let site = nested(inner).await;
            let fill = || places.iter().for_each(|place| INTERNAL.iter().for_each(|line| site.holds(*place, line)));
            fill();
            let listed = sent_back(site.listed().await);
            assert_eq!(listed.len(), 2 * places.len(), "{listed:?}");
            done(&site.post(json!({"delete": listed})).await);
            assert_eq!(site.stands(), [vec![], vec![] as Vec<String>], "{inner:?} {places:?}");

            fill();
            let mut old = site.listed().await;
            old.truncate(2);
            let old = sent_back(old);
            let new = [internal("10.0.0.2"), old[1].clone()];
            done(&site.post(json!({"updateOld": old, "updateNew": new})).await);
            let [above, inside] = site.stands();
            assert_eq!((above.len(), inside.len()), (0, 2), "{inner:?} {places:?}: {above:?} {inside:?}");
            assert!(inside.contains(&"db.in.example.test 60 A 10.0.0.2".to_owned()), "{inside:?}");
        }
    }
}

/// A caller without claims: nothing depends on the public copy of a private record, but a zone on its glue in the zone above.
#[tokio::test]
async fn without_a_claim_nothing_goes_that_may_be_glue() {
    let glue = "db.in.example.test 60 A 10.0.0.1".to_owned();
    for (inner, left) in [(Visibility::Private, vec![]), (Visibility::Public, vec![glue])] {
        let site = nested(inner).await;
        for place in [0, 1] {
            site.holds(place, INTERNAL[0]);
        }
        done(&site.post(json!({"delete": [internal("10.0.0.1")]})).await);
        assert_eq!(site.stands(), [left.clone(), vec![]], "{inner:?}");
        let again = site.post(json!({"delete": [internal("10.0.0.1")]})).await;
        assert_eq!((again.status, again.refused()), (500, vec!["db.in.example.test conflict".to_owned()]));
        assert_eq!(again.body.contains("stands above the zone"), !left.is_empty(), "{again:?}");
    }
}

#[tokio::test]
async fn what_is_created_goes_by_the_rule_alone() {
    for inner in [Visibility::Private, Visibility::Public] {
        let site = nested(inner).await;
        done(&site.post(json!({"create": [internal("10.0.0.1")]})).await);
        assert_eq!(site.stands(), [vec![], vec!["db.in.example.test 60 A 10.0.0.1".to_owned()]]);
    }
}

/// A zone that is copied elsewhere, claims included, and may be the one that is asked: nothing is written there, and nothing goes.
#[tokio::test]
async fn a_copy_of_a_zone_stays_as_it_is() {
    let site = Site::of(IDS.map(|id| zone(id, "example.test", Visibility::Public)), ZoneRule::LongestSuffix).await;
    for (place, line) in [0, 1].into_iter().flat_map(|place| INTERNAL.map(|line| (place, line))) {
        site.holds(place, line);
    }
    let before = site.stands()[1].clone();
    let mut old = site.listed().await;
    old.truncate(2);
    done(&site.post(json!({"delete": sent_back(old)})).await);
    assert_eq!(site.stands(), [vec![], before]);
}

/// At the name of a zone that was made later: the claim has no place in that zone, and is in the zone above with the record of before.
#[tokio::test]
async fn what_was_at_the_name_of_a_later_zone_goes_with_its_claim() {
    let site = nested(Visibility::Public).await;
    let text = "\"heritage=external-dns,external-dns/owner=me\"";
    site.holds(0, "in.example.test A ttl=60 10.0.0.1");
    site.holds(0, &format!("a-in.example.test TXT ttl=60 {text}"));
    let record = json!({"dnsName": "in.example.test", "recordType": "A", "targets": ["10.0.0.1"], "recordTTL": 60});
    let its_claim = json!({"dnsName": "a-in.example.test", "recordType": "TXT", "targets": [text], "recordTTL": 60,
        "labels": {"ownedRecord": "in.example.test"}});
    done(&site.post(json!({"delete": [record, its_claim]})).await);
    assert_eq!(site.stands(), [vec![], vec![] as Vec<String>]);
}
