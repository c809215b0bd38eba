//! A provider of the kind that clouds are, in memory: for tests of what stands on providers, and of the suite itself.
//!
//! It lists in pages of two, takes a call as a whole or not at all, has record sets with identifiers and weights, and either
//! aliases, at the apex too, or CNAMEs that it flattens there. It keeps the rules of such a service: a create of what exists, a
//! delete of what is not exactly so, a mixture of routing policies, and more changes than a call holds are refused, and nothing
//! of that call is done. Its account counts requests, and throttles those that it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::{
    Audit, Batch, Capability, CnameRules, Preconditions, RoutingKind, RoutingSupport, TtlRange, TypeSupport,
};
use zonewright_core::change::{Blame, Change, Group, Outcome};
use zonewright_core::cost::Cost;
use zonewright_core::endpoint::{Endpoint, Note, Targets};
use zonewright_core::error::{Error, ErrorKind, Result, Retry};
use zonewright_core::interpret::Interpretation;
use zonewright_core::options::{OptionKind, OptionSpec, OptionTable};
use zonewright_core::provider::{Adjustment, Cursor, Listing, Provider, Read};
use zonewright_core::record::{AliasTarget, Routing};
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType, Ttl, Zone};

/// Record sets on a page.
const PAGE: usize = 2;

/// Changes in a call; an update counts as two.
const CHANGES: usize = 100;

/// What can be wrong with it, for tests of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CloudFault {
    /// Nothing.
    #[default]
    None,
    /// A page that is asked for again is empty.
    ForgetsPages,
    /// A changed weight is not kept.
    KeepsWeights,
    /// A call that takes sets of one kind of routing away and brings those of another is refused.
    RefusesExchange,
    /// A changed target of an alias is not kept.
    KeepsAliases,
    /// A CNAME at the apex is declared to be flattened, and is refused beside other records all the same.
    StrictApex,
}

/// An account of the service: what its instances share.
#[derive(Debug, Default)]
pub struct CloudAccount {
    requests: AtomicUsize,
    throttled: Mutex<BTreeSet<usize>>,
}

impl CloudAccount {
    /// Requests so far, those that were throttled too.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Throttles the requests with these numbers, counted from 0.
    pub fn throttle(&self, requests: impl IntoIterator<Item = usize>) {
        lock(&self.throttled).extend(requests);
    }

    fn request(&self, operation: &'static str) -> Result<()> {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        if lock(&self.throttled).contains(&number) {
            let error = Error::new(ErrorKind::Throttled, operation, "too many requests");
            return Err(error.retry(Retry::After(Duration::from_secs(1))));
        }
        Ok(())
    }
}

/// The options of a record set.
pub const OPTIONS: OptionTable = OptionTable {
    specs: &[
        OptionSpec { key: "cloud/tier", kind: OptionKind::Choice(&["a", "b", "closed"]), default: "a", doc: "Tier." },
        OptionSpec { key: "cloud/weight", kind: OptionKind::Int { min: 0, max: 255 }, default: "none", doc: "Share." },
        OptionSpec { key: "cloud/zone", kind: OptionKind::Text, default: "none", doc: "The zone." },
    ],
    ..OptionTable::NONE
};

/// The provider, with one zone.
#[derive(Debug)]
pub struct Cloud {
    account: Arc<CloudAccount>,
    zone: Zone,
    sets: Mutex<BTreeMap<RecordKey, RecordSet>>,
    flattening: bool,
    page: usize,
    /// How long each request takes.
    delay: Duration,
    fault: CloudFault,
    pages_read: Mutex<BTreeSet<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(rtype: RecordType) -> bool {
    matches!(rtype, RecordType::A | RecordType::Aaaa)
}

impl Cloud {
    /// A provider with aliases, under an account.
    pub fn new(instance: &str, zone: &DnsName, account: &Arc<CloudAccount>) -> Self {
        let id = InstanceId::from(instance);
        let zone = Zone::new(&id, &format!("Z-{instance}"), zone.clone());
        Self {
            account: account.clone(),
            zone,
            sets: Mutex::default(),
            flattening: false,
            page: PAGE,
            delay: Duration::ZERO,
            fault: CloudFault::None,
            pages_read: Mutex::default(),
        }
    }

    /// The same with CNAMEs that are flattened at the apex instead of aliases.
    #[must_use]
    pub fn flattening(self) -> Self {
        Self { flattening: true, ..self }
    }

    /// The same with so many record sets on a page, and requests that take so long.
    #[must_use]
    pub fn paced(self, page: usize, delay: Duration) -> Self {
        Self { page, delay, ..self }
    }

    /// The same with a fault.
    #[must_use]
    pub fn broken(self, fault: CloudFault) -> Self {
        Self { fault, ..self }
    }

    /// Its zone.
    pub fn its_zone(&self) -> &Zone {
        &self.zone
    }

    /// Puts a record set in place past the rules.
    pub fn insert(&self, set: RecordSet) {
        lock(&self.sets).insert(set.key.clone(), set);
    }

    /// Everything that the zone holds.
    pub fn dump(&self) -> Vec<RecordSet> {
        lock(&self.sets).values().cloned().collect()
    }

    fn page(&self, from: Option<&Cursor>) -> Listing {
        let sets = lock(&self.sets);
        let from = from.map_or("", |cursor| cursor.0.as_str());
        let name = |key: &RecordKey| format!("{} {:?}", key, key.set_id);
        let mut keys: Vec<&RecordKey> = sets.keys().collect();
        keys.sort_by_cached_key(|key| name(key));
        let mut rest = keys.into_iter().filter(|key| name(key).as_str() >= from);
        let page = rest.by_ref().take(self.page).filter_map(|key| sets.get(key)).cloned().collect();
        let again = !lock(&self.pages_read).insert(from.to_owned());
        let page = if again && self.fault == CloudFault::ForgetsPages { Vec::new() } else { page };
        match rest.next() {
            Some(next) => Listing::Page { sets: page, next: Cursor(name(next)) },
            None => Listing::Full { sets: page, token: None },
        }
    }

    fn refused(text: String) -> Error {
        Error::new(ErrorKind::Conflict, "apply changes", text)
    }

    /// Carries a group out in `sets`.
    fn write(&self, sets: &mut BTreeMap<RecordKey, RecordSet>, group: &Group) -> Result<()> {
        // As the service has it: what goes, goes first.
        for change in group.changes() {
            let Some(from) = change.from() else { continue };
            if sets.get(&from.key) != Some(from) {
                return Err(Self::refused(format!("{from} is not what stands there")));
            }
            sets.remove(&from.key);
        }
        for to in group.changes().filter_map(Change::to) {
            self.check(to)?;
            let mut to =
                RecordSet { ttl: to.ttl.or((!matches!(to.data, RecordData::Alias(_))).then(ttl)), ..to.clone() };
            let from = group.changes().find(|change| *change.key() == to.key).and_then(Change::from);
            match (self.fault, from) {
                (CloudFault::KeepsWeights, Some(from)) => to.routing = from.routing.clone(),
                (CloudFault::KeepsAliases, Some(from)) if matches!(from.data, RecordData::Alias(_)) => {
                    to.data = from.data.clone();
                }
                _ => {}
            }
            if sets.insert(to.key.clone(), to.clone()).is_some() {
                return Err(Self::refused(format!("{} exists already", to.key)));
            }
        }
        self.check_names(sets, group)
    }

    /// What one set has to keep to.
    fn check(&self, set: &RecordSet) -> Result<()> {
        let key = &set.key;
        let invalid = |text: String| Err(Error::new(ErrorKind::Invalid, "apply changes", text));
        if !key.name.is_within(&self.zone.name) {
            return invalid(format!("{key} is outside zone {}", self.zone.name));
        }
        if !RecordType::WRITABLE.contains(&key.rtype) {
            return invalid(format!("there are no records of type {}", key.rtype));
        }
        if matches!(set.data, RecordData::Alias(_)) && (self.flattening || !address(key.rtype)) {
            return invalid(format!("{key} cannot be an alias"));
        }
        let weighted = matches!(set.routing, Routing::Weighted { .. });
        if key.set_id.is_some() != weighted || !(weighted || set.routing.is_simple()) {
            return invalid(format!("{key}: an identifier goes with a weight, and a weight with an identifier"));
        }
        if key.rtype == RecordType::Cname && key.name == self.zone.name && !self.flattening {
            return Err(Self::refused(format!("{key}: a CNAME cannot stand at the apex")));
        }
        Ok(())
    }

    /// What the sets of the names of a group have to keep to together.
    fn check_names(&self, sets: &BTreeMap<RecordKey, RecordSet>, group: &Group) -> Result<()> {
        let rules = self.capability(None).cname;
        let strict = self.fault == CloudFault::StrictApex;
        let names: BTreeSet<&DnsName> = group.changes().map(|change| &change.key().name).collect();
        for name in names {
            let here: Vec<&RecordSet> = sets.values().filter(|set| set.key.name == *name).collect();
            let apex = *name == self.zone.name && !strict;
            for (one, other) in here.iter().flat_map(|one| here.iter().map(move |other| (one, other))) {
                if rules.excludes(one.key.rtype, other.key.rtype, apex) {
                    return Err(Self::refused(format!("{} and {} cannot stand together", one.key, other.key)));
                }
                if one.key.rtype == other.key.rtype && one.routing.kind() != other.routing.kind() {
                    return Err(Self::refused(format!("{} and {} are routed in two ways", one.key, other.key)));
                }
            }
        }
        let kinds = |of: fn(&Change) -> Option<&RecordSet>| -> BTreeSet<bool> {
            group.changes().filter_map(of).map(|set| set.routing.is_simple()).collect()
        };
        let exchanged = kinds(Change::from).union(&kinds(Change::to)).count() > 1;
        if self.fault == CloudFault::RefusesExchange && exchanged && group.records().count() > 1 {
            return Err(Self::refused("two kinds of routing in one call".to_owned()));
        }
        Ok(())
    }
}

fn ttl() -> Ttl {
    Ttl::from_secs(300).unwrap_or(Ttl::ZERO)
}

/// A target of an alias as the service spells it: lower case, with a final dot.
fn spelled(host: &str) -> String {
    format!("{}.", host.trim_end_matches('.').to_ascii_lowercase())
}

#[async_trait]
impl Provider for Cloud {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        Capability {
            types: TypeSupport::Listed(RecordType::WRITABLE.to_vec()),
            routing: RoutingSupport::PerSet(&[RoutingKind::Weighted]),
            set_ids: true,
            one_kind: true,
            batch: Batch { values: Some(CHANGES), update: 2, ..Batch::of(CHANGES) },
            preconditions: Preconditions::Changed,
            cname: CnameRules { alone: true, flattened: self.flattening },
            alias: !self.flattening,
            audit: Audit::Listing,
            ..Capability::authoritative(CHANGES, TtlRange { min: Ttl::ZERO, max: Ttl::MAX, default: ttl() })
        }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.account.request("list zones")?;
        Ok(vec![self.zone.clone()])
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.account.request("read zone")?;
        Ok((*id == self.zone.key.zone).then(|| self.zone.clone()))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.account.request("list records")?;
        tokio::time::sleep(self.delay).await;
        if zone.key.zone != self.zone.key.zone {
            return Err(Error::new(ErrorKind::NotFound, "list records", format!("there is no zone {}", zone.key.zone)));
        }
        Ok(match read {
            Read::All | Read::Since(_) => self.page(None),
            Read::From(cursor) => self.page(Some(cursor)),
            Read::Names(names) => {
                let sets = lock(&self.sets);
                Listing::Names(sets.values().filter(|set| names.contains(&set.key.name)).cloned().collect())
            }
        })
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        let property = |key: &str| endpoint.properties.get(key);
        let mut form = endpoint.clone();
        if let Some(weight) = property("cloud/weight") {
            let Ok(weight) = weight.parse() else {
                let text = format!("{}: cloud/weight={weight:?}: expected a whole number", endpoint.name);
                return Interpretation::refused(Note::warning(&endpoint.origin.object, "InvalidOption", text));
            };
            form.routing = Routing::Weighted { weight };
            form.properties.remove("cloud/weight");
        }
        form.properties.remove("cloud/zone");
        let asked = property("alias").is_some_and(|alias| &**alias == "true");
        let host = match form.targets.as_records().first() {
            Some(RData::Cname(host)) if !self.flattening && (asked || endpoint.name == zone.name) => Some(host.clone()),
            _ => None,
        };
        let forms = match host {
            Some(host) => [RecordType::A, RecordType::Aaaa]
                .map(|rtype| {
                    let target =
                        AliasTarget { target: spelled(host.as_str()).into(), zone: None, evaluate_health: false };
                    Endpoint { rtype, targets: Targets::Alias(target), ttl: None, ..form.clone() }
                })
                .to_vec(),
            None => vec![form],
        };
        let made = Interpretation::forms(forms);
        match property("cloud/zone") {
            Some(zone) => made.only_in(ZoneId::from(&**zone)),
            None => made,
        }
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let one = |set: &RecordSet| match (&set.data, set.options.get("cloud/tier").map(ToString::to_string)) {
            (_, Some(tier)) if tier == "closed" => Adjustment::Refused(format!("tier {tier} takes no records")),
            (RecordData::Alias(alias), _) => {
                let alias = AliasTarget { target: spelled(&alias.target).into(), ..alias.clone() };
                Adjustment::to(RecordSet { ttl: None, data: RecordData::Alias(alias), ..set.clone() })
            }
            _ => Adjustment::to(RecordSet { ttl: set.ttl.or(Some(ttl())), ..set.clone() }),
        };
        sets.iter().map(one).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        if groups.is_empty() {
            return Vec::new();
        }
        tokio::time::sleep(self.delay).await;
        if let Err(error) = self.account.request("apply changes") {
            return groups.iter().map(|_| Outcome::NotSent(error.clone())).collect();
        }
        let batch = self.capability(None).batch;
        let refused = |error: &Error| -> Vec<Outcome> {
            groups.iter().map(|_| Outcome::Refused { error: error.clone(), blame: Blame::Batch }).collect()
        };
        if zone.key.zone != self.zone.key.zone {
            let text = format!("there is no zone {}", zone.key.zone);
            return refused(&Error::new(ErrorKind::NotFound, "apply changes", text));
        }
        if !batch.holds(groups.iter().map(|group| batch.cost(group)).fold(Cost::default(), std::ops::Add::add)) {
            let text = format!("the call holds more than {CHANGES} changes or values");
            return refused(&Error::new(ErrorKind::Invalid, "apply changes", text));
        }
        let mut sets = lock(&self.sets);
        let mut after = sets.clone();
        for (bad, group) in groups.iter().enumerate() {
            let Err(error) = self.write(&mut after, group) else { continue };
            let blame = |at: usize| if at == bad { Blame::Group } else { Blame::Batch };
            return (0..groups.len()).map(|at| Outcome::Refused { error: error.clone(), blame: blame(at) }).collect();
        }
        *sets = after;
        groups.iter().map(|_| Outcome::Applied).collect()
    }
}
