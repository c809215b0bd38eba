//! Routing policies whose items share one record set (Cloud DNS): each item as a record set of its own, and back.
//!
//! In: whole record sets, as the service has them, and our claims. Out: a set for each item, under the set identifier that our
//! claim names ([`mod@name`]), or else under one that is made from what the item holds; and changes of such sets as changes of the
//! whole ones ([`merge`]). Pure. What must hold: splitting and merging again gives the same whole set; a change of our items
//! leaves every other item as it is; an item is ours only while it holds exactly what our claim says of it.

pub mod merge;
pub mod name;
pub mod ttl;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::record::{GeoPlace, Item, RecordData, RecordKey, RecordSet, Routing, SetId};

/// The further label by which a claim says which item of a shared record set it is for ([`label`]). External-dns passes it on.
pub const ITEM_LABEL: &str = "zonewright-item";

/// What identifiers begin with that are made from what an item holds.
const UNNAMED: char = '=';

/// What a policy chooses an item by: `weighted:10`, `geolocation:EU.DE.`, `failover:primary`; `simple` without a policy.
///
/// ```
/// use zonewright_core::in_set::policy_key;
/// use zonewright_core::record::Routing;
///
/// assert_eq!(policy_key(&Routing::Weighted { weight: 10 }), "weighted:10");
/// ```
pub fn policy_key(routing: &Routing) -> String {
    match routing {
        Routing::Simple => "simple".to_owned(),
        Routing::Weighted { weight } => format!("weighted:{weight}"),
        Routing::Latency { region } => format!("latency:{region}"),
        Routing::Failover { primary } => format!("failover:{}", if *primary { "primary" } else { "secondary" }),
        Routing::Geolocation { location } => {
            let part = |part: &Option<std::sync::Arc<str>>| part.as_deref().unwrap_or_default().to_owned();
            format!(
                "geolocation:{}.{}.{}",
                part(&location.continent),
                part(&location.country),
                part(&location.subdivision)
            )
        }
        Routing::Geoproximity { place, bias } => match place {
            GeoPlace::Region(region) => format!("geoproximity:{region}+{bias}"),
            GeoPlace::LocalZoneGroup(group) => format!("geoproximity:group:{group}+{bias}"),
            GeoPlace::Coordinates(latitude, longitude) => format!("geoproximity:{latitude},{longitude}+{bias}"),
        },
        Routing::Multivalue => "multivalue".to_owned(),
    }
}

/// What two items of one set cannot have in common: what the policy chooses them by, and where any number may have that (weights,
/// multivalue) the records too, since nothing would distinguish two such items.
pub fn place(routing: &Routing, data: &RecordData) -> String {
    let key = policy_key(routing);
    match routing {
        Routing::Weighted { .. } | Routing::Multivalue => format!("{key} {}", digest(routing, data)),
        _ => key,
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of what an item holds: its policy and its records.
fn digest(routing: &Routing, data: &RecordData) -> String {
    let mut hash = Sha256::new();
    hash.update(policy_key(routing));
    for record in data.as_records() {
        hash.update([0]);
        hash.update(record.to_string());
    }
    hash.finalize().iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What the claim on an item says of it: `SET/KEY/DIGEST`, its set identifier, what the policy chooses it by, and a digest of
/// both policy and records. Bytes that a claim cannot hold, or that would be read otherwise, stand as `%XX`. `None` for a set that
/// is no item.
///
/// ```
/// use zonewright_core::in_set::{label, set_id_of};
/// use zonewright_core::record::{Routing, SetId};
/// use zonewright_core::{DnsName, RData, RecordSet, RecordType};
///
/// let data = RData::parse(RecordType::A, "192.0.2.1").unwrap();
/// let mut set = RecordSet::simple(DnsName::parse("www.example.com")?, RecordType::A, None, [data]);
/// assert_eq!(label(&set), None);
/// set.key.set_id = SetId::new("a, b");
/// set.routing = Routing::Weighted { weight: 10 };
/// let label = label(&set).unwrap();
/// assert!(label.starts_with("a%2C%20b/weighted:10/"), "{label}");
/// assert_eq!(set_id_of(&label), SetId::new("a, b"));
/// # Ok::<(), zonewright_core::name::NameError>(())
/// ```
pub fn label(set: &RecordSet) -> Option<String> {
    let set_id = set.key.set_id.as_ref().filter(|_| !set.routing.is_simple())?;
    let digest = digest(&set.routing, &set.data);
    Some(format!("{}/{}/{digest}", escaped(set_id.as_str()), escaped(&policy_key(&set.routing))))
}

fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._:+".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// The set identifier that a [`label`] names; `None` if it is none.
pub fn set_id_of(label: &str) -> Option<SetId> {
    let (escaped, rest) = label.split_once('/')?;
    rest.split_once('/')?;
    let mut bytes = Vec::new();
    let mut left = escaped.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let hex = [left.next()?, left.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?);
    }
    SetId::new(&String::from_utf8(bytes).ok()?)
}

/// Whether a set is an item that no claim of ours is for: its identifier is made from what it holds.
pub fn is_unnamed(key: &RecordKey) -> bool {
    key.set_id.as_ref().is_some_and(|id| id.as_str().starts_with(UNNAMED))
}

/// The items of a whole set, each as a set of its own; any other set as it is.
pub fn split(whole: RecordSet) -> Vec<RecordSet> {
    let RecordData::Items(items) = whole.data else { return vec![whole] };
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let one = |Item { routing, records }: Item| {
        let data = RecordData::records(records);
        let mut id = format!("{UNNAMED}{}/{}", policy_key(&routing), digest(&routing, &data));
        // Equal items are distinguished by their number: nothing else does.
        let count = seen.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let _ = write!(id, "/{count}");
        }
        let key = RecordKey { set_id: SetId::new(&id), ..whole.key.clone() };
        RecordSet { key, ttl: whole.ttl, data, routing, options: whole.options.clone() }
    };
    items.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests;
