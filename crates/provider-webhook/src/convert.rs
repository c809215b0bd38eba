//! Endpoints of the protocol to record sets, and back.
//!
//! In: what was read, or what shall be sent. Out: the other form. A set that is sent and read back is the same set.
//! What a peer lists and nobody here understands stays in the view as text ([`Content::Text`]): it is never ours, and
//! never dropped. Names are sent as A-labels without a final dot.

use std::collections::BTreeMap;

use zonewright_core::name::NameError;
use zonewright_core::options::{LABEL_PREFIX, OptionValue, Options};
use zonewright_core::rdata::{Content, Opaque};
use zonewright_core::record::{Routing, SetId};
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType, Ttl};

use crate::wire::{Endpoint, Property};

/// How texts of TXT records are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// As a wanted record: the bare text where it can be distinguished from the quoted form.
    Bare,
    /// As external-dns writes claims: in quotes.
    Quoted,
}

/// The set as an endpoint.
///
/// # Errors
/// A sentence about what the protocol cannot express.
pub(crate) fn encode(set: &RecordSet, quoting: Quoting) -> Result<Endpoint, String> {
    let RecordData::Records(records) = &set.data else {
        return Err(format!("{}: the webhook protocol has no alias records, only the property `alias`", set.key));
    };
    if set.routing != Routing::Simple {
        return Err(format!("{}: the webhook protocol has no routing policies, only properties", set.key));
    }
    let (labels, properties): (Vec<_>, Vec<_>) =
        set.options.iter().map(|(key, value)| (key, value.to_string())).partition(|(k, _)| k.starts_with(LABEL_PREFIX));
    let label = |(key, value): (&str, String)| Some((key.strip_prefix(LABEL_PREFIX)?.to_owned(), value));
    Ok(Endpoint {
        name: set.key.name.as_str().to_owned(),
        targets: records.iter().map(|data| target(data, quoting)).collect(),
        rtype: set.key.rtype.to_string(),
        set_id: set.key.set_id.as_ref().map_or_else(String::new, |id| id.as_str().to_owned()),
        ttl: set.ttl.map_or(0, |ttl| i64::from(ttl.secs())),
        labels: labels.into_iter().filter_map(label).collect(),
        properties: properties.into_iter().map(|(name, value)| Property { name: name.to_owned(), value }).collect(),
    })
}

/// The set as it would be asked for again: without what is sent as labels, and with a TTL of 0 as the unset one that it
/// means in the protocol.
pub(crate) fn plain(set: &RecordSet) -> RecordSet {
    let mut options = Options::default();
    for (key, value) in set.options.iter().filter(|(key, _)| !key.starts_with(LABEL_PREFIX)) {
        options.set(key, value.clone());
    }
    RecordSet { options, ttl: set.ttl.filter(|ttl| ttl.secs() > 0), ..set.clone() }
}

/// The endpoint as a set; `unset` is what a TTL of 0 becomes.
///
/// # Errors
/// The name is no domain name, so that no record can stand there.
pub(crate) fn decode(endpoint: &Endpoint, unset: Option<Ttl>) -> Result<RecordSet, NameError> {
    let rtype = record_type(&endpoint.rtype);
    let mut options = Options::default();
    for Property { name, value } in &endpoint.properties {
        options.set(name, OptionValue::Text(value.as_str().into()));
    }
    Ok(RecordSet {
        key: RecordKey { name: DnsName::parse(&endpoint.name)?, rtype, set_id: SetId::new(&endpoint.set_id) },
        ttl: ttl(endpoint.ttl).or(unset),
        data: RecordData::records(endpoint.targets.iter().map(|text| data(rtype, text))),
        routing: Routing::Simple,
        options,
    })
}

/// The type of this name; what can be the name of no type counts as one of its own.
fn record_type(text: &str) -> RecordType {
    text.parse().unwrap_or_else(|_| "UNREADABLE".parse().expect("upper-case letters are the name of a type"))
}

/// A TTL of the protocol; 0 and less is unset, what is too large becomes the largest.
pub(crate) fn ttl(seconds: i64) -> Option<Ttl> {
    let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
    (seconds > 0).then(|| Ttl::from_secs(seconds).unwrap_or(Ttl::MAX))
}

fn data(rtype: RecordType, text: &str) -> RData {
    let opaque = |_| RData::Other(Box::new(Opaque { rtype, content: Content::Text(text.to_owned()) }));
    RData::parse(rtype, text).unwrap_or_else(opaque)
}

/// One target. As in external-dns host names have no final dot, except in SRV and NAPTR.
fn target(data: &RData, quoting: Quoting) -> String {
    match data {
        RData::Cname(name) | RData::Dname(name) | RData::Ns(name) | RData::Ptr(name) => name.as_str().to_owned(),
        RData::Mx { preference, exchange } => format!("{preference} {exchange}"),
        RData::Txt(txt) => {
            txt.text().and_then(|text| short_text(data, &text, quoting)).unwrap_or_else(|| data.to_string())
        }
        other => other.to_string(),
    }
}

/// The text without escapes, if it is read back as the same data.
fn short_text(data: &RData, text: &str, quoting: Quoting) -> Option<String> {
    let short = if quoting == Quoting::Quoted { format!("\"{text}\"") } else { text.to_owned() };
    (RData::parse(RecordType::Txt, &short).as_ref() == Ok(data)).then_some(short)
}

/// How a peer spelled what it listed, where that is not how we would: `bücher.example` for its A-labels, a final dot, a
/// quoted text. The old side of a change is sent as the peer knows it, since it may look for exactly that.
#[derive(Debug, Default)]
pub(crate) struct Spellings(BTreeMap<RecordKey, Endpoint>);

impl Spellings {
    /// Remembers an endpoint, if it is spelled in another way than ours.
    pub(crate) fn note(&mut self, set: &RecordSet, endpoint: Endpoint) {
        let alike = |quoting| encode(set, quoting).is_ok_and(|ours| same(&ours, &endpoint));
        let is_claim = endpoint.targets.first().is_some_and(|text| text.starts_with("\"heritage="));
        if !alike(if is_claim { Quoting::Quoted } else { Quoting::Bare }) {
            self.0.insert(set.key.clone(), Endpoint { labels: BTreeMap::new(), ..endpoint });
        }
    }

    /// Forgets how a key was spelled.
    pub(crate) fn forget(&mut self, key: &RecordKey) {
        self.0.remove(key);
    }

    /// The old side of a change.
    ///
    /// # Errors
    /// As [`encode`].
    pub(crate) fn old(&self, set: &RecordSet, quoting: Quoting) -> Result<Endpoint, String> {
        let known = self.0.get(&set.key).filter(|_| quoting == Quoting::Bare);
        let still = |endpoint: &&Endpoint| decode(endpoint, Some(Ttl::ZERO)).is_ok_and(|read| read == *set);
        known.filter(still).map_or_else(|| encode(set, quoting), |endpoint| Ok(endpoint.clone()))
    }
}

/// Whether two endpoints are spelled alike; the order of targets and properties carries no meaning.
fn same(a: &Endpoint, b: &Endpoint) -> bool {
    let sorted = |endpoint: &Endpoint| {
        let mut targets = endpoint.targets.clone();
        targets.sort();
        let mut properties: Vec<_> = endpoint.properties.iter().map(|p| (p.name.clone(), p.value.clone())).collect();
        properties.sort();
        (endpoint.name.clone(), endpoint.rtype.clone(), targets, properties)
    };
    sorted(a) == sorted(b)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
