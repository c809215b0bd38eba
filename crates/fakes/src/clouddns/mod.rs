//! The API of Google Cloud DNS (version 1), as far as it publishes names: managed zones, record sets, changes, quotas; and where its
//! callers get their tokens.
//!
//! Enforced: tokens with their zones and rights, the forms of names and values, routing policies, what may stand beside what, changes
//! as a whole with exactly what they take away, the quotas of a project. Faults, lag and pace are made on demand.
//!
//! As the service does: a set is named by its owner and type alone; texts come back in quotation marks; a refused change names the
//! first set that is at fault by its place; a weight is a number with a fraction.
//!
//! Not documented, and decided: reason and words of a quota that is used up (`quotaExceeded`, 403), of a change without content
//! (`required`), of a zone that takes no sets (`operationNotSupported`); that weights end at 1,000; that listings are in the order of
//! names as text; that page tokens are texts.
//!
//! Not here: zones that are made or changed by clients, single sets that are written without a change, DNSSEC, policies, response
//! policies, the parts of a `primaryBackup` policy, health checks.

mod access;
mod quota;
mod refusal;
mod request;
mod service;
mod set;
mod value;
mod zone;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use crate::faults::Fault;
use crate::faults::Faults;
use crate::http;
use crate::server::Server;
pub use access::TOKEN;
use service::Service;
pub use set::RecordSet;
pub use zone::Kind;
use zone::Zone;

/// The first id of a zone: ids are numbers of 64 bits.
const FIRST: u64 = 1_000_000_000_000_000_000;

/// The service on loopback. It ends when it is dropped. The token [`TOKEN`] has access to everything.
#[derive(Debug)]
pub struct CloudDns {
    server: Server,
    service: Arc<Mutex<Service>>,
}

impl CloudDns {
    /// The service without zones.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start() -> Self {
        let faults = Faults::lacking(&[Fault::PriorRequestNotComplete, Fault::Skewed]);
        let service = Arc::new(Mutex::new(Service { faults, ..Service::default() }));
        Self { server: Server::start(http::router(service.clone(), Service::serve)), service }
    }

    /// Where it listens, without a path. The API is below `/dns/v1`, the token endpoint at `/token`, the exchange of tokens at
    /// `/v1/token`, the metadata server below `/computeMetadata/v1`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    fn service(&self) -> MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a token in, for everything.
    pub fn allow_token(&self, token: &str) {
        self.limit_token(token, &[], true);
    }

    /// Lets a token in that reads, and perhaps writes, the zones of these names; all zones without any.
    pub fn limit_token(&self, token: &str, zones: &[&str], writes: bool) {
        self.service().access.allow_token(token, zones, writes);
    }

    /// A token is over.
    ///
    /// # Panics
    /// If there is no such token: a mistake of the test.
    pub fn expire_token(&self, token: &str) {
        assert!(self.service().access.expire_token(token), "the test names a token that it allowed");
    }

    /// Every token that was given out is over.
    pub fn expire_minted(&self) {
        self.service().access.expire_minted();
    }

    /// A service account with its public key in PEM, an RSA key of 2,048 to 4,096 bits.
    ///
    /// # Panics
    /// If it is none: a mistake of the test.
    pub fn allow_service_account(&self, email: &str, key: &str) {
        assert!(self.service().access.allow_account(email, key), "the test gives a key");
    }

    /// A user who logged in with `gcloud auth application-default login`.
    pub fn allow_user(&self, client_id: &str, client_secret: &str, refresh_token: &str) {
        self.service().access.allow_user(client_id, client_secret, refresh_token);
    }

    /// Lets the metadata server answer, as on a machine of this project; none is no machine.
    pub fn set_machine(&self, project: Option<&str>) {
        self.service().access.set_machine(project);
    }

    /// A token of another identity that is exchanged for this audience.
    pub fn allow_federated(&self, audience: &str, token: &str) {
        self.service().access.allow_federated(audience, token);
    }

    /// A service account that callers may act as.
    pub fn allow_impersonation(&self, email: &str) {
        self.allow_delegation(email, &[]);
    }

    /// A service account that callers may act as by way of these others, and not without them.
    pub fn allow_delegation(&self, email: &str, delegates: &[&str]) {
        self.service().access.allow_impersonation(email, delegates);
    }

    /// Adds a zone with its SOA and NS records; its id. `dns_name` has the final dot.
    pub fn add_zone(&self, project: &str, name: &str, dns_name: &str, kind: Kind) -> String {
        let mut service = self.service();
        service.made += 1;
        let id = FIRST + service.made;
        service.zones.insert(id, Zone::new(id, project, name, dns_name, kind));
        id.to_string()
    }

    /// Takes a zone away with all that is in it.
    pub fn drop_zone(&self, id: &str) {
        self.service().zones.retain(|known, _| known.to_string() != id);
    }

    fn with_zone<T>(&self, id: &str, work: impl FnOnce(&mut Zone) -> T) -> T {
        let mut service = self.service();
        let found = service.zones.values_mut().find(|zone| zone.id.to_string() == id);
        work(found.expect("the test names a zone that it added"))
    }

    /// Puts a set in place, past every rule.
    ///
    /// # Panics
    /// If there is no such zone: a mistake of the test, here and below.
    pub fn put(&self, zone: &str, set: RecordSet) {
        self.with_zone(zone, |zone| zone.sets.insert((set.name.clone(), set.kind.clone()), set));
    }

    /// Takes a set out, past every rule.
    pub fn remove(&self, zone: &str, name: &str, kind: &str) -> Option<RecordSet> {
        self.with_zone(zone, |zone| zone.sets.remove(&(name.to_owned(), kind.to_owned())))
    }

    /// Every set of a zone by name and type, with SOA and NS; none if there is no such zone.
    pub fn sets(&self, zone: &str) -> Vec<RecordSet> {
        let service = self.service();
        let found = service.zones.values().find(|found| found.id.to_string() == zone);
        found.into_iter().flat_map(|zone| zone.sets.values().cloned()).collect()
    }

    /// How often a change took a set away and put none in its place; the name with its final dot.
    pub fn vanished(&self, zone: &str, name: &str, kind: &str) -> usize {
        let key = (name.to_owned(), kind.to_owned());
        self.with_zone(zone, |zone| zone.vanished.get(&key).copied().unwrap_or_default())
    }

    /// Most sets of the zone; 10,000 if never set.
    pub fn set_limit(&self, zone: &str, sets: usize) {
        self.with_zone(zone, |zone| zone.limit = sets);
    }

    /// Listings answer the state before the last `changes` changes from now on.
    pub fn set_lag(&self, zone: &str, changes: usize) {
        self.with_zone(zone, |zone| zone.set_lag(changes));
    }

    /// What else a zone is for, by the API's field for it, as `peeringConfig`: such a zone takes no sets.
    pub fn configure(&self, zone: &str, field: &str, value: serde_json::Value) {
        self.with_zone(zone, |zone| zone.configured.insert(field.to_owned(), value));
    }

    /// A quota of every project, by the API's name for it, as `rrsetAdditionsPerChange`; the documented one if never set.
    ///
    /// # Panics
    /// If there is none of that name: a mistake of the test.
    pub fn set_quota(&self, name: &str, limit: usize) {
        assert!(self.service().quota.set(name, limit), "the test names a quota");
    }

    /// Every change is `done`, and every new one at once.
    pub fn finish(&self) {
        let mut service = self.service();
        service.pending = 0;
        service.zones.values_mut().flat_map(|zone| &mut zone.changes).for_each(|made| made.pending = 0);
    }

    /// How often a new change is asked for until it is `done`; at once if never set.
    pub fn set_pending(&self, calls: usize) {
        self.service().pending = calls;
    }

    /// How many items a page has at most, whatever a client asks for.
    pub fn set_page(&self, items: usize) {
        self.service().page = Some(items);
    }

    /// How many requests a project has in a time; no limit if never set.
    pub fn set_rate(&self, limit: Option<(usize, Duration)>) {
        self.service().pace.set(limit);
    }

    /// How many seconds the fault [`Fault::Throttled`] asks callers to wait; 1 if never set.
    pub fn set_retry_after(&self, seconds: u64) {
        self.service().retry_after = Some(seconds);
    }

    /// Lets the next `times` calls of `operation` fail; 0 ends all faults of the operation. Operations are `GetProject`,
    /// `ListZones`, `GetZone`, `ListRecordSets`, `GetRecordSet`, `CreateChange`, `GetChange`, `ListChanges`.
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

    /// How often each operation was called; tokens are asked for by `Token`, `ExchangeToken`, `GenerateAccessToken`, `Metadata`.
    pub fn calls(&self) -> BTreeMap<String, usize> {
        self.service().calls.clone()
    }

    /// How many requests came at all.
    pub fn requests(&self) -> usize {
        self.service().requests
    }
}
