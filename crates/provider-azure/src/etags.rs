//! The ETag of each record set, as it was read or written last.
//!
//! A write states what stood before by its ETag. One is good as long as it goes with what the change takes for standing: a set of other
//! content was read at another time. What is kept of content is a digest: a zone of 10,000 sets takes about a megabyte. What must hold: a
//! listing of the whole zone leaves nothing here that it did not show.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zonewright_core::zone::ZoneId;
use zonewright_core::{RecordKey, RecordSet};

/// The ETags by zone.
#[derive(Debug, Default)]
pub(crate) struct Etags(Mutex<HashMap<ZoneId, OfZone>>);

/// Those of one zone.
#[derive(Debug, Default)]
struct OfZone {
    /// Listings that have begun.
    listings: u64,
    /// By the digest of the set's key.
    sets: HashMap<u64, Known>,
}

#[derive(Debug)]
struct Known {
    /// Of the whole set.
    content: u64,
    etag: Box<str>,
    /// The listing in whose time it was read or written last.
    seen: u64,
}

impl Etags {
    /// A listing of the whole zone begins.
    pub(crate) fn begin(&self, zone: &ZoneId) {
        self.known().entry(zone.clone()).or_default().listings += 1;
    }

    /// A listing of the whole zone has come to its end: what it did not show stands no more. Should another one have begun meanwhile, an
    /// ETag may be lost with it; then the set is read before it is changed.
    pub(crate) fn end(&self, zone: &ZoneId) {
        if let Some(OfZone { listings, sets }) = self.known().get_mut(zone) {
            sets.retain(|_, known| known.seen == *listings);
            sets.shrink_to_fit();
        }
    }

    /// Takes note of a set that was read or written.
    pub(crate) fn keep(&self, zone: &ZoneId, set: &RecordSet, etag: Option<&str>) {
        let Some(etag) = etag.filter(|etag| !etag.is_empty()) else { return self.forget(zone, &set.key) };
        let mut known = self.known();
        let OfZone { listings, sets } = known.entry(zone.clone()).or_default();
        sets.insert(digest(&set.key), Known { content: digest(set), etag: etag.into(), seen: *listings });
    }

    /// The set's ETag is not known any more.
    pub(crate) fn forget(&self, zone: &ZoneId, key: &RecordKey) {
        if let Some(zone) = self.known().get_mut(zone) {
            zone.sets.remove(&digest(key));
        }
    }

    /// Forgets the zones that are no longer there.
    pub(crate) fn retain(&self, is_there: impl Fn(&ZoneId) -> bool) {
        self.known().retain(|zone, _| is_there(zone));
    }

    /// The ETag of exactly this set.
    pub(crate) fn of(&self, zone: &ZoneId, set: &RecordSet) -> Option<String> {
        let known = self.known();
        let found = known.get(zone)?.sets.get(&digest(&set.key))?;
        (found.content == digest(set)).then(|| found.etag.to_string())
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ZoneId, OfZone>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use zonewright_core::{DnsName, RData, RecordType};

    use super::*;

    #[test]
    fn an_etag_goes_with_its_content() {
        let (etags, zone) = (Etags::default(), ZoneId::from("z"));
        let set = |address: &str| {
            let name = DnsName::parse("www.example.org").unwrap();
            RecordSet::simple(name, RecordType::A, None, [RData::parse(RecordType::A, address).unwrap()])
        };
        let (one, two) = (set("192.0.2.1"), set("192.0.2.2"));
        etags.keep(&zone, &one, Some("e1"));
        assert_eq!((etags.of(&zone, &one).as_deref(), etags.of(&zone, &two)), (Some("e1"), None));
        assert_eq!(etags.of(&ZoneId::from("y"), &one), None);
        etags.keep(&zone, &two, Some("e2"));
        assert_eq!((etags.of(&zone, &one), etags.of(&zone, &two).as_deref()), (None, Some("e2")));
        etags.keep(&zone, &two, None);
        assert_eq!(etags.of(&zone, &two), None);
        etags.keep(&zone, &one, Some("e3"));
        etags.forget(&zone, &one.key);
        // What a whole listing does not show goes; what was written meanwhile stays.
        let other = RecordSet { key: RecordKey { rtype: RecordType::Aaaa, ..one.key.clone() }, ..one.clone() };
        etags.keep(&zone, &one, Some("e4"));
        etags.begin(&zone);
        etags.keep(&zone, &other, Some("e5"));
        assert_eq!((etags.of(&zone, &one).as_deref(), etags.of(&zone, &other).as_deref()), (Some("e4"), Some("e5")));
        etags.end(&zone);
        assert_eq!((etags.of(&zone, &one), etags.of(&zone, &other).as_deref()), (None, Some("e5")));
        etags.retain(|_| false);
        assert_eq!(etags.of(&zone, &other), None);
    }
}
