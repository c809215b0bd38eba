//! The flags that belong to the program itself, in the order of the help text.
//!
//! Names, types and defaults are those of external-dns where it has the flag; the sentences say what Zonewright does.

use zonewright_core::catalog::FlagKind::{Bool, Choice, ChoiceList, Duration, Int, Int64, List, Regex, Text};
use zonewright_core::catalog::FlagSpec;
use zonewright_engine::journal::Mode;

use super::owner::{FlagGroup, FlagOwner};
use super::peer;
use super::sources::SOURCES;

/// Values of `--policy` that say something.
pub(super) const POLICIES: &[&str] = &["", "sync", "upsert-only", "create-only"];

const LOG_LEVELS: &[&str] = &["panic", "fatal", "error", "warning", "info", "debug", "trace"];

const fn flag(name: &'static str, kind: zonewright_core::catalog::FlagKind, help: &'static str) -> FlagSpec {
    FlagSpec::new(name, kind, help)
}

/// Where the plan of a run is kept and which records are ours: shared with the commands that read it.
pub(super) const STATE_DIR: FlagSpec = flag(
    "state-dir",
    Text,
    "Folder for held plans, approvals and the brake's window; empty: a ConfigMap if a cluster is available",
);

/// Where the journal is, shared with the command that reads it.
pub(super) const JOURNAL_DIR: FlagSpec = flag(
    "journal-dir",
    Text,
    "Folder of the journal; empty: the folder journal in --state-dir, or ConfigMaps if a cluster is available",
);

/// The owner of records, shared with the commands that look for its state.
pub(super) const OWNER_ID: FlagSpec =
    flag("txt-owner-id", Text, "Owner id in claims; must differ between instances").or("default");

/// The cluster, shared with the commands that look for what a daemon keeps there.
pub(super) const KUBECONFIG: FlagSpec = flag(
    "kubeconfig",
    Text,
    "Path of the kubeconfig; empty: what KUBECONFIG lists, else ~/.kube/config if it exists, else the pod's service account",
);

/// The API server, shared with the commands that look for what a daemon keeps there.
pub(super) const SERVER: FlagSpec = flag("server", Text, "URL of the API server; overrides the kubeconfig");

/// A folder of manifests in place of a cluster, shared with the demo.
pub(super) const MANIFESTS: FlagSpec =
    flag("manifests", Text, "Read objects from the YAML and JSON files in this folder instead of a cluster");

/// All groups of this file.
pub(super) const CORE: &[FlagGroup] = &[
    FlagGroup { heading: "General", owner: FlagOwner::Core, flags: RUN },
    FlagGroup { heading: "Names and records", owner: FlagOwner::Core, flags: NAMES },
    FlagGroup { heading: "Name conflicts", owner: FlagOwner::Core, flags: CONTENTION },
    FlagGroup { heading: "Brake on deletes", owner: FlagOwner::Core, flags: BRAKE },
    FlagGroup { heading: "Journal and undo", owner: FlagOwner::Core, flags: JOURNAL },
    FlagGroup { heading: "Kubernetes", owner: FlagOwner::Core, flags: KUBE },
    FlagGroup { heading: "Registry", owner: FlagOwner::Core, flags: REGISTRY },
    FlagGroup { heading: "Logs and metrics", owner: FlagOwner::Core, flags: LOGS },
];

const RUN: &[FlagSpec] = &[
    flag("source", ChoiceList(SOURCES), "Source of names: a kind of object; repeatable, required"),
    flag("provider", Choice(peer::PROVIDERS), "DNS provider; required"),
    flag(
        "policy",
        Choice(POLICIES),
        "Changes to allow: all, all but deletes, or creates only; required",
    ),
    flag("once", Bool, "Run one pass and exit; status 4: not read, 1: not written, 3: deletes are held"),
    flag("dry-run", Bool, "Log changes without sending them"),
    flag("interval", Duration, "Interval between checks of a zone for changes by other writers").or("1m0s"),
    flag("provider-cache-time", Duration, "Minimum time between two full listings of a zone").or("0s"),
    flag("events", Bool, "No effect: a change of an object always starts a round at once"),
    flag("min-event-sync-interval", Duration, "No effect: changes gather while a call is in flight").or("5s"),
    flag(
        "start-timeout",
        Duration,
        "Maximum time that the first plan waits for kinds to be listed; with --once, how long failing reads are retried",
    )
    .or("30s"),
    flag("config", Text, "Settings file with flag names as keys: .yaml, .toml or .json"),
    STATE_DIR,
    flag("approval-ttl", Duration, "Lifetime of an approval of a held plan").or("1h"),
    flag("webhook-server", Bool, "Serve the provider over the webhook protocol instead of planning changes"),
];

/// The webhook server; what it shares with the client has the words of the client where that is here.
pub(super) const WEBHOOK_SERVER: &[FlagSpec] = &[
    flag("webhook-server-address", Text, "Listen address of the webhook server").or("127.0.0.1:8888"),
    flag(
        "webhook-provider-read-timeout",
        Duration,
        "Webhook server: maximum time to read a request body; replaces the other two time-outs where they are 0",
    )
    .or("5s"),
    flag(
        "webhook-provider-write-timeout",
        Duration,
        "Webhook server: maximum time to write a response without progress",
    )
    .or("10s"),
    flag("webhook-provider-read-header-timeout", Duration, "Webhook server: maximum time to read request headers")
        .or("5s"),
    flag("webhook-provider-idle-timeout", Duration, "Webhook server: maximum time that a connection may be idle")
        .or("30s"),
    flag(
        "webhook-provider-max-body-size",
        Int64,
        "Webhook server: maximum size of a request body in bytes; 0 or less: no limit",
    )
    .or("33554432"),
];

const NAMES: &[FlagSpec] = &[
    flag("domain-filter", List, "Include names below this suffix; repeatable, commas are not split"),
    flag("exclude-domains", List, "Exclude names below this suffix; repeatable"),
    flag("regex-domain-filter", Regex, "Include names that match; the suffix lists are then ignored"),
    flag("regex-domain-exclusion", Regex, "Exclude names that match; the suffix lists are then ignored"),
    flag("managed-record-types", List, "Record types to manage; repeatable, upper case").or("A,AAAA,CNAME"),
    flag("exclude-record-types", List, "Record types to remove from --managed-record-types; repeatable"),
    flag("min-ttl", Duration, "TTL of records whose object sets none; needs a unit").or("0s"),
    flag("target-net-filter", List, "Include targets inside this network; repeatable"),
    flag("exclude-target-net", List, "Exclude targets inside this network; repeatable"),
    flag("default-targets", List, "Targets of names without targets of their own; repeatable"),
    flag("force-default-targets", Bool, "Deprecated: replace all targets by --default-targets"),
    flag("prefer-alias", Bool, "Request an alias record instead of a CNAME"),
    flag("create-ptr", Bool, "Create PTR records for all addresses; PTR must be a managed type"),
    flag("nat64-networks", List, "NAT64 prefix (/96) whose IPv6 targets are also published as IPv4; repeatable"),
];

const CONTENTION: &[FlagSpec] = &[
    flag(
        "same-name",
        Choice(&["holder", "union"]),
        "If several objects request one name: the holder keeps it, or their targets are merged",
    )
    .or("holder"),
    flag(
        "union-namespaces",
        Choice(&["any", "same"]),
        "Namespaces whose objects may merge targets under one name: any, or only that of the name's holder",
    )
    .or("any"),
    flag(
        "cname-yields",
        Bool,
        "Replace a CNAME by any other record type requested at its name, even if its object holds the name",
    ),
    flag(
        "max-records-per-namespace",
        Int,
        "Maximum number of records that the objects of one namespace may have; published ones always stay; 0: no limit",
    )
    .or("0"),
    flag(
        "max-records-per-object",
        Int,
        "Maximum number of records that one object may have; published ones always stay; 0: no limit",
    )
    .or("0"),
    flag("status-grace", Duration, "Time for which a name is kept while its object has no address").or("5m"),
    flag("adopt-matching", Bool, "Claim unowned records that equal the desired records"),
];

const BRAKE: &[FlagSpec] = &[
    flag("brake", Bool, "Hold unusually many deletes until they are approved").or("true"),
    flag("brake-min-deletes", Int, "Number of deletes per zone and window that always pass").or("20"),
    flag("brake-percent", Int, "Maximum percentage of a zone's owned records that may be deleted per window").or("10"),
    flag(
        "brake-process-min",
        Int,
        "Number of deletes in all zones per window that always pass; default: --brake-min-deletes",
    )
    .or("20"),
    flag(
        "brake-process-percent",
        Int,
        "Maximum percentage of the owned records of all zones that may be deleted per window; default: --brake-percent",
    )
    .or("10"),
    flag("brake-window", Duration, "Length of the brake's window").or("1h"),
    flag("brake-owner-floor", Int, "Hold deletes that would leave an owner without records if it had this many")
        .or("10"),
];

const JOURNAL: &[FlagSpec] = &[
    flag(
        "journal",
        Choice(Mode::WORDS),
        "Journal mode: changes wait until they are journaled, are sent even if that fails, or are never journaled",
    )
    .or("best-effort"),
    JOURNAL_DIR,
    flag("journal-file-size", Int, "Maximum size of a journal file in MiB").or("8"),
    flag("journal-files", Int, "Number of journal files to keep").or("10"),
];

const KUBE: &[FlagSpec] = &[
    MANIFESTS,
    KUBECONFIG,
    SERVER,
    flag("kube-api-request-timeout", Duration, "Time-out of requests to the API server; 0: no limit").or("30s"),
    flag("kube-api-qps", Int, "Maximum requests to the API server per second, without watches and events").or("5"),
    flag("kube-api-burst", Int, "Maximum burst of requests to the API server").or("10"),
    flag("request-timeout", Duration, "Deprecated: use --kube-api-request-timeout").or("30s"),
];

const REGISTRY: &[FlagSpec] = &[
    flag("registry", Choice(peer::REGISTRIES), "Registry: where the ownership of records is stored").or("txt"),
    OWNER_ID,
];

/// How log lines look, shared with the extension controller of Gardener.
pub(super) const LOG_FORMAT: FlagSpec = flag("log-format", Choice(&["text", "json"]), "Log format").or("text");

/// Which events are logged, likewise.
pub(super) const LOG_LEVEL: FlagSpec = flag("log-level", Choice(LOG_LEVELS), "Minimum log level").or("info");

const LOGS: &[FlagSpec] = &[
    LOG_FORMAT,
    LOG_LEVEL,
    flag("metrics-address", Text, "Listen address for /metrics, /healthz and /readyz").or(":7979"),
];
