//! The API of Cloudflare (version 4), as far as it publishes names: zones, DNS records, custom and regional hostnames.
//!
//! Enforced: tokens with their zones and permissions, the forms of records, what may stand beside what, batches as a whole, what
//! each plan allows. Faults, lag and pace are made on demand. Codes and messages of errors are those that the documentation, the
//! API reference or clients' reports show; where none is known, the code is 9100 and the words are in their style.
//!
//! As the service does: names are completed with the zone's name, CNAME records stand beside texts and at the apex, a proxied
//! record has an automatic TTL, and a batch reports its first error without saying which operation it is.
//!
//! Not here: zones that are made or deleted by clients, import and export, scans, DNSSEC, certificates, secondary zones.

mod access;
mod content;
mod data;
mod filter;
mod hostnames;
mod ids;
mod name;
mod page;
mod plan;
mod record;
mod records;
mod refusal;
mod regions;
mod request;
mod rules;
mod service;
mod text;
mod zone;
mod zones;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use crate::faults::Fault;
use crate::http;
use crate::server::Server;
pub use access::{EMAIL, KEY, Permission, TOKEN};
pub use hostnames::CustomHostname;
pub use plan::Plan;
pub use record::Record;
pub use refusal::ErrorForm;
pub use regions::RegionalHostname;
use service::Service;
use zone::Zone;

/// The service on loopback. It ends when it is dropped.
///
/// The token [`TOKEN`], and the user [`EMAIL`] with [`KEY`], have access to everything.
#[derive(Debug)]
pub struct Cloudflare {
    server: Server,
    service: Arc<Mutex<Service>>,
}

impl Cloudflare {
    /// The service without zones.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start() -> Self {
        let service = Arc::new(Mutex::new(Service::default()));
        Self { server: Server::start(http::router(service.clone(), Service::serve)), service }
    }

    /// Where it listens, with the path that all operations begin with.
    pub fn url(&self) -> String {
        format!("{}{}", self.server.url(), request::BASE)
    }

    fn service(&self) -> MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a token in, for these zones (all if there is none) and permissions. A token that was known takes these from now on.
    /// Tokens have at least 40 characters.
    pub fn allow_token(&self, token: &str, zones: &[&str], permissions: &[Permission]) {
        self.service().access.allow_token(token, zones, permissions);
    }

    /// Refuses a token from now on, for it has expired.
    ///
    /// # Panics
    /// If there is no such token: a mistake of the test.
    pub fn expire_token(&self, token: &str) {
        assert!(self.service().access.expire_token(token), "the test names a token that was let in");
    }

    /// Refuses a token from now on as one that never was.
    ///
    /// # Panics
    /// As [`Cloudflare::expire_token`].
    pub fn revoke_token(&self, token: &str) {
        assert!(self.service().access.revoke_token(token), "the test names a token that was let in");
    }

    /// Lets the key of a user in, for everything. A key has 37 hexadecimal digits.
    pub fn allow_key(&self, email: &str, key: &str) {
        self.service().access.allow_key(email, key);
    }

    /// Adds an empty, active zone; its id.
    pub fn add_zone(&self, name: &str, plan: Plan) -> String {
        let mut service = self.service();
        service.made += 1;
        let id = ids::id(&format!("zone {}", service.made));
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        service.zones.insert(id.clone(), Zone::new(id.clone(), &name, plan));
        id
    }

    /// Takes a zone away with all that is in it.
    pub fn drop_zone(&self, id: &str) {
        self.service().zones.remove(id);
    }

    /// Id and name of all zones.
    pub fn zones(&self) -> BTreeMap<String, String> {
        self.service().zones.values().map(|zone| (zone.id.clone(), zone.name.clone())).collect()
    }

    fn with_zone<T>(&self, id: &str, work: impl FnOnce(&mut Zone) -> T) -> T {
        work(self.service().zones.get_mut(id).expect("the test names a zone that it added"))
    }

    /// Makes a zone `pending`, or `active` again.
    ///
    /// # Panics
    /// If there is no such zone, here and in whatever else changes one: a mistake of the test.
    pub fn set_active(&self, zone: &str, active: bool) {
        self.with_zone(zone, |zone| zone.active = active);
    }

    /// Changes the plan of a zone; its records stay as they are.
    pub fn set_plan(&self, zone: &str, plan: Plan) {
        self.with_zone(zone, |zone| zone.plan = plan);
    }

    /// Puts a record in place, past every rule; its id. A record with the id of another one replaces that.
    pub fn put(&self, zone: &str, record: Record) -> String {
        self.with_zone(zone, |zone| zone.put(record))
    }

    /// Takes a record out, past every rule.
    pub fn remove(&self, zone: &str, id: &str) -> Option<Record> {
        self.with_zone(zone, |zone| zone.remove(id))
    }

    /// Every record of a zone by name, type and content; none if there is no such zone.
    pub fn records(&self, zone: &str) -> Vec<Record> {
        let service = self.service();
        let stored = service.zones.get(zone).into_iter().flat_map(|zone| zone.records.iter());
        let mut records: Vec<Record> = stored.map(|stored| stored.record.clone()).collect();
        records.sort_by(|one, two| filter::place(one).cmp(&filter::place(two)));
        records
    }

    /// The custom hostnames of a zone by name; none if there is no such zone.
    pub fn hostnames(&self, zone: &str) -> Vec<CustomHostname> {
        let service = self.service();
        let hostnames = service.zones.get(zone).into_iter().flat_map(|zone| zone.hostnames.values());
        let mut hostnames: Vec<CustomHostname> = hostnames.cloned().collect();
        hostnames.sort_by(|one, two| one.hostname.cmp(&two.hostname));
        hostnames
    }

    /// The regional hostnames of a zone by name; none if there is no such zone.
    pub fn regions(&self, zone: &str) -> Vec<RegionalHostname> {
        let service = self.service();
        service.zones.get(zone).map(|zone| zone.regions.values().cloned().collect()).unwrap_or_default()
    }

    /// How many records a zone may have; what its plan allows if never set.
    pub fn set_record_limit(&self, zone: &str, records: usize) {
        self.with_zone(zone, |zone| zone.record_limit = Some(records));
    }

    /// How many operations a batch may have; what the zone's plan allows if never set.
    pub fn set_batch_limit(&self, zone: &str, operations: usize) {
        self.with_zone(zone, |zone| zone.batch_limit = Some(operations));
    }

    /// How many custom hostnames a zone may have; 100 if never set.
    pub fn set_hostname_quota(&self, zone: &str, hostnames: usize) {
        self.with_zone(zone, |zone| zone.hostname_quota = hostnames);
    }

    /// Whether a zone may have regional hostnames; if never set, those of the enterprise plan may.
    pub fn set_regional(&self, zone: &str, regional: bool) {
        self.with_zone(zone, |zone| zone.regional = regional);
    }

    /// Listings of the zone answer what stood before the last `writes` writes from now on.
    pub fn set_lag(&self, zone: &str, writes: usize) {
        self.with_zone(zone, |zone| zone.set_lag(writes));
    }

    /// How many items a page has at most, whatever a client asks for; if never set, what it asks for within the service's
    /// limits.
    pub fn set_page(&self, items: usize) {
        self.service().page = Some(items);
    }

    /// How many requests a caller has in a time (the real service: 1,200 in five minutes); no limit if never set.
    pub fn set_rate(&self, limit: Option<(usize, Duration)>) {
        self.service().pace.set(limit);
    }

    /// How many seconds the fault [`Fault::Throttled`] asks callers to wait; 1 if never set.
    pub fn set_retry_after(&self, seconds: u64) {
        self.service().retry_after = seconds;
    }

    /// How invalid records are reported.
    pub fn set_error_form(&self, form: ErrorForm) {
        self.service().form = form;
    }

    /// Lets the next `times` calls of `operation` fail; 0 ends all faults of the operation. Faults that were ordered before come
    /// first.
    ///
    /// Operations are `ListZones`, `GetZone`, `ListRecords`, `GetRecord`, `CreateRecord`, `ReplaceRecord`, `PatchRecord`,
    /// `DeleteRecord`, `BatchRecords`, `VerifyToken`; `ListCustomHostnames`, `GetCustomHostname` and so on with `Create`,
    /// `Patch`, `Delete`; the same with `RegionalHostname`; and `ListRegions`.
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

    /// How often each operation was called, and under `deletes`, `patches`, `puts`, `posts` how many of each well-formed batches
    /// had.
    pub fn calls(&self) -> BTreeMap<String, usize> {
        self.service().calls.clone()
    }

    /// How many requests came at all.
    pub fn requests(&self) -> usize {
        self.service().requests
    }
}
