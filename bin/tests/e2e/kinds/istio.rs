//! Istio: a Gateway answers where the Services do that select by its labels, or where the Ingress does that it stands
//! behind; a VirtualService answers at its Gateway.

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;

use super::{INGRESS, front, line};
use crate::cluster::{Space, TARGET};
use crate::crds;
use crate::needs;
use crate::objects::{at, claim, claims_are};
use crate::site::Site;

const GATEWAY: &str = "gateways.networking.istio.io";
const SERVICE: &str = "virtualservices.networking.istio.io";

#[test]
fn gateways_and_virtual_services() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let _daemon = line(&site, &space, &["istio-gateway", "istio-virtualservice"]).start();

    let servers = json!([{ "hosts": [format!("*/{}", at("*.apps")), at("mesh")] }]);
    space.create(GATEWAY, "edge", &[], json!({ "spec": { "selector": { "istio": "edge" }, "servers": servers } }));
    let spec = json!({ "hosts": [at("a.apps"), at("elsewhere")], "gateways": ["edge"] });
    space.create(SERVICE, "a", &[], json!({ "spec": spec }));
    front(&space, "ingress", ("istio", "edge"), &["192.0.2.50"]);
    // `elsewhere` is not let through by the Gateway.
    site.shows(&["*.apps 0 A 192.0.2.50", "mesh 0 A 192.0.2.50", "a.apps 0 A 192.0.2.50"]);
    claims_are(
        &site,
        vec![
            claim("a-*.apps", &space, "gateway/edge"),
            claim("a-mesh", &space, "gateway/edge"),
            claim("a-a.apps", &space, "virtualservice/a"),
        ],
    );

    space.reached_at("services", "ingress", &["192.0.2.51"]);
    site.shows(&["*.apps 0 A 192.0.2.51", "mesh 0 A 192.0.2.51", "a.apps 0 A 192.0.2.51"]);
    front(&space, "second", ("istio", "edge"), &["192.0.2.52"]);
    let both = |host: &str| [format!("{host} 0 A 192.0.2.51"), format!("{host} 0 A 192.0.2.52")];
    let expected: Vec<String> = ["*.apps", "mesh", "a.apps"].into_iter().flat_map(both).collect();
    site.shows(&expected.iter().map(String::as_str).collect::<Vec<_>>());
    space.delete("services", "second");
    site.shows(&["*.apps 0 A 192.0.2.51", "mesh 0 A 192.0.2.51", "a.apps 0 A 192.0.2.51"]);

    space.change(SERVICE, "a", &json!({ "spec": { "hosts": [at("b.apps")] } }));
    site.shows(&["*.apps 0 A 192.0.2.51", "mesh 0 A 192.0.2.51", "b.apps 0 A 192.0.2.51"]);
    space.create("ingresses", "front", &[], json!({ "spec": { "rules": [{ "host": at("unread") }] } }));
    space.reached_at("ingresses", "front", &["192.0.2.53"]);
    space.annotate(GATEWAY, "edge", &[(INGRESS, "front")]);
    site.shows(&["*.apps 0 A 192.0.2.53", "mesh 0 A 192.0.2.53", "b.apps 0 A 192.0.2.53"]);
    space.reached_at("ingresses", "front", &["192.0.2.54"]);
    site.shows(&["*.apps 0 A 192.0.2.54", "mesh 0 A 192.0.2.54", "b.apps 0 A 192.0.2.54"]);
    space.annotate(SERVICE, "a", &[(TARGET, "edge.cloud.test")]);
    site.shows(&["*.apps 0 A 192.0.2.54", "mesh 0 A 192.0.2.54", "b.apps 0 CNAME edge.cloud.test."]);

    space.delete(SERVICE, "a");
    site.shows(&["*.apps 0 A 192.0.2.54", "mesh 0 A 192.0.2.54"]);
    space.delete(GATEWAY, "edge");
    site.shows(&[]);
}
