//! The flags of dns-controller, in the order of the help text, and what is ours beside them.

use zonewright_core::catalog::FlagKind::{Bool, Int, List, Text};
use zonewright_core::catalog::{FlagKind, FlagSpec};

const fn flag(name: &'static str, kind: FlagKind, help: &'static str) -> FlagSpec {
    FlagSpec::new(name, kind, help)
}

const fn unused(name: &'static str, kind: FlagKind) -> FlagSpec {
    FlagSpec::new(name, kind, "No effect: accepted as dns-controller accepts it")
}

/// All of them. Environment variables are not read for these.
pub(super) const FLAGS: &[FlagSpec] = &[
    flag("dns", Text, "DNS provider: aws-route53, google-clouddns, or any value of --provider").or("aws-route53"),
    flag("zone", List, "Zones to manage (-z): NAME, NAME/ID, */ID or *; repeatable, with commas; none: every zone"),
    flag("zones", List, "The same as --zone"),
    flag("watch-ingress", Bool, "Publish the hosts of Ingresses").or("true"),
    flag("watch-namespace", Text, "Read Pods, Services and Ingresses in this namespace only"),
    flag("internal-ipv4", Bool, "The internal network has IPv4; one of the two is required"),
    flag("internal-ipv6", Bool, "The internal network has IPv6; one of the two is required"),
    flag(
        "update-interval",
        Int,
        "Seconds between checks of a zone for changes by other writers; changes of objects go at once",
    )
    .or("0"),
    flag("route53-batch-size", Int, "Maximum number of changes in one batch at Route 53; 0: the provider's default")
        .or("0"),
    flag("metrics-listen", Text, "Listen address for /metrics, /healthz and /readyz; empty: none"),
    flag(
        "adopt-unowned",
        Bool,
        "Claim unowned records whose values are those that are wanted: what dns-controller wrote",
    ),
    flag(
        "kops-cname",
        Bool,
        "Publish host names of load balancers as CNAMEs, also where the provider has alias records",
    ),
    flag("kops-external-ipv6", Bool, "An internal IPv6 address of a node is an external one, too").or("true"),
    flag("v", Int, "Verbosity (-v) as klog has it: up to 3 is info, 4 and 5 debug, above that trace").or("0"),
    unused("dns-server", Text),
    unused("namespace", Text),
    unused("add-dir-header", Bool),
    unused("alsologtostderr", Bool),
    unused("legacy-stderr-threshold-behavior", Bool),
    unused("log-backtrace-at", Text),
    unused("log-dir", Text),
    unused("log-file", Text),
    unused("log-file-max-size", Int),
    unused("log-flush-frequency", Text),
    unused("logtostderr", Bool),
    unused("one-output", Bool),
    unused("skip-headers", Bool),
    unused("skip-log-headers", Bool),
    unused("stderrthreshold", Text),
    unused("vmodule", Text),
];

/// One letter for a flag.
pub(super) const SHORT: &[(char, &str)] = &[('z', "zone"), ('v', "v"), ('s', "server"), ('n', "namespace")];

/// Flags of a Kubernetes client that say how to prove who one is. A kubeconfig says so here.
pub(super) const CREDENTIALS: &[&str] = &[
    "as",
    "as-group",
    "as-uid",
    "as-user-extra",
    "certificate-authority",
    "client-certificate",
    "client-key",
    "cluster",
    "context",
    "disable-compression",
    "insecure-skip-tls-verify",
    "password",
    "proxy-url",
    "tls-server-name",
    "token",
    "user",
    "username",
];
