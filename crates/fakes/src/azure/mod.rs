//! The API of Azure DNS as far as it publishes names: public zones (version 2018-05-01) and private ones (2020-06-01, 2024-06-01),
//! as Azure Resource Manager gives them out; and where its callers get their tokens.
//!
//! Enforced: tokens with their zones and rights, versions of the API, paths in any case, the forms of names and records, what may
//! stand beside what, conditions by etag, what the apex keeps, limits of records, texts and sets, pages with links; applications
//! that prove themselves by secret, certificate or another identity's token, and the identities of a machine. Faults, lag and pace
//! are made on demand.
//!
//! As the service does: names of sets are relative and in lower case; the DNS service writes its own refusals in another form than
//! Resource Manager; a set may have no records, but one of type CNAME; a deletion of nothing is a success (204).
//!
//! Not documented, and decided: the words of refusals, but for those of conflicts, hosts, conditions and long texts; that a CNAME
//! record set at the apex is a `BadRequest`, as is a full zone, a missing TTL, a record that comes twice, and records of another
//! type; that private zones wrap every refusal in `error`; that a deletion of nothing with `If-Match` is refused (412); that etags may
//! be sent in quotation marks, and one in a body means nothing; that a list of zones leaves out those that the caller may not read;
//! that listings are in the order of names as text; that lengths of texts are counted in bytes; that hosts come back as they were sent
//! and addresses in their shortest form; that MX and SRV records may name the root; that metadata have no limits; that a set
//! with a target resource has no property for its records; the status with which an assertion is refused; that a machine without
//! identities does not have the service (404).
//!
//! Not here: zones that are made or changed by clients, virtual network links and names that they register, DNSSEC, the types DS,
//! TLSA and NAPTR (of a preview), tags, references to target resources, whether such a resource exists and how many sets stand for
//! it, the audience of tokens, assertions that are used once only, TLS: clients that demand it at the token endpoint need a
//! transport that leaves it out.

mod access;
mod page;
mod refusal;
mod request;
mod service;
mod set;
mod tenant;
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

/// The service on loopback. It ends when it is dropped. The token [`TOKEN`] has access to everything.
#[derive(Debug)]
pub struct AzureDns {
    server: Server,
    service: Arc<Mutex<Service>>,
}

impl AzureDns {
    /// The service without zones.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start() -> Self {
        let faults = Faults::lacking(&[Fault::PriorRequestNotComplete, Fault::Skewed]);
        let service = Arc::new(Mutex::new(Service { faults, ..Service::default() }));
        Self { server: Server::start(http::router(service.clone(), Service::serve)), service }
    }

    /// Where it listens, without a path. Resource Manager is at the root, the token endpoint of a tenant at
    /// `/{tenant}/oauth2/v2.0/token`, the metadata service at `/metadata/identity/oauth2/token`.
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

    /// An application of a tenant that gets tokens by this secret.
    pub fn allow_secret(&self, tenant: &str, client_id: &str, secret: &str) {
        self.service().access.application(tenant, client_id).secrets.insert(secret.to_owned());
    }

    /// An application of a tenant that gets tokens by assertions signed with the key of this certificate: an RSA key of 2,048 bits
    /// or more, the certificate in PEM.
    ///
    /// # Panics
    /// If it is none: a mistake of the test.
    pub fn allow_certificate(&self, tenant: &str, client_id: &str, certificate_pem: &str) {
        let usable = self.service().access.application(tenant, client_id).add_certificate(certificate_pem);
        assert!(usable, "the test gives a certificate");
    }

    /// An application of a tenant that gets tokens by the token of another identity, as a service account of a cluster has one.
    pub fn allow_federated(&self, tenant: &str, client_id: &str, assertion: &str) {
        self.service().access.application(tenant, client_id).federated.insert(assertion.to_owned());
    }

    /// Lets the metadata service answer, as on a machine with user-assigned identities of these client ids; with a system-assigned
    /// identity alone if there are none. None is no machine: the service answers 404.
    pub fn set_machine(&self, identities: Option<&[&str]>) {
        self.service().access.set_machine(identities);
    }

    /// For how many seconds tokens that are given out from now on are said to be good; 3,599 if never set. They are over only by
    /// [`AzureDns::expire_minted`].
    pub fn set_lifetime(&self, seconds: u64) {
        self.service().access.lifetime = seconds;
    }

    /// Adds a zone with its SOA record, and NS records if it is public; its id. `name` has no final dot.
    pub fn add_zone(&self, kind: Kind, subscription: &str, group: &str, name: &str) -> String {
        let mut service = self.service();
        service.made += 1;
        let zone = Zone::new(kind, subscription, group, name, service.made);
        let id = zone.id.clone();
        service.groups.insert([subscription, group].map(str::to_ascii_lowercase));
        service.zones.insert(id.to_ascii_lowercase(), zone);
        id
    }

    /// Takes a zone away with all that is in it.
    pub fn drop_zone(&self, id: &str) {
        self.service().zones.remove(&id.to_ascii_lowercase());
    }

    fn with_zone<T>(&self, id: &str, work: impl FnOnce(&mut Zone) -> T) -> T {
        let mut service = self.service();
        work(service.zones.get_mut(&id.to_ascii_lowercase()).expect("the test names a zone that it added"))
    }

    /// Puts a set in place, past every rule; with a new etag if it has none.
    ///
    /// # Panics
    /// If there is no such zone: a mistake of the test, here and below.
    pub fn put(&self, zone: &str, set: RecordSet) {
        self.with_zone(zone, |zone| zone.put(set));
    }

    /// Takes a set out, past every rule.
    pub fn remove(&self, zone: &str, name: &str, kind: &str) -> Option<RecordSet> {
        self.with_zone(zone, |zone| zone.sets.remove(&(name.to_owned(), kind.to_owned())))
    }

    /// Every set of a zone by name and type, with SOA and NS; none if there is no such zone.
    pub fn sets(&self, zone: &str) -> Vec<RecordSet> {
        let service = self.service();
        let found = service.zones.get(&zone.to_ascii_lowercase());
        found.into_iter().flat_map(|zone| zone.sets.values().cloned()).collect()
    }

    /// Most sets of the zone; 10,000 if never set, 25,000 if it is private.
    pub fn set_limit(&self, zone: &str, sets: usize) {
        self.with_zone(zone, |zone| zone.limit = sets);
    }

    /// Listings, though not questions for one set, answer the state before the last `changes` writes from now on.
    pub fn set_lag(&self, zone: &str, changes: usize) {
        self.with_zone(zone, |zone| zone.set_lag(changes));
    }

    /// How many items a page has at most, whatever a client asks for.
    pub fn set_page(&self, items: usize) {
        self.service().page = Some(items);
    }

    /// How many requests a subscription has in a time; no limit if never set.
    pub fn set_rate(&self, limit: Option<(usize, Duration)>) {
        self.service().pace.set(limit);
    }

    /// How many seconds the fault [`Fault::Throttled`] asks callers to wait; 1 if never set.
    pub fn set_retry_after(&self, seconds: u64) {
        self.service().retry_after = Some(seconds);
    }

    /// Lets the next `times` calls of `operation` fail; 0 ends all faults of the operation. Operations are `ListZones`, `GetZone`,
    /// `ListRecordSets`, `GetRecordSet`, `PutRecordSet`, `PatchRecordSet`, `DeleteRecordSet`, and for tokens `Token`,
    /// `OpenIdConfiguration`, `Metadata`, which are refused in the form of Resource Manager.
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

    /// The same with calls of any operation on zones.
    pub fn fail_any(&self, skip: usize, fault: Fault, times: usize) {
        self.service().faults.plan_any(skip, fault, times);
    }

    /// How often each operation was called.
    pub fn calls(&self) -> BTreeMap<String, usize> {
        self.service().calls.clone()
    }

    /// How many requests came at all.
    pub fn requests(&self) -> usize {
        self.service().requests
    }
}
