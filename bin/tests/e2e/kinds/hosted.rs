//! Kinds that name their hosts and say themselves, or by an annotation, where they answer.

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;

use super::{INGRESS, claim_of_nobody, front, line};
use crate::cluster::{HOSTNAME, Space, TARGET, TTL};
use crate::crds;
use crate::needs;
use crate::objects::{at, claim, claims_are};
use crate::site::Site;

/// A kind with its hosts in the spec and its address in the status.
struct Hosted {
    source: &'static str,
    plural: &'static str,
    /// First part of the resource label.
    label: &'static str,
    spec: fn(&str) -> Value,
    /// The status with this host, at this address.
    status: fn(&str, &str) -> Value,
    /// The first address, and the one after it.
    targets: [&'static str; 2],
}

fn at_balancer(_: &str, ip: &str) -> Value {
    json!({ "loadBalancer": { "ingress": [{ "ip": ip }] } })
}

fn at_virtual_address(_: &str, ip: &str) -> Value {
    json!({ "vsAddress": ip, "status": "Ok" })
}

fn admitted(host: &str, router: &str) -> Value {
    let conditions = json!([{ "type": "Admitted", "status": "True" }]);
    let entry =
        json!({ "host": host, "routerName": "default", "routerCanonicalHostname": router, "conditions": conditions });
    json!({ "ingress": [entry] })
}

const HOSTED: &[Hosted] = &[
    Hosted {
        source: "contour-httpproxy",
        plural: "httpproxies.projectcontour.io",
        label: "HTTPProxy",
        spec: |host| json!({ "virtualhost": { "fqdn": host } }),
        status: at_balancer,
        targets: ["192.0.2.10", "192.0.2.110"],
    },
    Hosted {
        source: "kong-tcpingress",
        plural: "tcpingresses.configuration.konghq.com",
        label: "tcpingress",
        spec: |host| json!({ "rules": [{ "host": host, "port": 9000 }] }),
        status: at_balancer,
        targets: ["192.0.2.11", "2001:db8::11"],
    },
    Hosted {
        source: "skipper-routegroup",
        plural: "routegroups.zalando.org",
        label: "routegroup",
        spec: |host| json!({ "hosts": [host] }),
        status: |_, name| json!({ "loadBalancer": { "routeGroup": [{ "hostname": name }] } }),
        targets: ["skipper.cloud.test", "skipper-2.cloud.test"],
    },
    Hosted {
        source: "openshift-route",
        plural: "routes.route.openshift.io",
        label: "route",
        spec: |host| json!({ "host": host }),
        status: admitted,
        targets: ["router.cloud.test", "router-2.cloud.test"],
    },
    Hosted {
        source: "f5-virtualserver",
        plural: "virtualservers.cis.f5.com",
        label: "f5-virtualserver",
        spec: |host| json!({ "host": host }),
        status: at_virtual_address,
        targets: ["192.0.2.14", "192.0.2.114"],
    },
    Hosted {
        source: "f5-transportserver",
        plural: "transportservers.cis.f5.com",
        label: "f5-transportserver",
        spec: |host| json!({ "host": host }),
        status: at_virtual_address,
        targets: ["192.0.2.15", "192.0.2.115"],
    },
];

/// The record of a host at a target, as the zone shows it.
fn record(host: &str, target: &str) -> String {
    match target.parse::<std::net::IpAddr>() {
        Ok(ip) if ip.is_ipv6() => format!("{host} 0 AAAA {target}"),
        Ok(_) => format!("{host} 0 A {target}"),
        Err(_) => format!("{host} 0 CNAME {target}."),
    }
}

#[track_caller]
fn shows(site: &Site, records: impl Iterator<Item = String>) {
    let records: Vec<String> = records.collect();
    site.shows(&records.iter().map(String::as_str).collect::<Vec<_>>());
}

/// All of them at once: many sources in one daemon.
#[test]
fn kinds_with_an_address_in_their_status() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let sources: Vec<&str> = HOSTED.iter().map(|kind| kind.source).collect();
    let daemon = line(&site, &space, &sources).start();
    for Hosted { source, plural, spec, .. } in HOSTED {
        space.create(plural, "it", &[], json!({ "spec": spec(&at(source)) }));
    }
    daemon.ready();
    site.shows(&[]);
    for kind in HOSTED {
        space.status(kind.plural, "it", &(kind.status)(&at(kind.source), kind.targets[0]));
    }
    shows(&site, HOSTED.iter().map(|kind| record(kind.source, kind.targets[0])));
    let claim_of = |kind: &Hosted| {
        let record_type = record("", kind.targets[0]).split(' ').nth(2).expect("a type").to_lowercase();
        claim(&format!("{record_type}-{}", kind.source), &space, &format!("{}/it", kind.label))
    };
    claims_are(&site, HOSTED.iter().map(claim_of).collect());

    for kind in HOSTED {
        let host = format!("new-{}", kind.source);
        space.change(kind.plural, "it", &json!({ "spec": (kind.spec)(&at(&host)) }));
        space.status(kind.plural, "it", &(kind.status)(&at(&host), kind.targets[1]));
    }
    shows(&site, HOSTED.iter().map(|kind| record(&format!("new-{}", kind.source), kind.targets[1])));
    for kind in HOSTED {
        space.delete(kind.plural, "it");
    }
    site.shows(&[]);
    claims_are(&site, Vec::new());
}

/// What a route of Traefik says: its rule, with this matcher for this host.
fn rule(matcher: &str, host: &str) -> Value {
    json!({ "spec": { "routes": [{ "match": format!("{matcher}(`{}`)", at(host)) }] } })
}

/// Traefik's routes of both groups; the address is an annotation.
#[test]
fn traefik_routes() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let _daemon = line(&site, &space, &["traefik-proxy"]).arg("--traefik-enable-legacy").start();
    let kinds = [
        ("ingressroutes.traefik.io", "Host", "http"),
        ("ingressroutetcps.traefik.io", "HostSNI", "tcp"),
        ("ingressroutes.traefik.containo.us", "Host", "old-http"),
        ("ingressroutetcps.traefik.containo.us", "HostSNI", "old-tcp"),
    ];
    // Datagrams carry no host name: it is an annotation.
    let datagrams = [("ingressrouteudps.traefik.io", "udp"), ("ingressrouteudps.traefik.containo.us", "old-udp")];
    for (plural, matcher, name) in kinds {
        space.create(plural, name, &[(TARGET, "192.0.2.20")], rule(matcher, name));
    }
    for (plural, name) in datagrams {
        let annotations = [(TARGET, "192.0.2.21"), (HOSTNAME, &*at(name))];
        space.create(plural, name, &annotations, json!({ "spec": {} }));
    }
    let udp = || datagrams.into_iter().map(|(_, name)| record(name, "192.0.2.21"));
    shows(&site, kinds.into_iter().map(|(.., name)| record(name, "192.0.2.20")).chain(udp()));
    let label = |plural: &str| plural.split('.').next().expect("a plural").trim_end_matches('s').to_owned();
    let all = kinds.into_iter().map(|(plural, _, name)| (plural, name)).chain(datagrams);
    let claim_of =
        |(plural, name): (&str, &str)| claim(&format!("a-{name}"), &space, &format!("{}/{name}", label(plural)));
    claims_are(&site, all.clone().map(claim_of).collect());

    for (plural, matcher, name) in kinds {
        space.change(plural, name, &rule(matcher, &format!("new-{name}")));
        space.annotate(plural, name, &[(TARGET, "edge.cloud.test")]);
    }
    let changed = kinds.into_iter().map(|(.., name)| record(&format!("new-{name}"), "edge.cloud.test"));
    shows(&site, changed.chain(udp()));
    for (plural, name) in all {
        space.delete(plural, name);
    }
    site.shows(&[]);
}

/// A route that is moved to the new group keeps its name, and for a while there are two.
#[test]
fn traefik_routes_of_one_name_in_both_groups() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let _daemon = line(&site, &space, &["traefik-proxy"]).arg("--traefik-enable-legacy").start();
    for (plural, host) in [("ingressroutes.traefik.containo.us", "old"), ("ingressroutes.traefik.io", "new")] {
        space.create(plural, "it", &[(TARGET, "192.0.2.22")], rule("Host", host));
    }
    site.shows(&["old 0 A 192.0.2.22", "new 0 A 192.0.2.22"]);
    space.delete("ingressroutes.traefik.containo.us", "it");
    site.shows(&["new 0 A 192.0.2.22"]);
}

/// A Host is reached where the Service is that it names.
#[test]
fn ambassador_hosts() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let _daemon = line(&site, &space, &["ambassador-host"]).start();
    let kind = "hosts.getambassador.io";
    front(&space, "edge", ("app", "edge"), &["192.0.2.30"]);
    let service = format!("{}/edge", space.name);
    let annotations = [("external-dns.ambassador-service", &*service), (TTL, "90")];
    space.create(kind, "it", &annotations, json!({ "spec": { "hostname": at("host") } }));
    site.shows(&["host 90 A 192.0.2.30"]);
    claims_are(&site, vec![claim("a-host", &space, "host/it")]);
    space.reached_at("services", "edge", &["192.0.2.31"]);
    site.shows(&["host 90 A 192.0.2.31"]);
    space.change(kind, "it", &json!({ "spec": { "hostname": at("other") } }));
    site.shows(&["other 90 A 192.0.2.31"]);
    space.delete(kind, "it");
    site.shows(&[]);
}

/// A Proxy is reached at its Service, or at the Ingress in front of the Gateway that made it; its VirtualService says the TTL.
#[test]
fn gloo_proxies() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let _daemon = line(&site, &space, &["gloo-proxy"]).arg(format!("--gloo-namespace={}", space.name)).start();
    let (proxy, service, gateway) =
        ("proxies.gloo.solo.io", "virtualservices.gateway.solo.io", "gateways.gateway.solo.io");
    let made_of = |kind: &str, name: &str| {
        let source = json!({ "resourceKind": kind, "resourceRef": { "name": name, "namespace": space.name } });
        json!({ "sources": [source] })
    };
    let host = json!({ "domains": [at("gloo")], "metadataStatic": made_of("*v1.VirtualService", "shop") });
    let listener = json!({ "httpListener": { "virtualHosts": [host] } });
    front(&space, "edge", ("app", "edge"), &["192.0.2.40"]);
    space.create(service, "shop", &[(TTL, "30")], json!({ "spec": {} }));
    space.create(proxy, "edge", &[], json!({ "spec": { "listeners": [listener] } }));
    site.shows(&["gloo 30 A 192.0.2.40"]);
    claims_are(&site, vec![claim_of_nobody("a-gloo")]);
    space.annotate(service, "shop", &[(TTL, "60")]);
    site.shows(&["gloo 60 A 192.0.2.40"]);
    space.reached_at("services", "edge", &["192.0.2.41"]);
    site.shows(&["gloo 60 A 192.0.2.41"]);

    space.create("ingresses", "front", &[], json!({ "spec": { "rules": [{ "host": at("unread") }] } }));
    space.reached_at("ingresses", "front", &["192.0.2.42"]);
    space.create(gateway, "edge", &[(INGRESS, "front")], json!({ "spec": {} }));
    let mut made = listener;
    made["metadataStatic"] = made_of("*v1.Gateway", "edge");
    space.change(proxy, "edge", &json!({ "spec": { "listeners": [made] } }));
    site.shows(&["gloo 60 A 192.0.2.42"]);
    space.reached_at("ingresses", "front", &["192.0.2.43"]);
    site.shows(&["gloo 60 A 192.0.2.43"]);
    space.annotate(gateway, "edge", &[(INGRESS, "")]);
    site.shows(&["gloo 60 A 192.0.2.41"]);
    space.delete(proxy, "edge");
    site.shows(&[]);
}
