//! Whether a Gateway lets a host of a VirtualService through.
//!
//! In come both objects and the name, out goes yes or no. The namespace has to fit twice: the Gateway's hosts say whose
//! VirtualServices they are for, and the VirtualService says where it is visible.

use zonewright_core::DnsName;

use crate::objects::{IstioGateway, IstioVirtualService};

/// Whether `name` of `service` is served by `gateway`.
pub(super) fn binds(service: &IstioVirtualService, gateway: &IstioGateway, name: &DnsName) -> bool {
    let hosts = gateway.spec.servers.iter().flat_map(|server| &server.hosts);
    is_exported(service, gateway) && hosts.into_iter().any(|host| lets_through(host, service, gateway, name))
}

fn is_exported(service: &IstioVirtualService, gateway: &IstioGateway) -> bool {
    let (to, own) = (&*gateway.metadata.namespace, &*service.metadata.namespace);
    let export = &service.spec.export_to;
    export.is_empty() || export.iter().any(|place| **place == *"*" || **place == *to || (**place == *"." && to == own))
}

/// Whether one host of a server, `host` or `namespace/host`, takes the name.
fn lets_through(text: &str, service: &IstioVirtualService, gateway: &IstioGateway, name: &DnsName) -> bool {
    let (namespace, host) = text.split_once('/').unwrap_or(("*", text));
    let own = &*service.metadata.namespace;
    let here = match namespace {
        "*" => true,
        "." => *own == *gateway.metadata.namespace,
        named => named == own,
    };
    here && covers(host, name)
}

/// Whether a host, `*`, `*.suffix` or a name, covers a name.
fn covers(host: &str, name: &DnsName) -> bool {
    if host == "*" {
        return true;
    }
    match host.strip_prefix("*.") {
        Some(suffix) => DnsName::parse(suffix).is_ok_and(|suffix| name.is_within(&suffix) && *name != suffix),
        None => DnsName::parse(host).is_ok_and(|host| host == *name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (host, name, expected) in [
            ("*", "a.example.org", true),
            ("*.example.org", "a.example.org", true),
            ("*.example.org", "a.b.example.org", true),
            ("*.example.org", "*.example.org", true),
            ("*.Example.Org", "a.example.org", true),
            ("*.example.org", "example.org", false),
            ("*.example.org", "badexample.org", false),
            ("a.example.org", "a.example.org", true),
            ("A.example.org.", "a.example.org", true),
            ("a.example.org", "b.example.org", false),
            ("", "a.example.org", false),
            ("*.", "a.example.org", false),
            ("a/b", "a.example.org", false),
        ] {
            assert_eq!(covers(host, &DnsName::parse(name).unwrap()), expected, "{host:?} {name}");
        }
    }
}
