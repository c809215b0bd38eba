//! The chart and the kustomizations, applied to the API server as Helm and kustomize render them. The daemon is run with exactly the
//! pod's arguments and environment, as exactly its service account: its token, made by the API server, is all that it is given.
//!
//! What must hold: names are published, and the API server refuses the account nothing.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::render::{self, Chart, Rendered};
use zonewright_testkit::{KubeApi, require, tools};

use crate::cluster::{HOSTNAME, Space, TARGET};
use crate::daemon::{CommandLine, Daemon};
use crate::pod::{HELD, mounts};
use crate::site::{OWNER, Site, ZONE};
use crate::{LATER, until};

/// The kinds that are applied: API, plural, and whether they live in namespaces.
const KINDS: &[(&str, &str, &str, bool)] = &[
    ("Namespace", "/api/v1", "namespaces", false),
    ("ServiceAccount", "/api/v1", "serviceaccounts", true),
    ("Service", "/api/v1", "services", true),
    ("Secret", "/api/v1", "secrets", true),
    ("ConfigMap", "/api/v1", "configmaps", true),
    ("Deployment", "/apis/apps/v1", "deployments", true),
    ("NetworkPolicy", "/apis/networking.k8s.io/v1", "networkpolicies", true),
    ("PodDisruptionBudget", "/apis/policy/v1", "poddisruptionbudgets", true),
    ("ClusterRole", "/apis/rbac.authorization.k8s.io/v1", "clusterroles", false),
    ("ClusterRoleBinding", "/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", false),
    ("Role", "/apis/rbac.authorization.k8s.io/v1", "roles", true),
    ("RoleBinding", "/apis/rbac.authorization.k8s.io/v1", "rolebindings", true),
];

/// The name of every pod.
const POD: &str = "zonewright-0";

/// A field of an object that is text.
#[track_caller]
fn text<'o>(object: &'o Value, pointer: &str) -> &'o str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} in {object}"))
}

/// An API server with what was rendered, in that order.
#[track_caller]
fn apply(kube: &KubeApi, rendered: &Rendered) {
    for object in &rendered.objects {
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        if kind == "CustomResourceDefinition" {
            kube.apply_crd(name, &object.to_string());
            continue;
        }
        let (_, api, plural, namespaced) =
            KINDS.iter().find(|(known, ..)| *known == kind).unwrap_or_else(|| panic!("a {kind} is applied"));
        let path = match namespaced {
            true => format!("{api}/namespaces/{}/{plural}/{name}", text(object, "/metadata/namespace")),
            false => format!("{api}/{plural}/{name}"),
        };
        kube.apply(&path, &object.to_string()).expect_success();
    }
}

#[track_caller]
fn namespace(kube: &KubeApi, name: &str) {
    kube.post("/api/v1/namespaces", &json!({ "metadata": { "name": name } })).expect_success();
}

/// The pod of what was rendered, with the account's folder.
struct Pod {
    account: String,
    namespace: String,
    line: CommandLine,
    _folder: TempDir,
}

/// A command line with the arguments and the environment of a container, in a pod of this namespace.
#[track_caller]
fn started(container: &Value, namespace: &str, line: CommandLine) -> CommandLine {
    let arguments = container["args"].as_array().into_iter().flatten();
    let line = arguments.fold(line, |line, argument| line.arg(argument.as_str().expect("an argument is text")));
    let environment = container["env"].as_array().into_iter().flatten();
    environment.fold(line, |line, variable| {
        let field = variable.pointer("/valueFrom/fieldRef/fieldPath").and_then(Value::as_str);
        let value = match field {
            Some("metadata.namespace") => namespace,
            Some("metadata.name") => POD,
            Some("metadata.uid") => "11111111-2222-3333-4444-555555555555",
            Some(other) => panic!("the kubelet knows {other}, this test does not"),
            None => variable["value"].as_str().unwrap_or_default(),
        };
        line.env(text(variable, "/name"), value)
    })
}

impl Pod {
    /// The command line of the first container, as the kubelet would make it.
    #[track_caller]
    fn of(kube: &KubeApi, rendered: &Rendered) -> Self {
        let deployment = rendered.only("Deployment");
        let namespace = text(deployment, "/metadata/namespace").to_owned();
        let pod = &deployment["spec"]["template"]["spec"];
        let account = text(pod, "/serviceAccountName").to_owned();
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        let answer = kube.post(&path, &request).expect_success();
        let folder = tempfile::tempdir().expect("a folder");
        let token = text(&answer, "/status/token");
        let line = CommandLine::default().with_account(kube, folder.path(), token, &namespace);

        let line = started(&pod["containers"][0], &namespace, line);
        Self { account, namespace, line, _folder: folder }
    }

    /// What the account was refused; and that it did ask for something.
    #[track_caller]
    fn was_refused_nothing(&self, kube: &KubeApi, daemon: &Daemon) {
        let user = format!("system:serviceaccount:{}:{}", self.namespace, self.account);
        let requests: Vec<Value> =
            kube.audit_log().into_iter().filter(|event| event["user"]["username"] == *user).collect();
        assert!(requests.len() > 5, "{} requests of {user}: {}", requests.len(), daemon.log());
        let refused: Vec<&Value> = requests.iter().filter(|event| event["responseStatus"]["code"] == 403).collect();
        assert!(refused.is_empty(), "{refused:#?}");
    }
}

/// Values for the site's server.
fn values(site: &Site) -> Value {
    json!({
        "image": { "repository": "registry.example.com/zonewright" },
        "provider": { "name": "rfc2136" },
        "policy": "sync",
        "txtOwnerId": OWNER,
        "domainFilters": [ZONE],
        "env": [{ "name": "EXTERNAL_DNS_RFC2136_TSIG_SECRET", "value": site.key.secret }],
        "extraArgs": {
            "rfc2136-host": "127.0.0.1",
            "rfc2136-port": site.dns.addr().port(),
            "rfc2136-zone": [ZONE],
            "rfc2136-tsig-keyname": site.key.name,
            "rfc2136-tsig-secret-alg": "hmac-sha256",
            "metrics-address": "127.0.0.1:0",
        },
    })
}

#[track_caller]
fn helm(values: &Value, namespace: &str) -> Rendered {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/chart");
    let chart = Chart { folder: &folder, release: "zonewright", namespace };
    chart.render(values).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether a test can be run as a pod.
fn possible(test: &str) -> bool {
    if !mounts() {
        tools::tell(test, "the kernel lets nobody make mount namespaces");
    }
    mounts()
}

#[test]
fn the_chart_publishes_names_as_its_service_account() {
    require!(KubeApi::TOOLS, Bind.tools(), render::TOOLS);
    if !possible("chart::the_chart_publishes_names") {
        return;
    }
    let (kube, site) = (KubeApi::start(), Site::start(Bind));
    let mut values = values(&site);
    values["sources"] = json!(["service", "ingress", "crd", "node", "pod"]);
    for optional in ["networkPolicy", "podDisruptionBudget", "dashboard", "secretConfiguration"] {
        values[optional] = json!({ "enabled": true });
    }
    values["secretConfiguration"]["data"] = json!({ "key": "value" });
    let rendered = helm(&values, "dns");
    namespace(&kube, "dns");
    apply(&kube, &rendered);
    let pod = Pod::of(&kube, &rendered);
    let daemon = pod.line.start();
    daemon.ready();

    let space = Space::new(&kube);
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.7"]);
    space.ingress("shop", &format!("shop.{ZONE}"), "192.0.2.8");
    let wanted =
        json!([{ "dnsName": format!("crd.{ZONE}"), "recordType": "A", "targets": ["192.0.2.9"], "recordTTL": 60 }]);
    space.create("dnsendpoints.externaldns.k8s.io", "own", &[], json!({ "spec": { "endpoints": wanted } }));
    site.shows(&["crd 60 A 192.0.2.9", "shop 0 A 192.0.2.8", "web 0 A 192.0.2.7"]);
    until("the status of the DNSEndpoint", LATER, || {
        let path = format!("{}/own", space.path("dnsendpoints.externaldns.k8s.io"));
        kube.get(&path).expect_success()["status"]["observedGeneration"] == 1
    });
    space.expect_event("web", "RecordReady", &[]);

    space.delete("services", "web");
    site.shows(&["crd 60 A 192.0.2.9", "shop 0 A 192.0.2.8"]);
    until("state and journal in the namespace of the release", LATER, || {
        let list = kube.get("/api/v1/namespaces/dns/configmaps").expect_success().to_string();
        list.contains(&format!("\"zonewright-{OWNER}\"")) && list.contains(&format!("\"zonewright-{OWNER}-journal-"))
    });
    pod.was_refused_nothing(&kube, &daemon);
    assert!(daemon.terminate().status.success());
}

#[test]
fn the_chart_in_one_namespace_needs_no_right_elsewhere() {
    require!(KubeApi::TOOLS, Bind.tools(), render::TOOLS);
    if !possible("chart::the_chart_in_one_namespace") {
        return;
    }
    let (kube, site) = (KubeApi::start(), Site::start(Bind));
    let (space, other) = (Space::new(&kube), Space::new(&kube));
    let mut values = values(&site);
    values["namespaced"] = json!(true);
    values["sourceNamespace"] = json!(space.name);
    values["registry"] = json!("configmap");
    values["extraArgs"]["service-type-filter"] = json!(["LoadBalancer"]);
    let rendered = helm(&values, "dns");
    assert_eq!(rendered.of("ClusterRole").count(), 0);
    namespace(&kube, "dns");
    apply(&kube, &rendered);
    let pod = Pod::of(&kube, &rendered);
    let daemon = pod.line.start();
    daemon.ready();
    other.balancer("elsewhere", &format!("elsewhere.{ZONE}"), &["192.0.2.6"]);
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.7"]);
    site.shows(&["web 0 A 192.0.2.7"]);
    until("claims in the namespace of the release", LATER, || {
        let list = kube.get("/api/v1/namespaces/dns/configmaps").expect_success().to_string();
        list.contains(&format!("\"{OWNER}-registry"))
    });
    space.expect_event("web", "RecordReady", &[]);

    // What is held is reported on the pod, in its own namespace.
    for n in 0..12 {
        space.balancer(&format!("s{n}"), &format!("s{n}.{ZONE}"), &["192.0.2.7"]);
    }
    until("thirteen names", LATER, || site.ours().len() == 13);
    assert!(daemon.terminate().status.success());
    let daemon = pod.line.clone().arg("--label-filter=team=nobody").start();
    daemon.measures_within(HELD, 13.0, LATER);
    until("an event on the pod", LATER, || {
        let list = kube.get("/apis/events.k8s.io/v1/namespaces/dns/events").expect_success();
        list["items"].as_array().is_some_and(|events| events.iter().any(|event| event["regarding"]["name"] == POD))
    });
    pod.was_refused_nothing(&kube, &daemon);
}

/// The webhook provider in the pod is our own program as such a server, in front of BIND.
#[cfg(feature = "webhook-server")]
#[test]
fn the_chart_runs_a_webhook_provider_beside_the_daemon() {
    require!(KubeApi::TOOLS, Bind.tools(), render::TOOLS);
    if !possible("chart::the_chart_runs_a_webhook_provider") {
        return;
    }
    let (kube, site) = (KubeApi::start(), Site::start(Bind));
    let mut values = values(&site);
    let address = format!("127.0.0.1:{}", zonewright_testkit::free_port());
    let of_server = values["extraArgs"].as_object().expect("arguments").clone();
    let of_server = of_server.iter().filter(|(flag, _)| *flag != "rfc2136-zone");
    let mut arguments: Vec<String> =
        of_server.map(|(flag, value)| format!("--{flag}={}", value.to_string().trim_matches('"'))).collect();
    let more = ["--provider=rfc2136", "--webhook-server", &format!("--rfc2136-zone={ZONE}")].map(str::to_owned);
    arguments.extend(more.into_iter().chain([format!("--webhook-server-address={address}")]));
    values["provider"] = json!({ "name": "webhook", "webhook": {
        "image": { "repository": "registry.example.com/zonewright", "tag": "0.1.0" },
        "args": arguments, "env": values["env"] } });
    values["env"] = json!([]);
    values["extraArgs"] =
        json!({ "webhook-provider-url": format!("http://{address}"), "metrics-address": "127.0.0.1:0" });
    let rendered = helm(&values, "dns");
    namespace(&kube, "dns");
    apply(&kube, &rendered);
    let sidecar = &rendered.only("Deployment")["spec"]["template"]["spec"]["containers"][1];
    let server = started(sidecar, "dns", CommandLine::default()).start();
    server.says(&["serving the provider over the webhook protocol"]);
    let pod = Pod::of(&kube, &rendered);
    let daemon = pod.line.start();
    daemon.ready();
    let space = Space::new(&kube);
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.7"]);
    site.shows(&["web 0 A 192.0.2.7"]);
    pod.was_refused_nothing(&kube, &daemon);
}

#[test]
fn the_kustomizations_publish_names_as_their_service_account() {
    require!(KubeApi::TOOLS, Bind.tools(), render::TOOLS);
    if !possible("chart::the_kustomizations_publish_names") {
        return;
    }
    let (kube, site) = (KubeApi::start(), Site::start(Bind));
    namespace(&kube, "shop");
    // The last one is run with the roles of no other: each overlay has rights that the next one lacks.
    for (number, overlay) in ["webhook", "rfc2136", "one-namespace"].into_iter().enumerate() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kustomize").join(overlay);
        let rendered = render::kustomization(&folder).unwrap_or_else(|error| panic!("{overlay}: {error}"));
        if overlay == "one-namespace" {
            for plural in ["clusterroles", "clusterrolebindings"] {
                kube.delete(&format!("/apis/rbac.authorization.k8s.io/v1/{plural}/zonewright")).expect_success();
            }
        }
        apply(&kube, &rendered);
        if overlay == "webhook" {
            continue;
        }
        let pod = Pod::of(&kube, &rendered);
        // The server of the test in the place of the sample's, and a log that tests can read.
        let line = ["--rfc2136-", "--domain-filter", "--txt-owner-id", "--log-format"]
            .into_iter()
            .fold(pod.line.clone(), CommandLine::without);
        let daemon = site.provider_of(line).start();
        daemon.ready();
        let service = json!({ "metadata": { "name": overlay, "annotations": {
            (HOSTNAME): format!("{overlay}.{ZONE}"), (TARGET): format!("192.0.2.{number}") } },
            "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } });
        kube.post("/api/v1/namespaces/shop/services", &service).expect_success();
        until("the name of the overlay", LATER, || site.dig(overlay, "A") == [format!("192.0.2.{number}")]);
        pod.was_refused_nothing(&kube, &daemon);
    }
}

/// The pods are made as the Deployments would make them, in a namespace that enforces the strictest of the pod security standards.
#[test]
fn pods_are_let_into_a_namespace_that_restricts_them() {
    require!(KubeApi::TOOLS, render::TOOLS);
    let kube = KubeApi::start();
    let strict = json!({ "metadata": { "name": "strict", "labels": {
        "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest" } } });
    kube.post("/api/v1/namespaces", &strict).expect_success();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kustomize");
    let overlays = ["webhook", "rfc2136", "one-namespace"].map(|overlay| render::kustomization(&folder.join(overlay)));
    let webhook = json!({ "image": { "repository": "registry.example.com/webhook", "tag": "0.1.0" } });
    let chart = helm(&json!({ "provider": { "name": "webhook", "webhook": webhook } }), "strict");
    let pods = "/api/v1/namespaces/strict/pods?dryRun=All";
    for rendered in overlays.into_iter().map(|overlay| overlay.expect("it is built")).chain([chart]) {
        let mut pod = rendered.only("Deployment")["spec"]["template"].clone();
        pod["metadata"]["name"] = json!("zonewright");
        kube.post(pods, &pod).expect_success();
        // The namespace does refuse what is less confined.
        pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
        assert_eq!(kube.post(pods, &pod).status, 403);
    }
}
