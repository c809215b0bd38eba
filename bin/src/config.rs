//! From flag values to the engine's configuration, the registry and the provider.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use zonewright_core::catalog::{ProviderConfig, ProviderEntry, RegistryConfig, Settings};
use zonewright_core::contend::{NameRules, SameName};
use zonewright_core::documents::DocumentStore;
use zonewright_core::filter::DomainFilter;
use zonewright_core::guard::Brake;
use zonewright_core::options::OptionReader;
use zonewright_core::plan::Policy;
use zonewright_core::provider::Provider;
use zonewright_core::quota::QuotaLimits;
use zonewright_core::registry::Registry;
use zonewright_core::shared::Shared;
use zonewright_core::wrap::{self, Wrapping};
use zonewright_core::zone::InstanceId;
use zonewright_core::{Error, ErrorKind, RData, RecordType, Result, Ttl};
use zonewright_engine::{Announcement, Config, Instance};

use crate::catalog::Catalog;
use crate::command_flags;
use crate::instance::InstanceSettings;

fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, "read the flags", text)
}

/// The engine's configuration.
///
/// # Errors
/// A configuration error that names the flag.
pub(crate) fn engine(settings: &Settings) -> Result<Config> {
    let policy = Policy::parse(settings.text("policy"))
        .ok_or_else(|| wrong("--policy must be set explicitly (one of: sync, upsert-only, create-only)"))?;
    let filter = DomainFilter::new(
        settings.list("domain-filter"),
        settings.list("exclude-domains"),
        settings.text("regex-domain-filter"),
        settings.text("regex-domain-exclusion"),
    )
    .map_err(|error| wrong(error.to_string()))?;
    Ok(Config {
        policy,
        managed: managed(settings),
        filter,
        names: NameRules {
            same_name: if settings.text("same-name") == "union" { SameName::Union } else { SameName::Holder },
            cname_yields: settings.bool("cname-yields"),
            one_namespace: settings.text("union-namespaces") == "same",
            ..NameRules::default()
        },
        status_grace: settings.duration("status-grace"),
        interval: settings.duration("interval"),
        cache_time: settings.duration("provider-cache-time"),
        command_flags: command_flags::of_daemon(settings, settings.text("txt-owner-id")),
        start_timeout: settings.duration("start-timeout"),
        one_pass: settings.bool("once"),
        brake: brake(settings)?,
        min_ttl: min_ttl(settings),
        adopt: settings.bool("adopt-matching"),
        #[cfg(feature = "kops")]
        placeholders: crate::kops::placeholders(settings),
        #[cfg(not(feature = "kops"))]
        placeholders: Vec::new(),
        reach: match settings.text("namespace") {
            "" => String::new(),
            namespace => format!("--namespace={namespace}"),
        },
        quotas: QuotaLimits {
            per_namespace: count(settings, "max-records-per-namespace")?,
            per_object: count(settings, "max-records-per-object")?,
        },
        dry_run: settings.bool("dry-run"),
        looks: false,
        events_filtered: settings.bool("events-filtered"),
        announce: announcements(settings),
        seed: None,
    })
}

fn managed(settings: &Settings) -> BTreeSet<RecordType> {
    // Another spelling of a type matches nothing, as in external-dns; that was logged at start.
    let exact = |text: &String| text.parse().ok().filter(|rtype: &RecordType| rtype.to_string() == *text);
    let types = |flag: &str| settings.nonempty(flag).iter().filter_map(exact).collect::<BTreeSet<RecordType>>();
    let excluded = types("exclude-record-types");
    types("managed-record-types").difference(&excluded).copied().collect()
}

/// `--events-emit`: only these; without it, every change is reported. Another word has no effect, as in external-dns.
fn announcements(settings: &Settings) -> BTreeSet<Announcement> {
    if settings.nonempty("events-emit").is_empty() {
        return Config::default().announce;
    }
    let named = |word: &String| Announcement::ALL.into_iter().find(|known| known.as_str() == word);
    settings.nonempty("events-emit").iter().filter_map(named).collect()
}

fn count(settings: &Settings, flag: &str) -> Result<usize> {
    usize::try_from(settings.int(flag)).map_err(|_| wrong(format!("--{flag} must not be negative")))
}

fn brake(settings: &Settings) -> Result<Brake> {
    // All zones together are judged as one zone is, where nothing else is said.
    let together = |flag: &str, zone: &str| count(settings, if settings.given(flag) { flag } else { zone });
    Ok(Brake {
        enabled: settings.bool("brake"),
        process_min_deletes: together("brake-process-min", "brake-min-deletes")?,
        process_percent: together("brake-process-percent", "brake-percent")?,
        min_deletes: count(settings, "brake-min-deletes")?,
        percent: count(settings, "brake-percent")?,
        window: settings.duration("brake-window"),
        owner_floor: count(settings, "brake-owner-floor")?,
        approval_ttl: settings.duration("approval-ttl"),
    })
}

/// `--min-ttl` in whole seconds; less than one second is none.
fn min_ttl(settings: &Settings) -> Option<Ttl> {
    let seconds = u32::try_from(settings.duration("min-ttl").as_secs()).ok()?;
    Ttl::from_secs(seconds).filter(|ttl| ttl.secs() > 0)
}

/// What the flags make of the endpoints of all sources.
///
/// # Errors
/// A configuration error that names the flag.
pub(crate) fn wrapping(settings: &Settings) -> Result<Wrapping> {
    let managed = managed(settings);
    Ok(Wrapping {
        default_targets: each(settings, "default-targets", default_target)?,
        force_default_targets: settings.bool("force-default-targets"),
        nat64: each(settings, "nat64-networks", wrap::nat64_prefix)?,
        target_nets: each(settings, "target-net-filter", wrap::network)?,
        excluded_target_nets: each(settings, "exclude-target-net", wrap::network)?,
        ptr: managed.contains(&RecordType::Ptr).then(|| settings.bool("create-ptr")),
        prefer_alias: settings.bool("prefer-alias"),
    })
}

fn each<T, E: Display>(settings: &Settings, flag: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<Vec<T>> {
    let read = |text: &String| parse(text).map_err(|problem| wrong(format!("--{flag}: {problem}")));
    settings.nonempty(flag).iter().map(read).collect()
}

fn default_target(text: &str) -> Result<RData, String> {
    RData::parse(RData::type_of_target(text), text)
        .map_err(|problem| format!("{text:?}: {problem}; expected an IP address or a host name"))
}

/// The registry that the flags choose; `documents` is where one that keeps its claims in a cluster has them.
///
/// # Errors
/// A configuration error that names the flag.
pub(crate) async fn registry(
    catalog: &Catalog,
    settings: &Settings,
    documents: Option<Arc<dyn DocumentStore>>,
) -> Result<Arc<dyn Registry>> {
    let name = settings.text("registry");
    let entry = catalog.registry(name).ok_or_else(|| wrong(format!("--registry={name} is not available here")))?;
    (entry.build)(RegistryConfig { settings: settings.clone(), documents }).await
}

/// What a provider reads out of the properties of objects, under the annotation prefixes in force.
pub(crate) fn options(entry: &ProviderEntry, settings: &Settings) -> OptionReader {
    OptionReader::new(entry.options, settings.list("annotation-prefix").iter().map(|prefix| prefix.as_str().into()))
}

/// The provider that the flags describe, with its registry.
///
/// # Errors
/// Whatever keeps the provider from being built; an unreachable server is no such thing.
pub(crate) async fn instance(
    catalog: &Catalog,
    settings: &Settings,
    documents: Option<Arc<dyn DocumentStore>>,
    shared: &Shared,
) -> Result<Instance> {
    let (entry, id) = provider(catalog, settings)?;
    let registry = registry(catalog, settings, documents).await?;
    let options = options(entry, settings);
    let provider = build(entry, &id, settings, shared).await?;
    let ambiguous = shared.get();
    Ok(Instance { options, webhook: entry.webhook, ambiguous, ..Instance::new(id, provider, registry) })
}

/// The provider instances of a process: those of the settings file, else the one that the flags describe. They have one registry.
///
/// # Errors
/// As [`instance`]; it names the instance.
pub(crate) async fn instances(
    catalog: &Catalog,
    settings: &Settings,
    listed: &[InstanceSettings],
    documents: Option<Arc<dyn DocumentStore>>,
    shared: &Shared,
) -> Result<Vec<Instance>> {
    if listed.is_empty() {
        return Ok(vec![instance(catalog, settings, documents, shared).await?]);
    }
    let registry = registry(catalog, settings, documents).await?;
    let mut instances = Vec::new();
    for one in listed {
        let wrapped = |error: Error| Error::new(error.kind, "build a provider", one.id.as_str()).caused_by(error);
        instances.push(listed_instance(catalog, one, registry.clone(), shared).await.map_err(wrapped)?);
    }
    Ok(instances)
}

/// One of the settings file.
///
/// # Errors
/// As [`instance`].
pub(crate) async fn listed_instance(
    catalog: &Catalog,
    one: &InstanceSettings,
    registry: Arc<dyn Registry>,
    shared: &Shared,
) -> Result<Instance> {
    let InstanceSettings { id, settings, chooser, filter } = one;
    let (entry, _) = provider(catalog, settings)?;
    let provider = build(entry, id, settings, shared).await?;
    let bare = Instance::new(id.clone(), provider, registry);
    let (options, webhook) = (options(entry, settings), entry.webhook);
    Ok(Instance { options, webhook, chooser: chooser.clone(), filter: filter.clone(), ..bare })
}

/// The provider that the flags choose, and the id of its instance.
///
/// # Errors
/// It is not in this build.
pub(crate) fn provider<'c>(catalog: &'c Catalog, settings: &Settings) -> Result<(&'c ProviderEntry, InstanceId)> {
    let name = settings.text("provider");
    let entry = catalog.provider(name).ok_or_else(|| wrong(format!("--provider={name} is not available here")))?;
    Ok((entry, InstanceId::from(entry.name)))
}

/// Builds an instance of a provider.
///
/// # Errors
/// As [`instance`].
pub(crate) async fn build(
    entry: &ProviderEntry,
    id: &InstanceId,
    settings: &Settings,
    shared: &Shared,
) -> Result<Arc<dyn Provider>> {
    let config = ProviderConfig {
        instance: id.clone(),
        settings: settings.clone(),
        credentials: std::collections::BTreeMap::new(),
        shared: shared.clone(),
    };
    let provider = (entry.build)(config).await?;
    #[cfg(feature = "kops")]
    let provider = crate::kops::selected(provider, settings, shared)?;
    Ok(provider)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::flags::parse;
    use crate::logging::{Form, subscriber};

    fn settings(more: &[&str]) -> Settings {
        let least = ["--source=service", "--provider=local", "--policy=sync", "--manifests=m"];
        let line = least.iter().chain(more).map(OsString::from);
        parse(&Catalog::built_in(), line, &|_| None).unwrap().settings
    }

    /// The numbers of the page of promises, and what gives those of all zones together.
    #[test]
    fn all_zones_together_have_the_numbers_of_one_where_nothing_else_is_said() {
        let hour = Duration::from_hours(1);
        let usual = brake(&settings(&[])).unwrap();
        assert_eq!(usual, Brake::default());
        assert_eq!((usual.min_deletes, usual.percent, usual.owner_floor), (20, 10, 10));
        assert_eq!((usual.window, usual.approval_ttl, usual.enabled), (hour, hour, true));
        let process = |more: &[&str]| {
            let brake = brake(&settings(more)).unwrap();
            (brake.process_min_deletes, brake.process_percent)
        };
        assert_eq!(process(&[]), (20, 10));
        assert_eq!(process(&["--brake-min-deletes=5", "--brake-percent=2"]), (5, 2));
        let both =
            ["--brake-min-deletes=5", "--brake-percent=2", "--brake-process-min=50", "--brake-process-percent=20"];
        assert_eq!(process(&both), (50, 20));
    }

    #[test]
    fn the_defaults_of_flags_are_those_of_the_page_of_promises() {
        let usual = settings(&[]);
        assert_eq!(engine(&usual).unwrap().status_grace, Duration::from_mins(5));
        assert_eq!(usual.int("max-names-per-annotation"), 1_000);
        assert_eq!((usual.int("max-records-per-namespace"), usual.int("max-records-per-object")), (0, 0), "off");
        assert_eq!(usual.text("journal"), "best-effort");
        let undo = parse(&Catalog::built_in(), ["undo", "--since=30m"].map(OsString::from), &|_| None).unwrap();
        assert_eq!(undo.settings.duration("pin-for"), Duration::from_hours(24));
    }

    #[test]
    fn without_claims_each_start_says_that_all_records_count_as_ours() {
        // Whether a line is of interest to anybody is asked of the thread that says it first, which may be another test's.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        let lines: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (settings, runtime) =
            (settings(&["--registry=noop"]), tokio::runtime::Builder::new_current_thread().build());
        for start in 1..=2 {
            let sink = lines.clone();
            let log = subscriber(Form::Text, "warning", move || Sink(sink.clone()));
            tracing::subscriber::with_default(log, || {
                runtime.as_ref().unwrap().block_on(registry(&Catalog::built_in(), &settings, None)).unwrap();
            });
            let said = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
            let warned = said.lines().filter(|line| {
                line.contains("every record of a managed type inside the filters counts as ours")
                    && line.contains("brake is on")
            });
            assert_eq!(warned.count(), start, "{said}");
        }
    }

    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
