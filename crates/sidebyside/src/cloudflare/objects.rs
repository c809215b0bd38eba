//! The objects of the swap: every form of record that both programs publish at Cloudflare.

use serde_json::Value;
use zonewright_sidebyside::shapes::{self, service};

/// The zone of the objects.
pub(crate) const ZONE: &str = "shop.test";

const BALANCER: &str = "web-1.balancers.example.net";

/// All that external-dns writes once. The first is the Service `three`, whose addresses are `addresses`.
pub(crate) fn settled(addresses: &[&str]) -> Vec<Value> {
    let mut objects = vec![service("three", "three.shop.test", addresses, &[])];
    objects.extend(plain());
    objects.push(endpoints("texts", &[("texts", "TXT", &["\"v=spf1 include:_spf.example.net -all\""])]));
    // No MX: external-dns reads each with the preference 0, and deletes and creates it again in every round.
    objects.push(endpoints("others", &[("delegated", "NS", &["ns1.example.net", "ns2.example.net"])]));
    objects
}

/// The same with custom host names.
pub(crate) fn with_hostnames(addresses: &[&str]) -> Vec<Value> {
    let one = |name: &str, names: &str| {
        service(name, &format!("{name}.{ZONE}"), &["192.0.2.30"], &[("cloudflare-custom-hostname", names)])
    };
    let mut objects = settled(addresses);
    objects.extend([one("saas", "shop.customer.test"), one("saas2", "b.customer.test,a.customer.test")]);
    objects
}

/// The same with regions.
pub(crate) fn with_regions(addresses: &[&str]) -> Vec<Value> {
    let mut objects = settled(addresses);
    objects.push(service("local", "local.shop.test", &["192.0.2.31"], &[("cloudflare-region-key", "jp")]));
    objects
}

/// The same with tags, which paid plans have.
pub(crate) fn with_tags(addresses: &[&str]) -> Vec<Value> {
    let mut objects = settled(addresses);
    objects.push(service("tagged", "tagged.shop.test", &["192.0.2.32"], &[("cloudflare-tags", "team:web, env:prod")]));
    objects
}

fn endpoints(name: &str, elements: &[(&str, &str, &[&str])]) -> Value {
    shapes::endpoints(ZONE, name, elements)
}

/// Addresses and host names, proxied or not, with comments.
fn plain() -> Vec<Value> {
    let short = |name: &str, targets: &[&str], annotations: &[(&str, &str)]| {
        service(name, &format!("{name}.{ZONE}"), targets, annotations)
    };
    vec![
        service("apex", ZONE, &[BALANCER], &[]),
        short("www", &[BALANCER], &[]),
        short("dual", &["192.0.2.4", "2001:db8::4"], &[]),
        short("slow", &["192.0.2.5"], &[("ttl", "1h")]),
        short("front", &["192.0.2.10"], &[("cloudflare-proxied", "true")]),
        short("front-cname", &[BALANCER], &[("cloudflare-proxied", "true")]),
        short("front-ttl", &["192.0.2.11"], &[("cloudflare-proxied", "true"), ("ttl", "300")]),
        short("plain", &["192.0.2.12"], &[("cloudflare-proxied", "false")]),
        short("noted", &["192.0.2.13"], &[("cloudflare-record-comment", "of the shop")]),
        service("wild", "*.apps.shop.test", &["192.0.2.6"], &[]),
        service("several", "one.shop.test,two.shop.test", &["192.0.2.7"], &[]),
        service("upper", "UPPER.shop.test", &["192.0.2.8"], &[]),
        service("below", "a.b.c.shop.test", &["192.0.2.9"], &[]),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_object_hides_another() {
        for objects in [with_hostnames(&["192.0.2.1"]), with_regions(&["192.0.2.1"]), with_tags(&["192.0.2.1"])] {
            let name = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
            assert_eq!(objects.iter().map(name).collect::<BTreeSet<_>>().len(), objects.len());
        }
    }
}
