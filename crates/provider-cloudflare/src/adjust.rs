//! The form in which a set is read back, and what the service would refuse of it.
//!
//! In: a wanted set, the plan of its zone, the defaults. Out: the set as it is published, with what its object should know; or why it
//! cannot be. Comments, tags and the proxy give way to the record: what the plan or the value rules out is left out and reported. Where an
//! object itself asks for the proxy, and its value rules that out, nothing is published in its place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use zonewright_core::options::{OptionValue, Options};
use zonewright_core::provider::Adjustment;
use zonewright_core::{RData, RecordData, RecordSet, RecordType, Ttl};

use crate::config::Defaults;
use crate::convert::{self, RecordProperties, is_proxiable};
use crate::limits::Plan;
use crate::options::{COMMENT, HOSTNAMES, MIXED, PROXIED, REGION, TAGS, list, set as set_text, tags, text};

/// Most characters of all values of one name and type.
const CHARACTERS: usize = 8_192;
/// Most bytes of one value on the wire.
const BYTES: usize = 4_096;

/// What becomes of a wanted set.
pub(crate) fn adjust(set: &RecordSet, plan: Plan, defaults: &Defaults) -> Adjustment {
    if let Some(why) = refusal(set) {
        return Adjustment::Refused(why);
    }
    let mut notes = Vec::new();
    let mut options = set.options.clone();
    options.remove(MIXED);
    if let Err(why) = proxy(set, &mut options, defaults.proxied, &mut notes) {
        return Adjustment::Refused(why);
    }
    comment(&mut options, plan, &defaults.comment, &mut notes);
    tag(&mut options, plan, &mut notes);
    beside(set.key.rtype, &mut options, defaults);
    let mut set = RecordSet { options, ..set.clone() };
    // A proxied record has the service's own TTL, whatever is stated.
    set.ttl = Ttl::from_secs(RecordProperties::of(&set).ttl).map(|ttl| plan.ttl().clamp(ttl));
    Adjustment::As { sets: vec![set], notes }
}

/// Why the service would refuse this set, whatever else stands in the zone.
pub(crate) fn refusal(set: &RecordSet) -> Option<String> {
    if !crate::types().contains(&set.key.rtype) {
        return Some(format!("Cloudflare has no records of type {}", set.key.rtype));
    }
    if set.key.set_id.is_some() || !set.routing.is_simple() {
        return Some("DNS records of Cloudflare have neither routing policies nor set identifiers".to_owned());
    }
    let RecordData::Records(records) = &set.data else {
        return Some("Cloudflare has no alias records; a CNAME is flattened at the apex".to_owned());
    };
    if let Some(why) = records.iter().find_map(|data| convert::content(data).err()) {
        return Some(why);
    }
    if let Some(bytes) = records.iter().filter_map(RData::to_wire).map(|wire| wire.len()).find(|bytes| *bytes > BYTES) {
        return Some(format!("a value has {bytes} bytes; Cloudflare takes at most {BYTES}"));
    }
    let characters: usize = records.iter().map(convert::length).sum();
    (characters > CHARACTERS)
        .then(|| format!("the values have {characters} characters; Cloudflare takes at most {CHARACTERS} of one name"))
}

/// Decides on the proxy: as the object says, else as the flag does.
fn proxy(set: &RecordSet, options: &mut Options, default: bool, notes: &mut Vec<String>) -> Result<(), String> {
    let stated = match options.remove(PROXIED) {
        Some(OptionValue::Bool(stated)) => Some(stated),
        _ => None,
    };
    if !is_proxiable(set.key.rtype) {
        if stated == Some(true) {
            notes.push(format!("records of type {} cannot be proxied; it is published without", set.key.rtype));
        }
        return Ok(());
    }
    let mut proxied = stated.unwrap_or(default);
    if let Some(address) = set.data.as_records().iter().filter_map(address).find(|address| proxied && !routed(*address))
    {
        let why = format!("{address} cannot be reached from the internet, and Cloudflare proxies no such target");
        if stated.is_some() {
            return Err(format!("{why}; expected another target, or {PROXIED}: \"false\""));
        }
        notes.push(format!("{why}; it is published without the proxy"));
        proxied = false;
    }
    options.set(PROXIED, OptionValue::Bool(proxied));
    Ok(())
}

fn address(data: &RData) -> Option<IpAddr> {
    match data {
        RData::A(address) => Some(IpAddr::V4(*address)),
        RData::Aaaa(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}

/// Whether an address is one of the internet, as far as that is certain: the ranges of private networks, loopback, links, carriers
/// and the address that is none (RFC 1918, RFC 6598, RFC 4193).
fn routed(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => routed_v4(v4),
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or_else(|| routed_v6(v6), routed_v4),
    }
}

fn routed_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let carrier = first == 100 && (64..128).contains(&second);
    !(address.is_private() || address.is_loopback() || address.is_link_local() || address.is_unspecified() || carrier)
}

fn routed_v6(address: Ipv6Addr) -> bool {
    let local = address.is_unique_local() || address.is_unicast_link_local();
    !(local || address.is_loopback() || address.is_unspecified())
}

/// The comment: as the object says, else as the flag does, cut to what the plan allows.
fn comment(options: &mut Options, plan: Plan, default: &str, notes: &mut Vec<String>) {
    let stated = options.get(COMMENT).map_or_else(|| default.to_owned(), ToString::to_string);
    let line = stated.replace(['\n', '\r'], " ");
    let line = line.trim();
    let most = plan.comment();
    let cut: String = line.chars().take(most).collect();
    if cut.len() < line.len() {
        let length = line.chars().count();
        notes.push(format!("the comment has {length} characters; the {plan} plan takes {most}, the rest is left out"));
    }
    set_text(options, COMMENT, cut.trim());
}

/// The tags, as far as the plan has them.
fn tag(options: &mut Options, plan: Plan, notes: &mut Vec<String>) {
    let mut stated = tags(list(&text(options, TAGS)));
    let most = plan.tags();
    if stated.len() > most {
        notes.push(match most {
            0 => format!("the {plan} plan has no tags; the records are published without"),
            _ => format!("{} tags are stated; Cloudflare takes {most} of a record, the rest is left out", stated.len()),
        });
        stated.truncate(most);
    }
    set_text(options, TAGS, &stated.join(","));
}

/// What is kept beside the records: only what is managed, and only of names that are answered with addresses.
fn beside(rtype: RecordType, options: &mut Options, defaults: &Defaults) {
    let names = defaults.hostnames.is_some() && is_proxiable(rtype);
    let stated = text(options, HOSTNAMES).to_lowercase();
    set_text(options, HOSTNAMES, &if names { list(&stated).join(",") } else { String::new() });
    let region = match &defaults.region {
        Some(default) if is_proxiable(rtype) => {
            options.get(REGION).map_or_else(|| default.clone(), |region| region.to_string().trim().to_owned())
        }
        _ => String::new(),
    };
    set_text(options, REGION, &region);
}

#[cfg(test)]
#[path = "adjust_tests.rs"]
mod tests;
