//! Record sets in the form of the service, both ways.
//!
//! In: record sets of an answer. Out: [`RecordSet`]s, and back. What must hold: what is read and written again says the same; what is
//! not understood is kept as it is, so that it can be deleted exactly and is never taken for something else.

use zonewright_core::options::Options;
use zonewright_core::rdata::{Content, Opaque};
use zonewright_core::record::Routing;
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType, Ttl};

use crate::policy;
use crate::wire::Rrset;

/// The TTL of sets whose object states none, as in external-dns.
pub(crate) const DEFAULT_TTL: u32 = 300;

/// Reads a set of an answer.
///
/// # Errors
/// Why its name or type cannot be read. Values that cannot be read are kept as text.
pub(crate) fn read(answer: &Rrset) -> Result<RecordSet, String> {
    let rtype: RecordType = answer.rtype.parse().map_err(|error| format!("{}: {error}", answer.name))?;
    let name = DnsName::parse(&answer.name).map_err(|error| error.to_string())?;
    let data = match &answer.policy {
        Some(policy) => policy::read(rtype, policy),
        None => RecordData::records(values(rtype, &answer.rrdatas)),
    };
    let ttl = Ttl::from_secs(answer.ttl.unwrap_or(0)).unwrap_or(Ttl::ZERO);
    Ok(RecordSet {
        key: RecordKey::simple(name, rtype),
        ttl: Some(ttl),
        data,
        routing: Routing::Simple,
        options: Options::default(),
    })
}

/// Values of an answer.
pub(crate) fn values<'t>(
    rtype: RecordType,
    texts: impl IntoIterator<Item = &'t String>,
) -> impl Iterator<Item = RData> {
    texts.into_iter().map(move |text| RData::parse(rtype, text).unwrap_or_else(|_| opaque(rtype, text.clone())))
}

/// Data that is kept as text.
pub(crate) fn opaque(rtype: RecordType, text: String) -> RData {
    RData::Other(Box::new(Opaque { rtype, content: Content::Text(text) }))
}

/// Writes a set as it is sent. `stood` is what the service holds of it now: what of a routing policy stays is sent as it was read.
///
/// # Errors
/// What of it the service has no form for.
pub(crate) fn write(set: &RecordSet, stood: Option<&Rrset>) -> Result<Rrset, String> {
    let rtype = set.key.rtype;
    let (rrdatas, policy) = match &set.data {
        RecordData::Records(records) => match policy::of_opaque(records) {
            Some(policy) => (Vec::new(), Some(policy)),
            None => (records.iter().map(ToString::to_string).collect(), None),
        },
        RecordData::Items(items) => {
            (Vec::new(), Some(policy::write(rtype, items, stood.and_then(|stood| stood.policy.as_ref()))?))
        }
        RecordData::Alias(_) => return Err("Cloud DNS has no alias records here".to_owned()),
    };
    Ok(Rrset {
        name: set.key.name.fqdn(),
        rtype: rtype.to_string(),
        ttl: Some(set.ttl.map_or(DEFAULT_TTL, Ttl::secs)),
        rrdatas,
        policy,
        rest: serde_json::Map::new(),
    })
}

/// Whether both say the same to the service, apart from the name of their kind.
pub(crate) fn is_spelled(ours: &Rrset, answer: &Rrset) -> bool {
    let rest = |set: &Rrset| set.rest.keys().any(|key| key != "kind" && !policy::is_nothing(set.rest.get(key)));
    ours.name == answer.name
        && ours.rtype == answer.rtype
        && ours.ttl == answer.ttl
        && ours.rrdatas == answer.rrdatas
        && !rest(answer)
        && match (&ours.policy, &answer.policy) {
            (None, None) => true,
            (Some(ours), Some(answer)) => policy::is_same(ours, answer),
            _ => false,
        }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
