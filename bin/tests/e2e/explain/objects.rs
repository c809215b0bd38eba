//! Objects that are there and do not count: of another namespace, unreadable, at a Gateway that does not count, with a text that nobody
//! may publish, or written for a prefix that is not in force any more.

use serde_json::json;
use zonewright_core::explain::Cause;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use super::case;
use crate::cluster::{HOSTNAME, Space, TARGET};
use crate::daemon::{state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::{Site, ZONE};
use crate::{crds, needs};

const ENDPOINT: &str = "dnsendpoints.externaldns.k8s.io";

/// Without a right to read other namespaces nothing is known of the object but where it would be.
#[test]
fn objects_of_custom_kinds_and_of_another_namespace() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let (space, other) = (Space::new(&kube), Space::new(&kube));
    let element =
        |name: &str, kind: &str, target: &str| json!({ "dnsName": name, "recordType": kind, "targets": [target] });
    let claim = "heritage=external-dns,external-dns/owner=e2e,external-dns/resource=crd/x/y";
    space.create(ENDPOINT, "texts", &[], json!({ "spec": { "endpoints": [element("a-x.shop.test", "TXT", claim)] } }));
    space.create(ENDPOINT, "broken", &[], json!({ "spec": { "endpoints": 5 } }));
    other.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let line = site.line(&space).args(&["--source=crd", "--interval=1s", "--managed-record-types=A"]);
    let _daemon = line.arg("--managed-record-types=TXT").start();
    case("a-x.shop.test", Cause::OwnershipText, &["a-x.shop.test"])
        .event("texts", &["a-x.shop.test", "ownership record"])
        .check(space.state_dir(), Some(&space));
    case(format!("dnsendpoint/{}/broken", space.name), Cause::UnreadableObject, &["spec.endpoints"])
        .event("broken", &["spec.endpoints"])
        .check(space.state_dir(), Some(&space));
    let flag = format!("--namespace={}", space.name);
    case(format!("service/{}/web", other.name), Cause::Namespace, &[&flag, &other.name]).check(space.state_dir(), None);
    case(format!("service/{}/web", space.name), Cause::NoSuchObject, &["services"]).check(space.state_dir(), None);
    case("web.shop.test", Cause::NotAsked, &[&flag]).check(space.state_dir(), None);
}

/// Of what a folder holds for another namespace nothing is kept: else objects that nobody reads would keep a kind from looking empty.
#[test]
fn names_of_another_namespace_of_a_folder() {
    require!(Bind.tools());
    let (site, folder, state) = (Site::start(Bind), folder(), state_folder());
    write(folder.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    let line = site.provider(site.dns.addr().port()).args(&["--source=service", "--interval=1s", "--namespace=other"]);
    let line = line.arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1));
    let _daemon = line.start();
    case("service/default/web", Cause::Namespace, &["Service default/web", "--namespace=other"]).check(&state.1, None);
    case("web.shop.test", Cause::NotAsked, &["--namespace=other"]).check(&state.1, None);
    assert_eq!(site.ours(), [""; 0]);
}

const ROUTE: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge }
spec: { listeners: [{ name: web, port: 80, protocol: HTTP }] }
status: { addresses: [{ value: 192.0.2.60 }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: it }
spec: { hostnames: [route.shop.test], parentRefs: [{ name: edge }] }
status:
  parents:
    - parentRef: { name: edge }
      controllerName: test/controller
      conditions: [{ type: Accepted, status: \"True\", reason: Test }]
";

#[test]
fn a_route_at_a_gateway_that_does_not_count() {
    require!(Bind.tools());
    for flag in ["--gateway-name=inner", "--gateway-namespace=inner", "--gateway-label-filter=tier=inner"] {
        let (site, folder, state) = (Site::start(Bind), folder(), state_folder());
        write(folder.path(), "route.yaml", ROUTE);
        let line = site.provider(site.dns.addr().port()).args(&["--source=gateway-httproute", "--interval=1s", flag]);
        let line = line.arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1));
        let _daemon = line.start();
        case("route.shop.test", Cause::GatewayFilter, &["HTTPRoute default/it", flag]).check(&state.1, None);
    }
}

/// A daemon that took both prefixes published it; one that takes the second alone leaves it.
#[test]
fn a_record_that_is_kept_for_a_prefix_that_is_not_in_force() {
    needs!(Bind);
    let (kube, site) = (crate::cluster::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let alpha = "external-dns.alpha.kubernetes.io/";
    let line = site.line(&space).arg("--interval=1s");
    let (host, target) = (format!("{alpha}hostname"), format!("{alpha}target"));
    let at = format!("web.{ZONE}");
    space.service("web", &[(&host, &at), (&target, "192.0.2.1")], json!({ "type": "LoadBalancer" }));
    space.service("own", &[(HOSTNAME, "own.shop.test"), (TARGET, "192.0.2.2")], json!({ "type": "LoadBalancer" }));
    let both = line.clone().arg(format!("--annotation-prefix={alpha}"));
    let daemon = both.arg("--annotation-prefix=external-dns.kubernetes.io/").start();
    site.shows(&["own 0 A 192.0.2.2", "web 0 A 192.0.2.1"]);
    drop(daemon);
    let _daemon = line.start();
    let flag = format!("--annotation-prefix={alpha}");
    case(at, Cause::KeptForOtherPrefix, &["web.shop.test A", &flag])
        .event("web", &["web.shop.test", alpha])
        .check(space.state_dir(), Some(&space));
    site.shows(&["own 0 A 192.0.2.2", "web 0 A 192.0.2.1"]);
}
