//! A public and a private zone of one name: what is created goes to both, and what is listed can be sent back.

use std::sync::Arc;

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

/// Two servers with one zone each, as the zones of one account: a public one and a private one.
struct Account {
    zones: [Arc<Local>; 2],
    ids: [&'static str; 2],
}

fn apex() -> DnsName {
    DnsName::parse("example.test").unwrap()
}

impl Account {
    fn of(&self, zone: &Zone) -> &Local {
        let place = self.ids.iter().position(|id| *id == zone.key.zone.as_str()).unwrap();
        &self.zones[place]
    }
}

#[async_trait]
impl Provider for Account {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        Capability { zone_rule: ZoneRule::AllPrivateLongestPublic, ..self.zones[0].capability(zone) }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let zone = |id: &str, visibility| Zone { visibility, ..Zone::new(&InstanceId::from("i"), id, apex()) };
        Ok(vec![zone(self.ids[0], Visibility::Public), zone(self.ids[1], Visibility::Private)])
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
        self.of(zone).apply(zone, groups).await
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

struct Site {
    served: Served,
    zones: [Arc<Local>; 2],
}

impl Site {
    async fn start(ids: [&'static str; 2]) -> Self {
        let local = || async { Local::start(LocalConfig::with_zones(["example.test"]).unwrap()).await.unwrap() };
        let zones = [local().await, local().await];
        let account = Account { zones: zones.clone(), ids };
        Self { served: Served::start(Arc::new(account), OptionTable::NONE.into()).await, zones }
    }

    async fn post(&self, body: Value) -> Answer {
        self.served.ask("POST", "/records", &body.to_string()).await
    }

    /// What is listed below the apex.
    async fn listed(&self) -> Vec<Value> {
        let listed = self.served.ask("GET", "/records", "").await.json();
        let listed = listed.as_array().unwrap().iter();
        listed.filter(|endpoint| endpoint["dnsName"] != "example.test").cloned().collect()
    }

    /// What stands below the apex in the public zone, and in the private one.
    fn stands(&self) -> [Vec<String>; 2] {
        let lines = |local: &Local| {
            let sets = local.dump(&apex()).unwrap();
            sets.iter().filter(|set| set.key.name != apex()).map(ToString::to_string).collect()
        };
        [lines(&self.zones[0]), lines(&self.zones[1])]
    }

    fn holds(&self, place: usize, line: &str) {
        self.zones[place].insert(&apex(), set(line)).unwrap();
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

fn done(answer: &Answer) {
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
        site.zones[1].remove(&apex(), &claims).unwrap();
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
