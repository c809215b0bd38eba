//! The objects of the swap: every form of record that both programs publish at Azure DNS.

use serde_json::Value;
use zonewright_sidebyside::shapes::{self, service};

/// The zone of the objects.
pub(crate) const ZONE: &str = "shop.test";

const BALANCER: &str = "web-1.balancers.example.net";

/// What external-dns writes once to a private zone. The first is the Service `three`, whose addresses are `addresses`.
pub(crate) fn private(addresses: &[&str]) -> Vec<Value> {
    let short = |name: &str, targets: &[&str], annotations: &[(&str, &str)]| {
        service(name, &format!("{name}.{ZONE}"), targets, annotations)
    };
    vec![
        service("three", "three.shop.test", addresses, &[]),
        // Azure DNS has no CNAME there.
        service("apex", ZONE, &["192.0.2.20"], &[]),
        short("www", &[BALANCER], &[]),
        short("dual", &["192.0.2.4", "2001:db8::4"], &[]),
        short("slow", &["192.0.2.5"], &[("ttl", "1h")]),
        service("wild", "*.apps.shop.test", &["192.0.2.6"], &[]),
        service("several", "one.shop.test,two.shop.test", &["192.0.2.7"], &[]),
        service("upper", "UPPER.shop.test", &["192.0.2.8"], &[]),
        service("below", "a.b.c.shop.test", &["192.0.2.9"], &[]),
        // One text, and one string of it, is all that external-dns writes.
        shapes::endpoints(ZONE, "texts", &[("texts", "TXT", &["plain-text"])]),
        shapes::endpoints(ZONE, "mail", &[("mail", "MX", &["10 mx1.example.net", "20 mx2.example.net"])]),
    ]
}

/// What it writes once to a public zone: metadata of one key too, since of several it writes them again in most rounds.
pub(crate) fn public(addresses: &[&str]) -> Vec<Value> {
    let mut objects = private(addresses);
    objects.push(service("tagged", "tagged.shop.test", &["192.0.2.30"], &[("azure-tags", "team=web")]));
    let servers: &[&str] = &["ns1.example.net", "ns2.example.net"];
    objects.push(shapes::endpoints(ZONE, "delegated", &[("delegated", "NS", servers)]));
    objects
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_object_hides_another() {
        let objects = public(&["192.0.2.1"]);
        let name = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
        assert_eq!(objects.iter().map(name).collect::<BTreeSet<_>>().len(), objects.len());
    }
}
