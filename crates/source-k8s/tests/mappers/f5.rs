//! The tests of section 3.19. Templates are tested with the engine.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, map, options};

fn server(kind: Kind) -> Thing {
    Thing::new(kind, "ns", "f5").with("spec.host", "a.org").with("status.vsAddress", "1.1.1.1")
}

const A: &str = "a.org A 1.1.1.1";

#[test]
fn addresses() {
    for kind in [Kind::F5VirtualServer, Kind::F5TransportServer] {
        let asked_for = server(kind).with("spec.virtualServerAddress", "2.2.2.2");
        for (id, thing, expected) in [
            ("in use", server(kind), A),
            ("asked for", asked_for.clone(), "a.org A 2.2.2.2"),
            ("asked for, not in use", asked_for.with("status.vsAddress", ""), "a.org pending"),
            ("target", asked_for.ann("target", "t.org"), "a.org CNAME t.org"),
            (
                "target, not in use",
                server(kind).ann("target", "t.org").with("status.vsAddress", "None"),
                "a.org pending",
            ),
            ("none", server(kind).with("status.vsAddress", "none"), "a.org pending"),
            ("an error, with an address", server(kind).with("status.status", "ERROR"), A),
            ("no error, without an address", server(kind).with("status", json!({"status": "OK"})), "a.org pending"),
            ("no host", server(kind).with("spec.host", ""), ""),
            ("ttl", server(kind).ann("ttl", "60"), "a.org A 1.1.1.1 ttl=60"),
            ("no properties", server(kind).ann("aws-weight", "1").ann("set-identifier", "s"), A),
            ("hostname does not count", server(kind).ann("hostname", "b.org"), A),
            ("another's", server(kind).ann("controller", "other"), ""),
        ] {
            check(id, &thing, |_| {}, expected);
        }
        let filter = || MetadataSelector::labels("app=web").expect("a filter");
        check("label filter", &server(kind), |o| o.label_filter = filter(), "");
        check("label filter", &server(kind).label("app", "web"), |o| o.label_filter = filter(), A);
    }
}

#[test]
fn aliases() {
    let with = |kind, aliases| server(kind).with("spec.hostAliases", aliases);
    let virtual_server = |aliases| with(Kind::F5VirtualServer, aliases);
    check(
        "two",
        &virtual_server(json!(["b.org", "", "c.org"])),
        |_| {},
        "a.org A 1.1.1.1 | b.org A 1.1.1.1 | c.org A 1.1.1.1",
    );
    check(
        "target and ttl",
        &virtual_server(json!(["b.org"])).ann("target", "t.org").ann("ttl", "5"),
        |_| {},
        "a.org CNAME t.org ttl=5 | b.org CNAME t.org ttl=5",
    );
    check("none", &virtual_server(json!([])), |_| {}, A);
    check("not of a TransportServer", &with(Kind::F5TransportServer, json!(["b.org"])), |_| {}, A);
}

#[test]
fn labels() {
    for (kind, label) in
        [(Kind::F5VirtualServer, "f5-virtualserver/ns/f5"), (Kind::F5TransportServer, "f5-transportserver/ns/f5")]
    {
        assert_eq!(map(&server(kind), &[], &options(|_| {})).endpoints[0].resource.as_deref(), Some(label));
    }
}
