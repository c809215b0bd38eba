//! The flags of dns-controller, in the order of the help text, and what is ours beside them.

use zonewright_core::catalog::FlagKind::{Bool, Int, List, Secret, Text};
use zonewright_core::catalog::{FlagKind, FlagSpec};

/// The name of the command.
pub(in crate::flags) const WORD: &str = "kops";

/// What it does, in one line.
pub(in crate::flags) const ABOUT: &str = "Run in place of kops' dns-controller, with its flags";

const fn flag(name: &'static str, kind: FlagKind, help: &'static str) -> FlagSpec {
    FlagSpec::new(name, kind, help)
}

const fn unused(name: &'static str, kind: FlagKind) -> FlagSpec {
    FlagSpec::new(name, kind, "No effect: accepted as dns-controller accepts it")
}

/// All of them. Environment variables are not read for these.
pub(in crate::flags) const FLAGS: &[FlagSpec] = &[
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
        "Seconds between checks of a zone for changes by other writers; 0: 60; changes of objects go at once",
    )
    .or("0"),
    flag("route53-batch-size", Int, "Maximum number of changes in one batch at Route 53; 0: the provider's default")
        .or("0"),
    flag("metrics-listen", Text, "Listen address for /metrics, /healthz and /readyz; empty: none"),
    flag(
        "adopt-unowned",
        Bool,
        "Claim unowned records whose values are those that are wanted, as dns-controller wrote them, and kops' placeholders",
    ),
    flag(
        "kops-cname",
        Bool,
        "Publish host names of load balancers as CNAMEs, also where the provider has alias records",
    ),
    flag("kops-external-ipv6", Bool, "An internal IPv6 address of a node is an external one, too").or("true"),
    flag("v", Int, "Verbosity (-v) as klog has it: up to 3 is info, 4 and 5 debug, above that trace").or("0"),
    flag("context", Text, "Context of the kubeconfig in place of its current one"),
    flag("cluster", Text, "Cluster of the kubeconfig in place of the context's"),
    flag("user", Text, "User of the kubeconfig in place of the context's"),
    flag("token", Secret, "Bearer token for the API server"),
    flag("username", Text, "User name for the API server"),
    flag("password", Secret, "Password for the API server"),
    flag("client-certificate", Text, "File with a client certificate for the API server"),
    flag("client-key", Text, "File with the key of that certificate"),
    flag("certificate-authority", Text, "File with the authority of the API server's certificate"),
    flag("insecure-skip-tls-verify", Bool, "Do not verify the API server's certificate"),
    flag("tls-server-name", Text, "Name in the API server's certificate"),
    flag("proxy-url", Text, "Proxy for requests to the API server"),
    flag("disable-compression", Bool, "Do not ask the API server for compressed answers"),
    flag("as", Text, "User to impersonate at the API server"),
    flag("as-uid", Text, "UID to impersonate"),
    flag("as-group", List, "Group to impersonate; repeatable, with commas"),
    flag("as-user-extra", List, "Further attribute of who is impersonated, as KEY=VALUE; repeatable"),
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

/// The flags that every Kubernetes client has, whose values the connection takes.
pub(in crate::flags) const CLIENT: &[&str] = &[
    "context",
    "cluster",
    "user",
    "token",
    "username",
    "password",
    "client-certificate",
    "client-key",
    "certificate-authority",
    "insecure-skip-tls-verify",
    "tls-server-name",
    "proxy-url",
    "disable-compression",
    "as",
    "as-uid",
    "as-group",
    "as-user-extra",
];

/// One letter for a flag.
pub(super) const SHORT: &[(char, &str)] = &[('z', "zone"), ('v', "v"), ('s', "server"), ('n', "namespace")];
