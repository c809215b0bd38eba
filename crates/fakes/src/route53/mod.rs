//! Amazon Route 53 (API version 2013-04-01) and what of the Security Token Service goes with it, on one address.
//!
//! Served: hosted zones, their tags and record sets, changes; roles and the identity of the caller. Enforced: signatures,
//! accounts, the limits of requests and sets, the form of values, what may stand beside what, batches as a whole.
//! Faults, lag, pace and busy zones are made on demand. Messages are those that the API reference or clients' reports show,
//! and in their style where none is known.
//!
//! Not here: traffic policies, CIDR collections, health checks beyond their ids, DNSSEC. The target of an alias can be deleted:
//! some clients avoid that, but no rule of the service is written down.

mod access;
mod change;
mod name;
mod policy;
mod records;
mod refusal;
mod request;
mod service;
mod set;
mod signature;
mod sts;
mod tags;
mod value;
mod xml;
mod zone;
mod zones;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use crate::faults::Fault;
use crate::http;
use crate::server::Server;
pub use refusal::BatchErrorForm;
use service::Service;
pub use set::{Alias, RecordSet, Routing};
use zone::{Key, Zone};

/// The service on loopback. It ends when it is dropped.
///
/// The access key `AKIDFAKE` of the account `000000000001` has access, with any secret ([`Route53::set_secret`]).
#[derive(Debug)]
pub struct Route53 {
    server: Server,
    service: Arc<Mutex<Service>>,
}

impl Route53 {
    /// The service without zones.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start() -> Self {
        let service = Arc::new(Mutex::new(Service::default()));
        Self { server: Server::start(http::router(service.clone(), Service::serve)), service }
    }

    /// Where it listens, for Route 53 and the Security Token Service.
    pub fn url(&self) -> String {
        self.server.url()
    }

    fn service(&self) -> MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets an access key in, with its account.
    pub fn allow_key(&self, id: &str, account: &str) {
        self.service().access.allow_key(id, account);
    }

    /// Refuses signatures that an access key makes with another secret from now on. Keys of assumed roles always have to sign
    /// with the secret that was handed out.
    ///
    /// # Panics
    /// If there is no such key: a mistake of the test.
    pub fn set_secret(&self, key: &str, secret: &str) {
        assert!(self.service().access.set_secret(key, secret), "the test names a key that was let in");
    }

    /// Lets every known key assume a role of `account`, with an external id if one is given.
    pub fn allow_role(&self, arn: &str, external_id: Option<&str>, account: &str) {
        self.service().access.allow_role(arn, external_id, account);
    }

    /// Lets whoever has the token assume a role of `account`.
    pub fn allow_web_identity(&self, arn: &str, token: &str, account: &str) {
        self.service().access.allow_web_identity(arn, token, account);
    }

    /// Refuses an access key from now on, for it has expired.
    ///
    /// # Panics
    /// If there is no such key: a mistake of the test.
    pub fn expire(&self, key: &str) {
        assert!(self.service().access.expire(key), "the test names a key that was given out");
    }

    /// The access keys of an account, those of assumed roles included.
    pub fn keys_of(&self, account: &str) -> Vec<String> {
        self.service().access.keys_of(account)
    }

    /// Adds a zone with its SOA and NS sets; its id. A private zone belongs to one network.
    ///
    /// # Panics
    /// If the name is none: a mistake of the test.
    pub fn add_zone(&self, account: &str, name: &str, private: bool, tags: &[(&str, &str)]) -> String {
        let name = name::canonical(name).expect("the test gives a domain name");
        let mut service = self.service();
        let id = service.make_zone(account, name, private);
        if let Some(zone) = service.zones.get_mut(&id) {
            zone.tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        }
        id
    }

    /// Lets a zone belong to this network alone; it is private from now on.
    ///
    /// # Panics
    /// If there is no such zone: a mistake of the test.
    pub fn attach(&self, zone: &str, region: &str, network: &str) {
        self.with_zone(zone, |zone| {
            zone.private = true;
            zone.networks = vec![(region.to_owned(), network.to_owned())];
        });
    }

    /// Gives a zone these tags and no others.
    ///
    /// # Panics
    /// If there is no such zone, here and in the next one: a mistake of the test.
    pub fn set_tags(&self, zone: &str, tags: &[(&str, &str)]) {
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.with_zone(zone, |zone| zone.tags = tags);
    }

    /// Leaves a zone out of lists of zones, as one that was made a moment ago may be; by its id it is there.
    pub fn leave_out(&self, zone: &str) {
        self.with_zone(zone, |zone| zone.unlisted = true);
    }

    /// Whether no policy allows anybody to read or change the sets of a zone, though lists of zones show it: as with credentials that are
    /// made for other zones of the account.
    ///
    /// # Panics
    /// If there is no such zone: a mistake of the test.
    pub fn forbid(&self, zone: &str, forbidden: bool) {
        self.with_zone(zone, |zone| zone.forbidden = forbidden);
    }

    /// Takes a zone away with all that is in it.
    pub fn drop_zone(&self, id: &str) {
        self.service().zones.remove(id);
    }

    /// Id and name of the zones of an account.
    pub fn zones_of(&self, account: &str) -> BTreeMap<String, String> {
        let service = self.service();
        let zones = service.zones.values().filter(|zone| zone.account == account);
        zones.map(|zone| (zone.id.clone(), zone.name.clone())).collect()
    }

    /// Puts a set in place, past every rule.
    ///
    /// # Panics
    /// If there is no such zone, or a name in the set is none: a mistake of the test.
    pub fn put(&self, zone: &str, set: RecordSet) {
        let set = set.stored().expect("the test gives sets with domain names");
        self.with_zone(zone, |zone| zone.put(set));
    }

    /// Takes a set out, past every rule.
    ///
    /// # Panics
    /// As [`Route53::put`].
    pub fn remove(&self, zone: &str, name: &str, kind: &str, identifier: Option<&str>) -> Option<RecordSet> {
        let name = name::canonical(name).expect("the test gives a domain name");
        self.with_zone(zone, |zone| zone.remove(&Key::new(&name, kind, identifier.unwrap_or_default())))
    }

    /// Every set of a zone in the order of listings, with SOA and NS; none if there is no such zone.
    pub fn sets(&self, zone: &str) -> Vec<RecordSet> {
        self.service().zones.get(zone).map(|zone| zone.sets.values().cloned().collect()).unwrap_or_default()
    }

    /// Whether a simple set of this type stands at the name. Unlike [`Route53::sets`], it takes no time in a large zone.
    ///
    /// # Panics
    /// As [`Route53::put`].
    pub fn stands(&self, zone: &str, name: &str, kind: &str) -> bool {
        let key = Key::new(&name::canonical(name).expect("the test gives a domain name"), kind, "");
        self.service().zones.get(zone).is_some_and(|zone| zone.sets.contains_key(&key))
    }

    /// How often a batch of changes took a simple set away and put none in its place.
    ///
    /// # Panics
    /// As [`Route53::put`].
    pub fn vanished(&self, zone: &str, name: &str, kind: &str) -> usize {
        let key = Key::new(&name::canonical(name).expect("the test gives a domain name"), kind, "");
        self.with_zone(zone, |zone| zone.vanished.get(&key).copied().unwrap_or_default())
    }

    fn with_zone<T>(&self, id: &str, work: impl FnOnce(&mut Zone) -> T) -> T {
        work(self.service().zones.get_mut(id).expect("the test names a zone that it added"))
    }

    /// How many sets a zone may have; 10,000 if never set.
    ///
    /// # Panics
    /// If there is no such zone, here and in the next two: a mistake of the test.
    pub fn set_limit(&self, zone: &str, sets: usize) {
        self.with_zone(zone, |zone| zone.limit = sets);
    }

    /// Listings of the zone answer what stood before the last `writes` writes from now on.
    pub fn set_lag(&self, zone: &str, writes: usize) {
        self.with_zone(zone, |zone| zone.set_lag(writes));
    }

    /// Refuses the next `calls` changes of the zone with `PriorRequestNotComplete`.
    pub fn set_busy(&self, zone: &str, calls: usize) {
        self.with_zone(zone, |zone| zone.busy = calls);
    }

    /// How many items a page has at most: 300 sets or 100 zones if never set.
    pub fn set_page(&self, items: usize) {
        self.service().page = items;
    }

    /// How many requests an account has in a second (the real service: 5); no limit if never set.
    pub fn set_rate(&self, requests: Option<usize>) {
        self.service().pace.set(requests.map(|requests| (requests, Duration::from_secs(1))));
    }

    /// How many calls of `GetChange` answer `PENDING` for changes to come; 1 if never set.
    pub fn set_pending(&self, calls: usize) {
        self.service().pending = calls;
    }

    /// Every submitted change is `INSYNC` from now on.
    pub fn sync(&self) {
        self.service().changes.values_mut().for_each(|change| change.pending = 0);
    }

    /// How `InvalidChangeBatch` is written.
    pub fn set_batch_error_form(&self, form: BatchErrorForm) {
        self.service().form = form;
    }

    /// Lets sets name a health check.
    pub fn register_health_check(&self, id: &str) {
        self.service().health_checks.insert(id.to_owned());
    }

    /// Lets the next `times` calls of `operation` (`ListHostedZones`, `AssumeRole`, ...) fail; 0 ends all faults of the
    /// operation. Faults that were ordered before come first.
    ///
    /// # Panics
    /// If the service cannot have this fault: a mistake of the test, here and in the next two.
    pub fn fail(&self, operation: &str, fault: Fault, times: usize) {
        self.fail_after(operation, 0, fault, times);
    }

    /// The same after `skip` calls that do not fail.
    pub fn fail_after(&self, operation: &str, skip: usize, fault: Fault, times: usize) {
        self.service().faults.plan(operation, skip, fault, times);
    }

    /// The same with calls of any operation.
    pub fn fail_any(&self, skip: usize, fault: Fault, times: usize) {
        self.service().faults.plan_any(skip, fault, times);
    }

    /// How often each operation was called, and under `CREATE`, `DELETE`, `UPSERT` how many changes well-formed batches had.
    pub fn calls(&self) -> BTreeMap<String, usize> {
        self.service().calls.clone()
    }

    /// How many requests came at all.
    pub fn requests(&self) -> usize {
        self.service().requests
    }
}
