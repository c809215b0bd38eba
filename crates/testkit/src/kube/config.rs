//! The files and flags that an API server is started with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::User;

/// The flags that are the same for every server.
pub(super) const API_FLAGS: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--service-cluster-ip-range=10.0.0.0/16,fd00:10::/108",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--authorization-mode=RBAC",
    // There is no controller that would make the service accounts which this plugin asks for.
    "--disable-admission-plugins=ServiceAccount",
    "--endpoint-reconciler-type=none",
    // Only the tests compact.
    "--etcd-compaction-interval=0",
    "--profiling=false",
];

/// What no program under test reads, by API group. Each watch cache costs something at every start, and has a clock that
/// ticks; the API server answers for these as well, from etcd.
const UNCACHED: &[(&str, &[&str])] = &[
    ("apps", &["deployments", "daemonsets", "replicasets", "statefulsets", "controllerrevisions"]),
    ("batch", &["jobs", "cronjobs"]),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("certificates.k8s.io", &["certificatesigningrequests"]),
    (
        "",
        &[
            "limitranges",
            "resourcequotas",
            "persistentvolumes",
            "persistentvolumeclaims",
            "podtemplates",
            "replicationcontrollers",
            "serviceaccounts",
        ],
    ),
    ("networking.k8s.io", &["ingressclasses", "networkpolicies", "ipaddresses", "servicecidrs"]),
    ("policy", &["poddisruptionbudgets"]),
    ("rbac.authorization.k8s.io", &["roles", "rolebindings", "clusterroles", "clusterrolebindings"]),
    ("scheduling.k8s.io", &["priorityclasses"]),
    (
        "storage.k8s.io",
        &[
            "csidrivers",
            "csinodes",
            "csistoragecapacities",
            "storageclasses",
            "volumeattachments",
            "volumeattributesclasses",
        ],
    ),
    ("flowcontrol.apiserver.k8s.io", &["flowschemas", "prioritylevelconfigurations"]),
    (
        "admissionregistration.k8s.io",
        &[
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ],
    ),
    ("node.k8s.io", &["runtimeclasses"]),
    ("resource.k8s.io", &["deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"]),
];

/// The flag for what is [`UNCACHED`].
pub(super) fn uncached() -> String {
    let of_group = |(group, plurals): &(&str, &[&str])| {
        let dot = if group.is_empty() { "" } else { "." };
        plurals.iter().map(|plural| format!("{plural}{dot}{group}#0")).collect::<Vec<_>>()
    };
    format!("--watch-cache-sizes={}", UNCACHED.iter().flat_map(of_group).collect::<Vec<_>>().join(","))
}

/// `--token-auth-file`: token, name, uid, groups.
pub(super) fn tokens() -> String {
    let line = |user: User| format!("{},{},{}-uid,\"{}\"\n", user.token(), user.name(), user.name(), user.groups());
    User::ALL.into_iter().map(line).collect()
}

/// Everything at level Metadata; a request is logged when it is answered, a watch also when it begins.
pub(super) fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{ "level": "Metadata" }],
    })
}

/// A kubeconfig as JSON, which is YAML too.
pub(super) fn kubeconfig(url: &str, ca_pem: &str, user: User) -> Value {
    let cluster = json!({ "server": url, "certificate-authority-data": STANDARD.encode(ca_pem) });
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "test", "cluster": cluster }],
        "users": [{ "name": user.name(), "user": { "token": user.token() } }],
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": user.name(), "namespace": "default" } }],
        "current-context": "test",
    })
}
