//! A provider of the kind that clouds are, in memory: for tests of what stands on providers, and of the suite itself.
//!
//! It lists in pages of two, takes a call as a whole or not at all, has record sets with identifiers and weights, or policies whose
//! items share one record set, and either aliases, at the apex too, or CNAMEs that it flattens there. It keeps the rules of such a service: a create of what exists, a
//! delete of what is not exactly so, a mixture of routing policies, and more changes than a call holds are refused, and nothing
//! of that call is done. Its account counts requests, and throttles those that the case chooses.

mod account;
mod check;
mod serve;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use account::CloudAccount;
use zonewright_core::change::{Change, Group};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::options::{OptionKind, OptionSpec, OptionTable};
use zonewright_core::provider::{Cursor, Listing};
use zonewright_core::zone::{InstanceId, Visibility};
use zonewright_core::{DnsName, RecordData, RecordKey, RecordSet, RecordType, Ttl, Zone};

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
    /// Changed items of a shared record set are not kept.
    KeepsItems,
    /// Two items of a shared record set may answer for one place.
    SharesPlaces,
    /// A throttled change is reported as applied.
    IgnoresThrottling,
    /// A zone that it may not read is an empty one.
    EmptyIfRefused,
    /// A change that failed is reported as one that was never sent, whatever is known of it.
    SaysNotSent,
    /// An answer that cannot be read is an empty zone.
    EmptyIfUnreadable,
    /// A listing that leads in a circle ends where it is.
    EndsCircles,
    /// A request that is throttled is made again at once, many times.
    Insists,
    /// Every change reads the whole zone, page by page.
    ReadsTheZone,
    /// A zone that is gone is an empty one.
    EmptyIfGone,
    /// A call holds one change less than is declared.
    HoldsLess,
    /// What is written to the second zone goes to the first.
    OneZone,
    /// A TTL that is not stated stands for itself, and not for the default one.
    TakesTtlsAsStated,
    /// The key of the account is in the errors.
    ShowsKeys,
    /// The key of the account is in the log.
    LogsKeys,
}

/// The options of a record set.
pub const OPTIONS: OptionTable = OptionTable {
    specs: &[
        OptionSpec { key: "cloud/tier", kind: OptionKind::Choice(&["a", "b", "closed"]), default: "a", doc: "Tier." },
        OptionSpec { key: "cloud/country", kind: OptionKind::Text, default: "none", doc: "Clients of that country." },
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
    /// Whether routing policies have items that share one record set.
    in_set: bool,
    page: usize,
    /// How long each request takes.
    delay: Duration,
    audit_pace: Duration,
    fault: CloudFault,
    /// A second zone of the same name.
    twin: Option<Box<Cloud>>,
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
            in_set: false,
            page: PAGE,
            delay: Duration::ZERO,
            audit_pace: Duration::ZERO,
            fault: CloudFault::None,
            twin: None,
            pages_read: Mutex::default(),
        }
    }

    /// The same with CNAMEs that are flattened at the apex instead of aliases.
    #[must_use]
    pub fn flattening(self) -> Self {
        Self { flattening: true, ..self }
    }

    /// The same with routing policies whose items share one record set, without identifiers.
    #[must_use]
    pub fn in_set(self) -> Self {
        Self { in_set: true, ..self }
    }

    /// The same with a second, private zone of the same name.
    #[must_use]
    pub fn with_twin(self) -> Self {
        let instance = &self.zone.key.instance;
        let zone = Zone::new(instance, &format!("Z-{instance}-private"), self.zone.name.clone());
        let twin = Self::new(instance.as_str(), &self.zone.name, &self.account);
        let twin = Self { zone: Zone { visibility: Visibility::Private, ..zone }, ..twin };
        Self { twin: Some(Box::new(twin)), ..self }
    }

    /// The second zone.
    pub fn its_twin(&self) -> Option<&Self> {
        self.twin.as_deref()
    }

    /// Its account.
    pub fn its_account(&self) -> &CloudAccount {
        &self.account
    }

    /// The same with so many record sets on a page, and requests that take so long.
    #[must_use]
    pub fn paced(self, page: usize, delay: Duration) -> Self {
        Self { page, delay, ..self }
    }

    /// The same with so much time from one page of an audit to the next.
    #[must_use]
    pub fn audited_at(self, pace: Duration) -> Self {
        Self { audit_pace: pace, ..self }
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

    /// Another writer takes a record set away.
    pub fn remove(&self, key: &RecordKey) {
        lock(&self.sets).remove(key);
    }

    /// Puts a record set in place past the rules.
    pub fn insert(&self, set: RecordSet) {
        lock(&self.sets).insert(set.key.clone(), set);
    }

    /// Everything that the zone holds.
    pub fn dump(&self) -> Vec<RecordSet> {
        lock(&self.sets).values().cloned().collect()
    }

    /// A page; in a circle, it leads back to itself.
    fn page(&self, from: Option<&Cursor>, circle: bool) -> Listing {
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
            Some(_) if circle && self.fault == CloudFault::EndsCircles => Listing::Full { sets: page, token: None },
            Some(_) if circle => Listing::Page { sets: page, next: Cursor(from.to_owned()) },
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
            let as_stated = self.fault == CloudFault::TakesTtlsAsStated;
            let stood = if as_stated { from.clone() } else { filled(from) };
            if sets.get(&from.key) != Some(&stood) {
                return Err(Self::refused(format!("{from} is not what stands there")));
            }
            sets.remove(&from.key);
        }
        for to in group.changes().filter_map(Change::to) {
            self.check(to)?;
            let mut to = filled(to);
            let from = group.changes().find(|change| *change.key() == to.key).and_then(Change::from);
            match (self.fault, from) {
                (CloudFault::KeepsWeights, Some(from)) => to.routing = from.routing.clone(),
                (CloudFault::KeepsItems, Some(from)) if matches!(from.data, RecordData::Items(_)) => {
                    to.data = from.data.clone();
                }
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
}

/// A set with the service's TTL where it states none; aliases have none.
fn filled(set: &RecordSet) -> RecordSet {
    let unset = !matches!(set.data, RecordData::Alias(_));
    RecordSet { ttl: set.ttl.or(unset.then(ttl)), ..set.clone() }
}

fn ttl() -> Ttl {
    Ttl::from_secs(300).unwrap_or(Ttl::ZERO)
}

/// A target of an alias as the service spells it: lower case, with a final dot.
fn spelled(host: &str) -> String {
    format!("{}.", host.trim_end_matches('.').to_ascii_lowercase())
}
