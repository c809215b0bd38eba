//! What an engine is made from.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::RData;
use zonewright_core::choice::Chooser;
use zonewright_core::clock::Clock;
use zonewright_core::contend::NameRules;
use zonewright_core::endpoint::{ObjectRef, Reporter};
use zonewright_core::filter::DomainFilter;
use zonewright_core::guard::Brake;
use zonewright_core::name_policy::NamePolicy;
use zonewright_core::options::{OptionReader, OptionTable};
use zonewright_core::plan::Policy;
use zonewright_core::provider::Provider;
use zonewright_core::quota::QuotaLimits;
use zonewright_core::record::Ttl;
use zonewright_core::registry::Registry;
use zonewright_core::rtype::RecordType;
use zonewright_core::source::Source;
use zonewright_core::store::StateStore;
use zonewright_core::zone::InstanceId;

use crate::announce::Announcement;
use crate::journal::Journaling;
use crate::layer::AmbiguousZones;
use crate::metrics::Metrics;

/// How the engine decides.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own, free to combine with the others")]
pub struct Config {
    /// What may be done at all.
    pub policy: Policy,
    /// The record types that count.
    pub managed: BTreeSet<RecordType>,
    /// The names that count.
    pub filter: DomainFilter,
    /// How objects share names.
    pub names: NameRules,
    /// How long a published record stays whose object has no known targets.
    pub status_grace: Duration,
    /// Time between two audits of a zone, where a cheap question serves.
    pub interval: Duration,
    /// Least time between two full listings of a zone.
    pub cache_time: Duration,
    /// Flags that a command needs to mean this process, each behind a blank; for commands in messages.
    pub command_flags: String,
    /// Longest wait for the first listing of every kind. With `one_pass`, how long a read that fails is tried again.
    pub start_timeout: Duration,
    /// Whether the process ends after one pass. Then planning begins when the sources wait for no kind any longer, however long
    /// that takes, and what fails is tried again for `start_timeout` and given up then.
    pub one_pass: bool,
    /// The limits of the brake on deletes.
    pub brake: Brake,
    /// TTL of endpoints that state none.
    pub min_ttl: Option<Ttl>,
    /// Whether records that nobody claims become ours, where they hold exactly what is wanted.
    pub adopt: bool,
    /// Values of which one alone stands at a name until it is published: with `adopt` a record that nobody claims becomes ours
    /// there, too.
    pub placeholders: Vec<RData>,
    /// The flag that leaves objects of other namespaces unread, for people; empty where all are read.
    pub reach: String,
    /// How many records objects and namespaces may have.
    pub quotas: QuotaLimits,
    /// Whether nothing may be changed.
    pub dry_run: bool,
    /// Whether the engine only reads, to explain why a name is not there: a dry run that no user asked for.
    pub looks: bool,
    /// Whether a name, type or target that a filter leaves out is reported to its object even where nothing was published for it.
    pub events_filtered: bool,
    /// Which changes are reported to objects.
    pub announce: BTreeSet<Announcement>,
    /// What the jitter of pauses is drawn from; by chance for each process where it is not given. With a seed and a paused
    /// clock a history can be repeated exactly.
    pub seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: Policy::Sync,
            managed: BTreeSet::from([RecordType::A, RecordType::Aaaa, RecordType::Cname]),
            filter: DomainFilter::default(),
            names: NameRules::default(),
            status_grace: Duration::from_mins(5),
            interval: Duration::from_mins(1),
            cache_time: Duration::ZERO,
            command_flags: String::new(),
            start_timeout: Duration::from_secs(30),
            one_pass: false,
            brake: Brake::default(),
            min_ttl: None,
            adopt: false,
            placeholders: Vec::new(),
            reach: String::new(),
            quotas: QuotaLimits::default(),
            dry_run: false,
            looks: false,
            events_filtered: false,
            announce: BTreeSet::from([Announcement::RecordReady]),
            seed: None,
        }
    }
}

/// One provider with the registry that keeps its claims.
#[derive(Clone)]
pub struct Instance {
    /// Its name, unique in the process.
    pub id: InstanceId,
    /// The provider, bare: the engine puts the layers around it.
    pub provider: Arc<dyn Provider>,
    /// Whether that is a webhook, whose calls count under external-dns' names too.
    pub webhook: bool,
    /// Where claims on its records are kept.
    pub registry: Arc<dyn Registry>,
    /// The provider's options, with the annotation prefixes in force.
    pub options: OptionReader,
    /// Which objects go to it.
    pub chooser: Chooser,
    /// Which of the names that count ([`Config::filter`]) do so here.
    pub filter: DomainFilter,
    /// Names of which the provider has several zones, where rules of zones leave open which.
    pub ambiguous: Arc<AmbiguousZones>,
}

impl Instance {
    /// An instance that takes every object and every name that counts, without options of its provider.
    pub fn new(id: InstanceId, provider: Arc<dyn Provider>, registry: Arc<dyn Registry>) -> Self {
        let chooser = Chooser::new(&id);
        let (options, filter) = (OptionTable::NONE.into(), DomainFilter::default());
        Self { id, provider, webhook: false, registry, options, chooser, filter, ambiguous: Arc::default() }
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What the engine works with.
pub struct Parts {
    /// Where endpoints come from.
    pub sources: Vec<Arc<dyn Source>>,
    /// Where they go.
    pub instances: Vec<Instance>,
    /// Who may ask for which name.
    pub name_policy: Arc<dyn NamePolicy>,
    /// Where the state lives that survives a restart.
    pub store: Arc<dyn StateStore>,
    /// Where it is written down what was changed.
    pub journal: Journaling,
    /// Where notes go.
    pub reporter: Arc<dyn Reporter>,
    /// The metrics that the loops count in.
    pub metrics: Arc<Metrics>,
    /// The clock; a paused one in tests.
    pub clock: Clock,
    /// The object that stands for this process in the cluster, if there is one.
    pub own_object: Option<ObjectRef>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("instances", &self.instances).finish_non_exhaustive()
    }
}
