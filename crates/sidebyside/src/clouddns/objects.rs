//! The objects of the swap: every form of record that both programs publish at Cloud DNS.

use serde_json::Value;
use zonewright_sidebyside::shapes::{self, service};

/// The zone of the objects.
pub(crate) const ZONE: &str = "shop.test";

/// A private zone within it.
pub(crate) const INNER: &str = "internal.shop.test";

const BALANCER: &str = "web-1.balancers.example.net";

/// All that external-dns writes once. The first is the Service `three`, whose addresses are `addresses`.
pub(crate) fn settled(addresses: &[&str]) -> Vec<Value> {
    let short = |name: &str, targets: &[&str], annotations: &[(&str, &str)]| {
        service(name, &format!("{name}.{ZONE}"), targets, annotations)
    };
    let long = format!("\"v=DKIM1; k=rsa; p={}\" \"{}\"", "MIIBIjANBgkqhkiG9w0BAQEFAAO".repeat(8), "CAQ8A".repeat(30));
    vec![
        service("three", "three.shop.test", addresses, &[]),
        // Cloud DNS has neither aliases nor CNAMEs there.
        service("apex", ZONE, &["192.0.2.20"], &[]),
        short("www", &[BALANCER], &[]),
        short("dual", &["192.0.2.4", "2001:db8::4"], &[]),
        short("slow", &["192.0.2.5"], &[("ttl", "1h")]),
        service("wild", "*.apps.shop.test", &["192.0.2.6"], &[]),
        service("wild-cname", "*.cdn.shop.test", &[BALANCER], &[]),
        service("several", "one.shop.test,two.shop.test", &["192.0.2.7"], &[]),
        service("upper", "UPPER.shop.test", &["192.0.2.8"], &[]),
        service("below", "a.b.c.shop.test", &["192.0.2.9"], &[]),
        service("inner", "db.internal.shop.test", &["10.0.0.5"], &[]),
        shapes::endpoints(
            ZONE,
            "texts",
            &[
                ("texts", "TXT", &["\"v=spf1 include:_spf.example.net -all\"", "\"plain\""]),
                ("sel._domainkey", "TXT", &[&long]),
            ],
        ),
        shapes::endpoints(
            ZONE,
            "others",
            &[
                ("mail", "MX", &["10 mx1.example.net", "20 mx2.example.net"]),
                ("_sip._tcp", "SRV", &["0 5 5060 sip.example.net."]),
                ("delegated", "NS", &["ns1.example.net", "ns2.example.net"]),
            ],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_object_hides_another() {
        let objects = settled(&["192.0.2.1"]);
        let name = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
        assert_eq!(objects.iter().map(name).collect::<BTreeSet<_>>().len(), objects.len());
    }
}
