//! The forms of content by record type: *DNS record types* in the documentation, and the messages of the service.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::data;
use super::name;
use super::record::Record;
use super::refusal::Refusal;
use super::text;

/// The record types of the service.
#[rustfmt::skip]
const KINDS: &[&str] = &[
    "A", "AAAA", "CAA", "CERT", "CNAME", "DNSKEY", "DS", "HTTPS", "LOC", "MX", "NAPTR", "NS", "OPENPGPKEY", "PTR", "SMIMEA",
    "SRV", "SSHFP", "SVCB", "TLSA", "TXT", "URI",
];

/// Most bytes of one record in a DNS message.
const WIRE: usize = 4_096;

/// Checks the content of a record whose name is settled, and brings it into the form in which the service keeps it.
///
/// # Errors
/// The type is none of the service's, or the content is not one of the type.
pub(super) fn settle(record: &mut Record, zone: &str) -> Result<(), Refusal> {
    if !KINDS.contains(&record.kind.as_str()) {
        return Err(Refusal::record(9002, "DNS record type is invalid."));
    }
    if data::is_structured(&record.kind) {
        return settle_data(record);
    }
    record.data = None;
    record.content = kept(record, zone)?;
    if record.kind == "MX" {
        record.priority.ok_or_else(|| Refusal::field("priority is a required field."))?;
    } else {
        record.priority = None;
    }
    Ok(())
}

fn settle_data(record: &mut Record) -> Result<(), Refusal> {
    let settled = data::settle(&record.kind, record.data.as_ref(), record.priority)?;
    if record.kind == "URI" {
        record.priority.ok_or_else(|| Refusal::field("priority is a required field."))?;
    } else {
        record.priority = settled.priority;
    }
    record.data = Some(settled.data);
    record.content = settled.content;
    Ok(())
}

fn kept(record: &Record, zone: &str) -> Result<String, Refusal> {
    let Record { name, kind, content, .. } = record;
    let invalid = |code: u32, what: &str| Refusal::record(code, format!("Content for {kind} record {what}."));
    match kind.as_str() {
        "A" => {
            let address = content.parse::<Ipv4Addr>().map_err(|_| invalid(9005, "must be a valid IPv4 address"))?;
            Ok(address.to_string())
        }
        "AAAA" => {
            let address = content.parse::<Ipv6Addr>().map_err(|_| invalid(9006, "must be a valid IPv6 address"))?;
            Ok(address.to_string())
        }
        "CNAME" => {
            let target = if content == "@" { Some(zone.to_owned()) } else { name::host(content) };
            let target = target.ok_or_else(|| invalid(9007, "is invalid"))?;
            if target == *name {
                return Err(Refusal::record(9039, "CNAME content cannot reference itself."));
            }
            Ok(target)
        }
        "NS" | "PTR" => name::host(content).ok_or_else(|| invalid(9008, "is invalid")),
        "MX" => name::host_or_root(content).ok_or_else(|| invalid(9009, "must be a hostname")),
        "OPENPGPKEY" if data::is_base64(content) => Ok(content.clone()),
        "TXT" => {
            let kept = text::kept(content);
            let kept = kept.ok_or_else(|| Refusal::field("Content for TXT record has unbalanced quotation marks."))?;
            if text::wire_length(&kept) > WIRE {
                return Err(Refusal::field("Content for TXT record is too long."));
            }
            Ok(kept)
        }
        _ => Err(Refusal::field(format!("Content for {kind} record is invalid."))),
    }
}

/// Whether the content may be behind the proxy: an address that the whole Internet can reach, or a host name.
pub(super) fn is_proxiable(record: &Record) -> bool {
    match record.kind.as_str() {
        "A" => record.content.parse().is_ok_and(|address: Ipv4Addr| !is_local(address)),
        "AAAA" => record.content.parse().is_ok_and(|address: Ipv6Addr| {
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_unique_local()
                || address.is_unicast_link_local())
        }),
        "CNAME" => true,
        _ => false,
    }
}

fn is_local(address: Ipv4Addr) -> bool {
    address.is_unspecified() || address.is_loopback() || address.is_private() || address.is_link_local()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, content: &str, expected: Result<&str, u32>) {
        let mut record = Record::new("www.a.org", kind, content).with_priority(1);
        let settled = settle(&mut record, "a.org").map(|()| record.content.as_str());
        assert_eq!(settled.map_err(|refusal| refusal.code), expected, "{kind} {content}");
    }

    #[test]
    fn content_has_the_form_of_its_type() {
        check("A", "192.0.2.1", Ok("192.0.2.1"));
        check("A", "1.1", Err(9005));
        check("A", "2001:db8::1", Err(9005));
        check("AAAA", "2001:DB8:0:0::1", Ok("2001:db8::1"));
        check("AAAA", "192.0.2.1", Err(9006));
        check("CNAME", "Target.B.org.", Ok("target.b.org"));
        check("CNAME", "@", Ok("a.org"));
        check("CNAME", "192.0.2.1", Err(9007));
        check("CNAME", "www.a.org", Err(9039));
        check("NS", "ns.b.org", Ok("ns.b.org"));
        check("NS", "192.0.2.1", Err(9008));
        check("MX", "Mail.b.org", Ok("mail.b.org"));
        check("MX", ".", Ok("."));
        check("MX", "10 mail.b.org", Err(9009));
        check("PTR", "b.org", Ok("b.org"));
        check("TXT", "\"a\"\"b\"", Ok("\"a\" \"b\""));
        check("TXT", "\"a", Err(9100));
        check("TXT", &"a".repeat(4_081), Err(9100));
        check("OPENPGPKEY", "AAAA", Ok("AAAA"));
        check("OPENPGPKEY", "AAA", Err(9100));
        check("DNAME", "b.org", Err(9002));
        check("SRV", "1 1 s.b.org", Err(9101));
    }

    #[test]
    fn priorities_stand_where_they_belong() {
        let mut mail = Record::new("a.org", "MX", "mail.b.org");
        assert!(settle(&mut mail, "a.org").is_err());
        let mut address = Record::new("a.org", "A", "192.0.2.1").with_priority(5);
        assert_eq!(settle(&mut address, "a.org").map(|()| address.priority), Ok(None));
        let mut service = Record::new("_s._tcp.a.org", "SRV", "ignored");
        service.data = Some(json!({ "priority": 7, "weight": 1, "port": 2, "target": "s.a.org" }));
        assert_eq!(settle(&mut service, "a.org").map(|()| service.priority), Ok(Some(7)));
        assert_eq!(service.content, "1 2 s.a.org");
    }

    #[test]
    fn only_public_addresses_are_proxied() {
        for (kind, content, expected) in [
            ("A", "192.0.2.1", true),
            ("A", "10.1.2.3", false),
            ("A", "169.254.0.1", false),
            ("A", "127.0.0.1", false),
            ("AAAA", "2001:db8::1", true),
            ("AAAA", "fd00::1", false),
            ("AAAA", "fe80::1", false),
            ("CNAME", "b.org", true),
            ("TXT", "a", false),
        ] {
            assert_eq!(is_proxiable(&Record::new("a.org", kind, content)), expected, "{content}");
        }
    }
}
