//! Objects that say everything themselves: DNSEndpoints, and kinds that the user names.

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;

use super::line;
use crate::cluster::{HOSTNAME, Space, TARGET, TTL};
use crate::daemon::CommandLine;
use crate::objects::{at, claim, claims_are};
use crate::site::{OWNER, Site};
use crate::{SOON, crds, needs, until};

#[test]
fn dns_endpoints() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let types = ["A", "CNAME", "MX", "TXT"].map(|rtype| format!("--managed-record-types={rtype}"));
    let daemon = types.iter().fold(line(&site, &space, &["crd"]), CommandLine::arg).start();
    let kind = "dnsendpoints.externaldns.k8s.io";
    let element = |name: &str, rtype: &str, targets: &[&str]| json!({ "dnsName": at(name), "recordType": rtype, "targets": targets });
    let mut first = element("two", "A", &["192.0.2.80", "192.0.2.81"]);
    first["recordTTL"] = json!(120);
    let spec = json!({ "endpoints": [
        first,
        element("chosen", "CNAME", &["edge.cloud.test"]),
        element("post", "MX", &["10 mx.cloud.test"]),
        element("says", "TXT", &["v=1"]),
    ] });
    space.create(kind, "it", &[], json!({ "spec": spec }));
    site.shows(&[
        "two 120 A 192.0.2.80",
        "two 120 A 192.0.2.81",
        "chosen 0 CNAME edge.cloud.test.",
        "post 0 MX 10 mx.cloud.test.",
        "says 0 TXT \"v=1\"",
    ]);
    let names = ["a-two", "cname-chosen", "mx-post", "txt-says"];
    claims_are(&site, names.map(|name| claim(name, &space, "crd/it")).to_vec());
    let spec = json!({ "endpoints": [element("two", "A", &["192.0.2.82"]), element("new", "A", &["192.0.2.83"])] });
    space.change(kind, "it", &json!({ "spec": spec }));
    site.shows(&["two 0 A 192.0.2.82", "new 0 A 192.0.2.83"]);
    until("its status to say what was seen", SOON, || {
        let object = kube.get(&format!("{}/it", space.path(kind))).expect_success();
        object["metadata"]["generation"] == 2 && object["status"]["observedGeneration"] == 2
    });
    space.delete(kind, "it");
    site.shows(&[]);
    daemon.ready();
}

/// One pass ends only when the events say what was found out about objects.
#[test]
fn one_pass_posts_events_before_it_ends() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let kind = "dnsendpoints.externaldns.k8s.io";
    for n in 0..20 {
        let element = |name: String| json!({ "dnsName": name, "recordType": "A", "targets": ["192.0.2.80"] });
        let endpoints = [element(at(&format!("e{n}"))), element(format!("e{n}.elsewhere.test"))];
        space.create(kind, &format!("e{n}"), &[], json!({ "spec": { "endpoints": endpoints } }));
    }
    let once = line(&site, &space, &["crd"]).arg("--once").run();
    assert!(once.status.success(), "{}", once.log);
    assert_eq!(site.ours().len(), 20);
    for n in 0..20 {
        let name = format!("e{n}");
        let events = space.events(&name);
        assert!(events.iter().any(|(_, note)| note.contains("elsewhere.test")), "{name}: {events:?}");
        let object = kube.get(&format!("{}/{name}", space.path(kind))).expect_success();
        assert_eq!(object["status"]["observedGeneration"], 1, "{name}");
    }
}

const WIDGET: &str = "widgets.things.test";
const REGION: &str = "regions.things.test";

/// Widgets live in namespaces, Regions do not, ConfigMaps are of the core group and have templates alone.
#[test]
fn kinds_that_the_user_names() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let resources = ["configmaps.v1", "widgets.v1.things.test", "regions.v1.things.test"];
    let map = |key: &str| format!("{{{{if eq .Kind \"ConfigMap\"}}}}{{{{index .Object.data \"{key}\"}}}}{{{{end}}}}");
    let named = resources.iter().fold(line(&site, &space, &["unstructured"]), |line, resource| {
        line.arg(format!("--unstructured-resource={resource}"))
    });
    let named =
        named.arg(format!("--fqdn-template={}", map("host"))).arg(format!("--target-template={}", map("address")));
    // Regions are seen from every namespace; those of other tests do not count.
    let daemon = named.arg(format!("--label-filter=test={}", space.name)).start();
    let mine = || json!({ "labels": { "test": space.name } });

    let region = format!("region-{}", space.name);
    let annotations =
        |host: &str, target: &str| [(HOSTNAME, at(host)), (TARGET, target.to_owned()), (TTL, "45".to_owned())];
    let create = |kind: &str, name: &str, annotations: &[(&str, String)]| {
        let annotations: Vec<(&str, &str)> = annotations.iter().map(|(key, value)| (*key, &**value)).collect();
        space.create(kind, name, &annotations, json!({ "metadata": mine(), "spec": {} }));
    };
    space.create(
        "configmaps",
        "it",
        &[],
        json!({ "metadata": mine(), "data": { "host": at("map"), "address": "192.0.2.90" } }),
    );
    create(WIDGET, "it", &annotations("widget", "192.0.2.91"));
    create(REGION, &region, &annotations("region", "192.0.2.92"));
    // One of another namespace.
    let other = Space::new(&kube);
    other.create(WIDGET, "it", &[(HOSTNAME, &at("unseen")), (TARGET, "192.0.2.99")], json!({ "metadata": mine() }));
    site.shows(&["map 0 A 192.0.2.90", "widget 45 A 192.0.2.91", "region 45 A 192.0.2.92"]);
    let of_region = format!(
        "a-region 0 TXT \"heritage=external-dns,external-dns/owner={OWNER},external-dns/resource=region//{region}\""
    );
    claims_are(&site, vec![claim("a-map", &space, "configmap/it"), claim("a-widget", &space, "widget/it"), of_region]);
    daemon.ready();

    space.change("configmaps", "it", &json!({ "data": { "host": at("map-2") } }));
    space.annotate(WIDGET, "it", &[(TARGET, "192.0.2.93")]);
    space.annotate(REGION, &region, &[(TARGET, "192.0.2.94")]);
    site.shows(&["map-2 0 A 192.0.2.90", "widget 45 A 192.0.2.93", "region 45 A 192.0.2.94"]);
    space.delete("configmaps", "it");
    space.delete(WIDGET, "it");
    space.delete(REGION, &region);
    site.shows(&[]);
}

/// The same without `--namespace`: everything is seen everywhere.
#[test]
fn kinds_that_the_user_names_in_all_namespaces() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let (space, other) = (Space::new(&kube), Space::new(&kube));
    let line = line(&site, &space, &["unstructured"]).without("--namespace");
    let resources = ["widgets.v1.things.test", "regions.v1.things.test"];
    let line = resources.iter().fold(line, |line, resource| line.arg(format!("--unstructured-resource={resource}")));
    let daemon = line.arg(format!("--label-filter=test={}", space.name)).start();
    let labels = || json!({ "metadata": { "labels": { "test": space.name } }, "spec": {} });
    for (space, host) in [(&space, "here"), (&other, "there")] {
        space.create(WIDGET, "it", &[(HOSTNAME, &at(host)), (TARGET, "192.0.2.95")], labels());
    }
    let region = format!("all-{}", space.name);
    space.create(REGION, &region, &[(HOSTNAME, &at("region")), (TARGET, "192.0.2.96")], labels());
    site.shows(&["here 0 A 192.0.2.95", "there 0 A 192.0.2.95", "region 0 A 192.0.2.96"]);
    other.delete(WIDGET, "it");
    space.delete(REGION, &region);
    site.shows(&["here 0 A 192.0.2.95"]);
    daemon.ready();
}
