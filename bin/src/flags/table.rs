//! The flags that belong to the program itself, in the order of the help text.
//!
//! Names, types and defaults are those of external-dns where it has the flag; the sentences say what Zonewright does.

use zonewright_core::catalog::FlagKind::{Bool, Choice, ChoiceList, Duration, Int, Int64, List, Regex, Text};
use zonewright_core::catalog::FlagSpec;
use zonewright_engine::journal::Mode;

use super::peer;
use super::set::{Group, Owner};
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
    "Folder in which held plans, approvals and the brake's window survive a restart; empty means a \
     ConfigMap where a cluster is at hand",
);

/// Where the journal is, shared with the command that reads it.
pub(super) const JOURNAL_DIR: FlagSpec = flag(
    "journal-dir",
    Text,
    "Folder of the journal; empty means the folder journal in --state-dir, or ConfigMaps where a cluster is at hand",
);

/// The owner of records, shared with the commands that look for its state.
pub(super) const OWNER_ID: FlagSpec =
    flag("txt-owner-id", Text, "Name of this instance in every claim; two instances never share one").or("default");

/// The cluster, shared with the commands that look for what a daemon keeps there.
pub(super) const KUBECONFIG: FlagSpec =
    flag("kubeconfig", Text, "Path of a kubeconfig; empty: ~/.kube/config if it exists, else the pod's account");

/// The API server, shared with the commands that look for what a daemon keeps there.
pub(super) const SERVER: FlagSpec = flag("server", Text, "URL of the API server in place of the kubeconfig's");

/// A folder of manifests in place of a cluster, shared with the demo.
pub(super) const MANIFESTS: FlagSpec =
    flag("manifests", Text, "Read objects from the YAML and JSON files of this folder, not from a cluster");

/// All groups of this file.
pub(super) const CORE: &[Group] = &[
    Group { heading: "What to run", owner: Owner::Core, flags: RUN },
    Group { heading: "Which names and records", owner: Owner::Core, flags: NAMES },
    Group { heading: "Who gets a name", owner: Owner::Core, flags: CONTENTION },
    Group { heading: "Brake on deletes", owner: Owner::Core, flags: BRAKE },
    Group { heading: "Journal and undo", owner: Owner::Core, flags: JOURNAL },
    Group { heading: "Kubernetes", owner: Owner::Core, flags: KUBE },
    Group { heading: "Registry", owner: Owner::Core, flags: REGISTRY },
    Group { heading: "Logs and metrics", owner: Owner::Core, flags: LOGS },
];

const RUN: &[FlagSpec] = &[
    flag("source", ChoiceList(SOURCES), "Kind of object to read names from; repeatable, required"),
    flag("provider", Choice(peer::PROVIDERS), "Where the zones are; required"),
    flag(
        "policy",
        Choice(POLICIES),
        "What may be done to records: everything, all but deletes, or only creates; required",
    ),
    flag("once", Bool, "Make one pass and exit, with status 4, 1 or 3 if something was not read, not written, or held"),
    flag("dry-run", Bool, "Log what would be done and send no change"),
    flag("interval", Duration, "How often a zone is checked for changes that others made").or("1m0s"),
    flag("provider-cache-time", Duration, "Shortest time between two full listings of a zone").or("0s"),
    flag("events", Bool, "No effect: a change of an object always starts a round at once"),
    flag("min-event-sync-interval", Duration, "No effect: changes gather while a call is in flight").or("5s"),
    flag(
        "start-timeout",
        Duration,
        "How long the first plan waits for kinds that are not listed yet; with --once, how long a failing read is tried again",
    )
    .or("30s"),
    flag("config", Text, "File with the same settings under the names of their flags: .yaml, .toml or .json"),
    STATE_DIR,
    flag("approval-ttl", Duration, "How long the approval of a held plan is valid").or("1h"),
    flag("webhook-server", Bool, "Serve the provider over the webhook protocol and plan nothing"),
];

/// The webhook server; what it shares with the client has the words of the client where that is here.
pub(super) const WEBHOOK_SERVER: &[FlagSpec] = &[
    flag("webhook-server-address", Text, "Address that the webhook server listens at").or("127.0.0.1:8888"),
    flag(
        "webhook-provider-read-timeout",
        Duration,
        "Longest time for the body of a request to the webhook server, and in place of its two other time-outs that are 0",
    )
    .or("5s"),
    flag(
        "webhook-provider-write-timeout",
        Duration,
        "Longest time that the caller of the webhook server may take nothing of an answer",
    )
    .or("10s"),
    flag(
        "webhook-provider-read-header-timeout",
        Duration,
        "Longest time for the head of a request to the webhook server",
    )
    .or("5s"),
    flag("webhook-provider-idle-timeout", Duration, "How long the webhook server keeps an idle connection").or("30s"),
    flag(
        "webhook-provider-max-body-size",
        Int64,
        "Most bytes in the body of a request to the webhook server; 0 or less is no limit",
    )
    .or("33554432"),
];

const NAMES: &[FlagSpec] = &[
    flag("domain-filter", List, "Only names below this suffix; repeatable, commas are not split"),
    flag("exclude-domains", List, "No names below this suffix; repeatable"),
    flag("regex-domain-filter", Regex, "Only names that match; the suffix lists are then not looked at"),
    flag("regex-domain-exclusion", Regex, "No names that match; the suffix lists are then not looked at"),
    flag("managed-record-types", List, "Record types that are planned; repeatable, upper case").or("A,AAAA,CNAME"),
    flag("exclude-record-types", List, "Record types taken off --managed-record-types; repeatable"),
    flag("min-ttl", Duration, "TTL of records whose object states none; needs a unit").or("0s"),
    flag("target-net-filter", List, "Only targets inside this network; repeatable"),
    flag("exclude-target-net", List, "No targets inside this network; repeatable"),
    flag("default-targets", List, "Targets of names that have none of their own; repeatable"),
    flag("force-default-targets", Bool, "Deprecated: put --default-targets in place of all targets"),
    flag("prefer-alias", Bool, "Ask for an alias record where a CNAME is wanted"),
    flag("create-ptr", Bool, "Also write the reverse name of every address; PTR must be a managed type"),
    flag("nat64-networks", List, "Network of 96 bits whose IPv6 targets also give IPv4 ones; repeatable"),
];

const CONTENTION: &[FlagSpec] = &[
    flag(
        "same-name",
        Choice(&["holder", "union"]),
        "Several objects want one name: the one that holds it keeps it, or their targets are joined",
    )
    .or("holder"),
    flag(
        "union-namespaces",
        Choice(&["any", "same"]),
        "Namespaces whose objects may join their targets under one name: any, or that of the name's holder only",
    )
    .or("any"),
    flag(
        "cname-yields",
        Bool,
        "Let a CNAME give way to any other record type wanted at its name, also where its object holds the name",
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
    flag("status-grace", Duration, "How long a name is kept while its object has no address").or("5m"),
    flag("adopt-matching", Bool, "Claim records that nobody claims, where they hold exactly what is wanted"),
];

const BRAKE: &[FlagSpec] = &[
    flag("brake", Bool, "Hold deletes that are more than usual until they are approved").or("true"),
    flag("brake-min-deletes", Int, "Number of deletes in one zone that always pass within the window").or("20"),
    flag("brake-percent", Int, "Maximum percentage of a zone's owned records that may be deleted per window").or("10"),
    flag(
        "brake-process-min",
        Int,
        "Number of deletes in all zones together that always pass within the window; by default as --brake-min-deletes",
    )
    .or("20"),
    flag(
        "brake-process-percent",
        Int,
        "Maximum percentage of the owned records of all zones that may be deleted per window; by default as --brake-percent",
    )
    .or("10"),
    flag("brake-window", Duration, "Length of the window").or("1h"),
    flag("brake-owner-floor", Int, "Hold deletes that would leave nothing to an owner that had this many").or("10"),
];

const JOURNAL: &[FlagSpec] = &[
    flag(
        "journal",
        Choice(Mode::WORDS),
        "What happens where a change cannot be written down before it is sent: it waits, it is sent all the same, \
         or nothing is ever written down",
    )
    .or("best-effort"),
    JOURNAL_DIR,
    flag("journal-file-size", Int, "Size at which a file of the journal is followed by the next, in MiB").or("8"),
    flag("journal-files", Int, "So many files of the journal are kept").or("10"),
];

const KUBE: &[FlagSpec] = &[
    MANIFESTS,
    KUBECONFIG,
    SERVER,
    flag("kube-api-request-timeout", Duration, "Longest time for a request to the API server; 0: no limit").or("30s"),
    flag("kube-api-qps", Int, "Requests to the API server per second").or("5"),
    flag("kube-api-burst", Int, "Requests to the API server that may go at once").or("10"),
    flag("request-timeout", Duration, "Deprecated: use --kube-api-request-timeout").or("30s"),
];

const REGISTRY: &[FlagSpec] =
    &[flag("registry", Choice(peer::REGISTRIES), "Where it is written which records are ours").or("txt"), OWNER_ID];

const LOGS: &[FlagSpec] = &[
    flag("log-format", Choice(&["text", "json"]), "Form of log lines").or("text"),
    flag("log-level", Choice(LOG_LEVELS), "Least level of log lines").or("info"),
    flag("metrics-address", Text, "Address for /metrics, /healthz and /readyz").or(":7979"),
];
