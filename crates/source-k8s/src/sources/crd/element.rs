//! One element of `spec.endpoints`, from texts to record data.
//!
//! In come the element and its parsed name, out goes what it asks for, or the part of it that is wrong and what was
//! expected there.

use std::net::IpAddr;

use zonewright_core::{DnsName, RData, RecordType};

use crate::objects::WantedRecord;

/// What an element asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) rtype: RecordType,
    pub(super) data: Data,
}

/// Where the texts of targets may end in a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinalDots {
    /// Where external-dns takes them in DNSEndpoints, which it checks.
    AsExternalDns,
    /// Everywhere: it does not check what a connector says.
    Any,
}

/// What the record set shall hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Data {
    /// These records; none where default targets may stand in.
    Records(Vec<RData>),
    /// What a provider makes of a host: an address record with the property `alias`, whose target is a name.
    Alias(DnsName),
}

/// The field of the element that is wrong, and a sentence.
pub(super) type Problem = (String, String);

impl Element {
    /// Reads an element that asks for records at `name`.
    pub(super) fn read(name: &DnsName, wanted: &WantedRecord, dots: FinalDots) -> Result<Self, Problem> {
        let rtype = record_type(&wanted.record_type)?;
        check_name(name, rtype)?;
        check_alias(wanted, rtype)?;
        if let Some(host) = alias(wanted, rtype) {
            return Ok(Self { rtype, data: Data::Alias(host) });
        }
        if wanted.targets.is_empty() && needs_target(rtype) {
            return Err(("targets".to_owned(), format!("a {rtype} needs a target; expected one")));
        }
        let targets = wanted.targets.iter().enumerate();
        let records: Result<Vec<RData>, Problem> = targets.map(|(at, text)| target(rtype, at, text, dots)).collect();
        Ok(Self { rtype, data: Data::Records(records?) })
    }
}

/// The type by its exact name: other spellings are types of their own to external-dns, which no provider has.
fn record_type(text: &str) -> Result<RecordType, Problem> {
    let known = RecordType::WRITABLE.into_iter().find(|rtype| rtype.to_string() == text);
    known.ok_or_else(|| {
        let known = RecordType::WRITABLE.map(|rtype| rtype.to_string()).join(", ");
        ("recordType".to_owned(), format!("{text:?} is no type that can be written; expected one of {known}"))
    })
}

/// A pointer stands at the reverse name of an address.
fn check_name(name: &DnsName, rtype: RecordType) -> Result<(), Problem> {
    let reverse = [".in-addr.arpa", ".ip6.arpa"].iter().any(|suffix| name.as_str().ends_with(suffix));
    if rtype == RecordType::Ptr && !reverse {
        let problem = "a PTR stands at the reverse name of an address; expected a name in in-addr.arpa or ip6.arpa";
        return Err(("dnsName".to_owned(), problem.to_owned()));
    }
    Ok(())
}

fn property<'w>(wanted: &'w WantedRecord, name: &str) -> Option<&'w str> {
    wanted.provider_specific.iter().find(|property| &*property.name == name).map(|property| &*property.value)
}

fn check_alias(wanted: &WantedRecord, rtype: RecordType) -> Result<(), Problem> {
    let has_form = matches!(rtype, RecordType::A | RecordType::Aaaa | RecordType::Cname);
    if has_form || property(wanted, "alias").is_none() {
        return Ok(());
    }
    let problem = format!("a {rtype} has no alias form; expected the property `alias` on A, AAAA or CNAME only");
    Err(("providerSpecific".to_owned(), problem))
}

/// The host of an alias: an address record with the property, and a name where the address would stand.
fn alias(wanted: &WantedRecord, rtype: RecordType) -> Option<DnsName> {
    let [target] = &*wanted.targets else { return None };
    let asked_for = rtype.is_address() && property(wanted, "alias") == Some("true");
    let is_host = || RData::type_of_target(target) == RecordType::Cname;
    (asked_for && is_host()).then(|| DnsName::parse(target).ok()).flatten().filter(|host| host.check_owner().is_ok())
}

fn needs_target(rtype: RecordType) -> bool {
    matches!(rtype, RecordType::Cname | RecordType::Dname | RecordType::Ptr)
}

fn target(rtype: RecordType, at: usize, text: &str, dots: FinalDots) -> Result<RData, Problem> {
    let wrong = |problem: String| (format!("targets[{at}]"), problem);
    if dots == FinalDots::AsExternalDns {
        check_dot(rtype, text).map_err(wrong)?;
    }
    if names_host(rtype) && text.parse::<IpAddr>().is_ok() {
        return Err(wrong(format!("{text:?} is an address; expected the name of a host")));
    }
    RData::parse(rtype, text).map_err(|problem| wrong(problem.to_string()))
}

fn names_host(rtype: RecordType) -> bool {
    matches!(rtype, RecordType::Cname | RecordType::Dname | RecordType::Ns | RecordType::Ptr)
}

/// Where external-dns wants a final dot, where it wants none, and where it does not mind.
fn check_dot(rtype: RecordType, text: &str) -> Result<(), String> {
    let undotted = text.strip_suffix('.');
    match (rtype, undotted) {
        (RecordType::Naptr | RecordType::Srv, None) => {
            Err(format!("use \"{text}.\" not {text:?}: expected a final dot"))
        }
        (RecordType::A | RecordType::Aaaa | RecordType::Ns | RecordType::Ptr, Some(bare)) => {
            Err(format!("use {bare:?} not {text:?}: expected no final dot"))
        }
        _ => Ok(()),
    }
}
