//! From a DNSRecord to what is asked of a zone. Pure.
//!
//! In: an object. Out: an [`Endpoint`], or the sentence that says which field is wrong. What must hold: names and values are
//! parsed here and nowhere else, since nobody need have checked the object before; a dot at the end of a name says nothing;
//! values mean the same in any order.

use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use zonewright_core::claim_text::reads_as_claim;
use zonewright_core::endpoint::{Endpoint, EndpointExtras, ObjectRef, Origin, Sharing, Targets, TypeMeta};
use zonewright_core::options::Properties;
use zonewright_core::rdata::Txt;
use zonewright_core::{DnsName, RData, RecordType, Ttl};

use crate::secret::ProviderKind;
use crate::types::{DnsRecord, IP_STACK};

/// Precedes a provider's option that `spec.providerConfig` states, in the place of an annotation prefix.
pub const PROVIDER_CONFIG: &str = "providerConfig/";
/// Seconds where an object states no TTL.
const DEFAULT_TTL: u32 = 120;

/// The address families of an alias that stands in place of a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpStack {
    /// A.
    Ipv4,
    /// AAAA.
    Ipv6,
    /// Both.
    Dual,
}

impl IpStack {
    /// What an object says; `ipv4` where it says nothing, or what nobody knows.
    pub fn of(record: &DnsRecord) -> Self {
        match record.annotation(IP_STACK) {
            Some("ipv6") => Self::Ipv6,
            Some("dual-stack") => Self::Dual,
            _ => Self::Ipv4,
        }
    }

    /// Whether an alias of this type stands.
    pub fn has(self, rtype: RecordType) -> bool {
        match self {
            Self::Ipv4 => rtype == RecordType::A,
            Self::Ipv6 => rtype == RecordType::Aaaa,
            Self::Dual => rtype.is_address(),
        }
    }
}

/// Name and type of what an object asks for.
///
/// # Errors
/// The field, and what was expected.
pub fn key(record: &DnsRecord) -> Result<(DnsName, RecordType), String> {
    let text = &record.spec.name;
    let name = DnsName::parse(text.trim())
        .map_err(|error| format!("spec.name {text:?}: {error}; expected a fully qualified domain name"))?;
    if name.is_root() {
        return Err(format!("spec.name {text:?}: expected a fully qualified domain name"));
    }
    Ok((name, record_type(record)?))
}

fn record_type(record: &DnsRecord) -> Result<RecordType, String> {
    match record.spec.record_type.as_str() {
        "A" => Ok(RecordType::A),
        "AAAA" => Ok(RecordType::Aaaa),
        "CNAME" => Ok(RecordType::Cname),
        "TXT" => Ok(RecordType::Txt),
        other => Err(format!("spec.recordType {other:?}: expected A, AAAA, CNAME or TXT")),
    }
}

/// What an object asks for.
///
/// # Errors
/// The field, and what was expected.
pub fn endpoint(record: &DnsRecord) -> Result<Endpoint, String> {
    let (name, rtype) = key(record)?;
    name.check_owner().map_err(|error| format!("spec.name {:?}: {error}", record.spec.name))?;
    let values = &record.spec.values;
    let mut data: Vec<RData> = Vec::with_capacity(values.len());
    for text in values {
        let value = value(rtype, text)?;
        if reads_as_claim(&value) {
            return Err(
                "spec.values: a text reads as an ownership record, and could give others' records away".to_owned()
            );
        }
        if !data.contains(&value) {
            data.push(value);
        }
    }
    if data.is_empty() {
        return Err("spec.values: expected at least one value".to_owned());
    }
    if rtype == RecordType::Cname && data.len() > 1 {
        return Err(format!("spec.values: a CNAME has one value, and {} are given", data.len()));
    }
    Ok(Endpoint {
        name,
        rtype,
        ttl: Some(ttl(record)?),
        extras: EndpointExtras { properties: properties(record, &data)?, ..EndpointExtras::default() }.into(),
        targets: Targets::Records(data),
        origin: Arc::new(origin(record)),
        resource: Some(resource(&record.metadata.namespace, &record.metadata.name)),
        sharing: Sharing::Holder,
        policy: None,
    })
}

fn value(rtype: RecordType, text: &str) -> Result<RData, String> {
    let wrong =
        |expected: &str| format!("spec.values: {text:?} is no value of a record of type {rtype}; expected {expected}");
    match rtype {
        RecordType::Txt => Ok(txt(text)),
        RecordType::Cname => RData::parse(rtype, text.trim()).map_err(|_| wrong("a host name")),
        _ => {
            let address: Option<IpAddr> = text.trim().parse().ok();
            match (rtype, address) {
                (RecordType::A, Some(IpAddr::V4(address))) => Ok(RData::A(address)),
                (RecordType::Aaaa, Some(IpAddr::V6(address))) => Ok(RData::Aaaa(address)),
                (RecordType::A, _) => Err(wrong("an IPv4 address")),
                _ => Err(wrong("an IPv6 address")),
            }
        }
    }
}

/// A text as it is, of any length. One that is strings in quotes and nothing else, as zone files have it, is read as such: that is what
/// the controllers before this one were given.
fn txt(text: &str) -> RData {
    let parsed = is_quoted(text).then(|| RData::parse(RecordType::Txt, text).ok()).flatten();
    parsed.unwrap_or_else(|| RData::Txt(Txt::from_text(text)))
}

/// Whether a text begins and ends with a quote, and only blanks stand between its strings in quotes.
fn is_quoted(text: &str) -> bool {
    let (mut inside, mut escaped) = (false, false);
    let fits = text.chars().all(|c| {
        if escaped || c == '\\' && inside {
            escaped = !escaped;
        } else if c == '"' {
            inside = !inside;
        } else {
            return inside || c.is_ascii_whitespace();
        }
        true
    });
    fits && !inside && text.starts_with('"') && text.ends_with('"')
}

fn ttl(record: &DnsRecord) -> Result<Ttl, String> {
    let Some(seconds) = record.spec.ttl else {
        return Ok(Ttl::from_secs(DEFAULT_TTL).unwrap_or(Ttl::ZERO));
    };
    let ttl = u32::try_from(seconds).ok().and_then(Ttl::from_secs);
    ttl.ok_or_else(|| format!("spec.ttl {seconds}: expected 0 to {} seconds", Ttl::MAX))
}

/// The resource that a claim on an object's records names.
pub fn resource(namespace: &str, name: &str) -> Arc<str> {
    Arc::from(format!("dnsrecord/{namespace}/{name}"))
}

/// The object, for events and claims.
pub fn object(record: &DnsRecord) -> ObjectRef {
    ObjectRef {
        types: TypeMeta::new("extensions.gardener.cloud/v1alpha1", "DNSRecord"),
        namespace: record.metadata.namespace.as_str().into(),
        name: record.metadata.name.as_str().into(),
        uid: record.metadata.uid.as_str().into(),
    }
}

fn origin(record: &DnsRecord) -> Origin {
    let created = record.metadata.creation_timestamp.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
    Origin {
        source: "gardener".into(),
        rank: 0,
        object: object(record),
        created: created.map(Timestamp::as_second),
        choice: None,
    }
}

/// What goes to the provider beside the values.
fn properties(record: &DnsRecord, data: &[RData]) -> Result<Properties, String> {
    let provider = ProviderKind::parse(&record.spec.provider);
    // Load balancers in the regions of the US government are no targets of aliases: their accounts are apart from all others.
    let apart = |host: &DnsName| host.labels().any(|label| label.starts_with("us-gov-"));
    if provider == Some(ProviderKind::Route53) && data.iter().filter_map(RData::target).any(apart) {
        return Ok([("alias".into(), "false".into())].into());
    }
    let config = record.spec.provider_config.as_ref();
    let proxied = config.and_then(|config| config.get("proxied")).filter(|value| !value.is_null());
    match (provider, proxied) {
        (Some(ProviderKind::Cloudflare), Some(Value::Bool(yes))) => {
            Ok([(format!("{PROVIDER_CONFIG}cloudflare-proxied").into(), yes.to_string().into())].into())
        }
        (Some(ProviderKind::Cloudflare), Some(_)) => {
            Err("spec.providerConfig.proxied: expected true or false".to_owned())
        }
        _ => Ok(Properties::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(name: &str, rtype: &str, values: &[&str], ttl: Option<i64>) -> Result<String, String> {
        let mut record = DnsRecord::default();
        record.spec.name = name.to_owned();
        record.spec.record_type = rtype.to_owned();
        record.spec.values = values.iter().map(|value| (*value).to_owned()).collect();
        record.spec.ttl = ttl;
        let endpoint = endpoint(&record)?;
        let ttl = endpoint.ttl.map_or(0, Ttl::secs);
        Ok(format!("{ttl} {endpoint}"))
    }

    #[test]
    fn what_is_asked_for() {
        let check = |name: &str, rtype: &str, values: &[&str], expected: &str| {
            assert_eq!(asked(name, rtype, values, None).as_deref(), Ok(expected), "{name} {rtype} {values:?}");
        };
        check("api.example.com", "A", &["192.0.2.1"], "120 api.example.com A 192.0.2.1");
        check("api.example.com.", "A", &["192.0.2.2", "192.0.2.1"], "120 api.example.com A 192.0.2.2 192.0.2.1");
        check("*.ingress.example.com", "A", &["192.0.2.1"], "120 *.ingress.example.com A 192.0.2.1");
        check("a.example.com", "AAAA", &["2001:0DB8::0:1"], "120 a.example.com AAAA 2001:db8::1");
        check("a.example.com", "CNAME", &["b.example.com."], "120 a.example.com CNAME b.example.com.");
        check("A.Example.com", "CNAME", &["B.example.com"], "120 a.example.com CNAME b.example.com.");
        check("a.example.com", "A", &["192.0.2.1", "192.0.2.1"], "120 a.example.com A 192.0.2.1");
        check("_acme-challenge.example.com", "TXT", &["token"], "120 _acme-challenge.example.com TXT \"token\"");
        check(
            "a.example.com",
            "TXT",
            &["\"quoted\"", "a \"b\" \\c"],
            "120 a.example.com TXT \"quoted\" \"a \\\"b\\\" \\\\c\"",
        );
        check("a.example.com", "TXT", &[""], "120 a.example.com TXT \"\"");
    }

    #[test]
    fn what_cannot_be() {
        let check = |name: &str, rtype: &str, values: &[&str], ttl: Option<i64>, field: &str| {
            let error = asked(name, rtype, values, ttl).unwrap_err();
            assert!(error.starts_with(field), "{error}");
        };
        check("", "A", &["192.0.2.1"], None, "spec.name");
        check("a..b", "A", &["192.0.2.1"], None, "spec.name");
        check("a.b", "MX", &["10 m"], None, "spec.recordType \"MX\"");
        check("a.b", "a", &["192.0.2.1"], None, "spec.recordType");
        check("a.b", "A", &[], None, "spec.values");
        check("a.b", "A", &["2001:db8::1"], None, "spec.values: \"2001:db8::1\" is no value of a record of type A");
        check("a.b", "AAAA", &["192.0.2.1"], None, "spec.values");
        check("a.b", "A", &["192.0.2.1", "web"], None, "spec.values: \"web\"");
        check("a.b", "CNAME", &["c.d", "e.f"], None, "spec.values: a CNAME has one value");
        check("a.b", "TXT", &["heritage=external-dns,external-dns/owner=me"], None, "spec.values: a text reads as");
        check("a.b", "A", &["192.0.2.1"], Some(-1), "spec.ttl -1");
        check("a.b", "A", &["192.0.2.1"], Some(2_147_483_648), "spec.ttl");
    }

    #[test]
    fn balancers_of_the_us_government_are_no_targets_of_aliases() {
        let stated = |provider: &str, host: &str| {
            let mut record = DnsRecord::default();
            record.spec.provider = provider.to_owned();
            record.spec.name = "a.example.com".to_owned();
            record.spec.record_type = "CNAME".to_owned();
            record.spec.values = vec![host.to_owned()];
            endpoint(&record).unwrap().extras.properties.get("alias").map(ToString::to_string)
        };
        assert_eq!(stated("aws-route53", "web.us-gov-west-1.elb.amazonaws.com").as_deref(), Some("false"));
        assert_eq!(stated("aws-route53", "web.elb.us-gov-east-1.amazonaws.com").as_deref(), Some("false"));
        assert_eq!(stated("aws-route53", "web.us-east-1.elb.amazonaws.com"), None);
        assert_eq!(stated("rfc2136", "web.us-gov-west-1.elb.amazonaws.com"), None);
    }

    #[test]
    fn what_the_provider_alone_understands() {
        let stated = |provider: &str, config: Value| {
            let mut record = crate::testing::record("a.example.com A 192.0.2.1");
            record.spec.provider = provider.to_owned();
            record.spec.provider_config = Some(config);
            endpoint(&record).map(|endpoint| {
                endpoint.extras.properties.get("providerConfig/cloudflare-proxied").map(ToString::to_string)
            })
        };
        let proxied = |value: Value| stated("cloudflare-dns", json!({ "apiVersion": "x/v1", "proxied": value }));
        assert_eq!(proxied(json!(true)), Ok(Some("true".to_owned())));
        assert_eq!(proxied(json!(false)), Ok(Some("false".to_owned())));
        assert_eq!((proxied(json!(null)), stated("cloudflare-dns", json!({}))), (Ok(None), Ok(None)));
        assert!(proxied(json!("yes")).unwrap_err().starts_with("spec.providerConfig.proxied"));
        assert_eq!(stated("rfc2136", json!({ "proxied": "yes" })), Ok(None), "others do not read it");
    }

    #[test]
    fn times_to_live() {
        let ttl = |seconds| asked("a.b", "A", &["192.0.2.1"], seconds).unwrap();
        assert!(ttl(None).starts_with("120 ") && ttl(Some(0)).starts_with("0 ") && ttl(Some(60)).starts_with("60 "));
    }

    #[test]
    fn a_text_is_in_the_form_of_zone_files_where_all_of_it_is_quoted() {
        let check = |text: &str, expected: &[&str]| {
            let RData::Txt(txt) = txt(text) else { panic!() };
            let strings: Vec<String> = txt.strings().map(|one| String::from_utf8(one.to_vec()).unwrap()).collect();
            assert_eq!(strings, expected, "{text}");
        };
        check(r#""a""#, &["a"]);
        check(r#""a" "b c""#, &["a", "b c"]);
        check(r#""say \"hi\"""#, &[r#"say "hi""#]);
        check(r#""""#, &[""]);
        for text in [r#""a" and "b""#, r#""a"b "c""#, r#"a "b""#, r#""a" b"#, r#""a\""#, r#"""#, r#"""a"b"""#, "  "] {
            check(text, &[text]);
        }
    }

    #[test]
    fn long_texts_are_cut_into_strings() {
        let RData::Txt(txt) = txt(&"x".repeat(600)) else { panic!() };
        assert_eq!(txt.strings().map(<[u8]>::len).collect::<Vec<_>>(), [255, 255, 90]);
    }

    #[test]
    fn address_families_of_aliases() {
        let of = |annotation: Option<&str>| {
            let mut record = DnsRecord::default();
            if let Some(value) = annotation {
                record.metadata.annotations.insert(IP_STACK.to_owned(), value.to_owned());
            }
            let stack = IpStack::of(&record);
            [RecordType::A, RecordType::Aaaa, RecordType::Cname].map(|rtype| stack.has(rtype))
        };
        assert_eq!(of(None), [true, false, false]);
        assert_eq!(of(Some("ipv4")), [true, false, false]);
        assert_eq!(of(Some("ipv6")), [false, true, false]);
        assert_eq!(of(Some("dual-stack")), [true, true, false]);
        assert_eq!(of(Some("other")), [true, false, false]);
    }
}
