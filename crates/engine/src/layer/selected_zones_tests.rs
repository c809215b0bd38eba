use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::Result;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::testing::{capability, name};
use zonewright_core::zone::{InstanceId, Zone, ZoneId, ZoneRule};
use zonewright_core::zone_rules::ZoneRules;

use super::{AmbiguousZones, SelectedZones};

/// How long a list is kept here.
const KEPT: Duration = Duration::from_mins(15);

/// A provider with zones that the test sets, which sends private zones several ways.
#[derive(Default)]
struct Zones {
    listed: Mutex<Vec<Zone>>,
    /// Zones that a list leaves out.
    hidden: Mutex<Vec<Zone>>,
    lists: AtomicUsize,
}

impl Zones {
    fn with(texts: &[&str]) -> Arc<Self> {
        let zones = Self::default();
        zones.set(texts);
        Arc::new(zones)
    }

    fn set(&self, texts: &[&str]) {
        *self.listed.lock().unwrap() = texts.iter().map(|text| zone(text)).collect();
    }
}

fn zone(text: &str) -> Zone {
    let (apex, id) = text.split_once('/').unwrap();
    Zone::new(&InstanceId::from("i"), id, name(apex))
}

#[async_trait]
impl Provider for Zones {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        Capability { zone_rule: ZoneRule::AllPrivateLongestPublic, ..capability() }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        Ok(self.listed.lock().unwrap().clone())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        Ok(self.hidden.lock().unwrap().iter().find(|zone| zone.key.zone == *id).cloned())
    }

    async fn records(&self, _: &Zone, _: Read<'_>) -> Result<Listing> {
        Ok(Listing::Unchanged)
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        Interpretation::as_stated()
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        Adjustment::none(sets)
    }

    async fn apply(&self, _: &Zone, groups: &[Group]) -> Vec<Outcome> {
        groups.iter().map(|_| Outcome::Applied).collect()
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

fn selected(inner: &Arc<Zones>, rules: &str) -> SelectedZones {
    SelectedZones::new(inner.clone(), ZoneRules::parse(rules.split(',')).unwrap(), KEPT, Arc::default())
}

async fn listed(zones: &SelectedZones) -> Vec<String> {
    let zones = zones.zones().await.unwrap();
    zones.iter().map(|zone| format!("{}/{}", zone.name, zone.key.zone)).collect()
}

async fn found(zones: &SelectedZones, id: &str) -> bool {
    zones.zone(&ZoneId::from(id)).await.unwrap().is_some()
}

#[tokio::test(start_paused = true)]
async fn a_list_is_kept_and_only_chosen_zones_are_on_it() {
    let inner = Zones::with(&["a.com/1", "a.com/2", "b.com/3"]);
    let zones = selected(&inner, "*,a.com/2");
    assert_eq!(listed(&zones).await, ["a.com/2", "b.com/3"]);
    inner.set(&["b.com/3", "b.com/4"]);
    assert_eq!(listed(&zones).await, ["a.com/2", "b.com/3"], "the list is kept");
    assert_eq!(inner.lists.load(Ordering::SeqCst), 1);
    tokio::time::advance(KEPT).await;
    assert_eq!(listed(&zones).await, [""; 0], "two zones of one name: neither");
    assert_eq!(inner.lists.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_is_asked_for_by_itself_is_chosen_by_the_same_rules() {
    let inner = Zones::with(&["a.com/1", "b.com/3"]);
    inner.hidden.lock().unwrap().extend([zone("c.com/5"), zone("b.com/6")]);
    let zones = selected(&inner, "a.com,c.com,b.com");
    assert_eq!(listed(&zones).await, ["a.com/1", "b.com/3"]);
    assert!(found(&zones, "1").await && found(&zones, "5").await, "the list left it out");
    assert!(!found(&zones, "6").await, "there would be two of its name");
    assert!(!found(&zones, "9").await);
    let few = selected(&inner, "a.com");
    assert!(!found(&few, "3").await && !found(&few, "5").await);
}

/// One name goes to one zone, also where the provider would send it to several.
#[test]
fn names_go_to_the_longest_zone() {
    let zones = selected(&Zones::with(&["a.com/1"]), "*");
    assert_eq!(zones.capability(None).zone_rule, ZoneRule::LongestSuffix);
}

/// Whoever asks why a name is not served is shown the zones that the rules leave open, as long as they do.
#[tokio::test(start_paused = true)]
async fn what_the_rules_leave_open_can_be_asked_for() {
    let inner = Zones::with(&["a.test/1", "a.test/2", "b.test/3"]);
    let known = Arc::<AmbiguousZones>::default();
    let zones = SelectedZones::new(inner.clone(), ZoneRules::parse(["*"]).unwrap(), KEPT, known.clone());
    assert_eq!(listed(&zones).await, ["b.test/3"]);
    let text = known.above(&name("x.a.test")).unwrap();
    assert!(
        text.contains("2 zones have the name a.test") && text.contains("--zone=a.test/1 or --zone=a.test/2"),
        "{text}"
    );
    assert!(known.above(&name("a.test")).is_some());
    assert_eq!((known.above(&name("xa.test")), known.above(&name("x.b.test"))), (None, None));
    inner.set(&["a.test/1", "b.test/3"]);
    tokio::time::advance(KEPT).await;
    assert_eq!(listed(&zones).await, ["a.test/1", "b.test/3"]);
    assert_eq!(known.above(&name("x.a.test")), None);
}
