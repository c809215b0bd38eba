//! A listing of a zone that comes in pages, put together.
//!
//! In: pages, in order. Out: the whole. What must hold: a page that fails costs that page alone, and whoever asks again goes on
//! from there; a listing that comes back to a page that it had is an error, and not an endless one, and so is one with a record set
//! on two pages.

use std::collections::{BTreeSet, HashSet};

use crate::error::{Error, ErrorKind, Result};
use crate::provider::{Cursor, Listing, Provider, Read};
use crate::record::RecordSet;
use crate::zone::Zone;

/// A listing that has begun.
#[derive(Debug, Clone, Default)]
pub struct PagedListing {
    sets: Vec<RecordSet>,
    next: Option<Cursor>,
    /// Every cursor that was given.
    seen: BTreeSet<Cursor>,
    read: usize,
}

impl PagedListing {
    /// Pages that were read.
    pub fn read(&self) -> usize {
        self.read
    }

    /// Record sets that were read.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Reads the next page. `None` while there are more; then the whole listing, [`Listing::Full`].
    ///
    /// # Errors
    /// What kept the page from being read: the pages before it stay, and the next call asks for it again. Where the provider does
    /// not know it any more ([`ErrorKind::Conflict`]), or gave one or a record set of one twice ([`ErrorKind::Protocol`]), the listing
    /// begins anew.
    pub async fn turn(&mut self, provider: &dyn Provider, zone: &Zone) -> Result<Option<Listing>> {
        let read = self.next.as_ref().map_or(Read::All, Read::From);
        let page = provider.records(zone, read).await.inspect_err(|error| {
            if error.kind == ErrorKind::Conflict {
                *self = Self::default();
            }
        })?;
        self.read += 1;
        match page {
            Listing::Page { sets, next } => {
                self.sets.extend(sets);
                if !self.seen.insert(next.clone()) {
                    let text =
                        format!("page {} of the listing of zone {} leads back to an earlier one", self.read, zone.name);
                    *self = Self::default();
                    return Err(Error::new(ErrorKind::Protocol, "list records", text));
                }
                self.next = Some(next);
                Ok(None)
            }
            Listing::Full { sets, token } => {
                let Self { sets: mut all, read, .. } = std::mem::take(self);
                all.extend(sets);
                // A single page is what the provider makes of the zone; only pages can overlap.
                if let Some(set) = repeated(&all).filter(|_| read > 1) {
                    let text = format!("the listing of zone {} has {} on two pages", zone.name, set.key);
                    return Err(Error::new(ErrorKind::Protocol, "list records", text));
                }
                Ok(Some(Listing::Full { sets: all, token }))
            }
            other => Ok(Some(other)),
        }
    }
}

/// A set whose key came before.
fn repeated(sets: &[RecordSet]) -> Option<&RecordSet> {
    let mut keys = HashSet::with_capacity(sets.len());
    sets.iter().find(|set| !keys.insert(&set.key))
}

/// Reads a whole zone, page by page.
///
/// # Errors
/// The first page that could not be read.
pub async fn whole(provider: &dyn Provider, zone: &Zone) -> Result<Listing> {
    let mut pages = PagedListing::default();
    loop {
        if let Some(listing) = pages.turn(provider, zone).await? {
            return Ok(listing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::{Capability, TtlRange};
    use crate::change::{Group, Outcome};
    use crate::endpoint::Endpoint;
    use crate::interpret::Interpretation;
    use crate::provider::Adjustment;
    use crate::record::Ttl;
    use crate::zone::{InstanceId, ZoneId};
    use crate::{DnsName, RData, RecordData, RecordKey, RecordType};

    /// A provider of which only the listing is asked: pages of these names.
    struct Paged(Vec<Vec<&'static str>>);

    #[async_trait::async_trait]
    impl Provider for Paged {
        fn capability(&self, _: Option<&Zone>) -> Capability {
            Capability::authoritative(1, TtlRange::any(Ttl::ZERO))
        }

        async fn zones(&self) -> Result<Vec<Zone>> {
            Ok(Vec::new())
        }

        async fn zone(&self, _: &ZoneId) -> Result<Option<Zone>> {
            Ok(None)
        }

        async fn records(&self, _: &Zone, read: Read<'_>) -> Result<Listing> {
            let page: usize = match read {
                Read::From(cursor) => cursor.0.parse().unwrap(),
                _ => 0,
            };
            let sets = self.0[page].iter().map(|name| set(name)).collect();
            Ok(if page + 1 < self.0.len() {
                Listing::Page { sets, next: Cursor((page + 1).to_string()) }
            } else {
                Listing::Full { sets, token: None }
            })
        }

        fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
            Interpretation::as_stated()
        }

        async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
            Adjustment::none(sets)
        }

        async fn apply(&self, _: &Zone, _: &[Group]) -> Vec<Outcome> {
            Vec::new()
        }

        async fn served(&self, _: &Zone) -> Result<Option<bool>> {
            Ok(None)
        }
    }

    fn set(name: &str) -> RecordSet {
        let key = RecordKey::simple(DnsName::parse(name).unwrap(), RecordType::A);
        let data = RecordData::records([RData::parse(RecordType::A, "192.0.2.1").unwrap()]);
        RecordSet {
            key,
            ttl: None,
            data,
            routing: crate::record::Routing::default(),
            options: crate::options::Options::default(),
        }
    }

    #[tokio::test]
    async fn pages_that_overlap_are_an_error() {
        let zone = Zone::new(&InstanceId::from("one"), "Z", DnsName::parse("example.test").unwrap());
        let listed = |pages| {
            let zone = zone.clone();
            async move { whole(&Paged(pages), &zone).await }
        };
        assert!(
            matches!(listed(vec![vec!["a.test"], vec!["b.test"]]).await, Ok(Listing::Full { sets, .. }) if sets.len() == 2)
        );
        let error = listed(vec![vec!["a.test"], vec!["b.test", "a.test"]]).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol);
        assert!(error.to_string().contains("zone example.test has a.test A on two pages"), "{error}");
        // One page is what the provider makes of the zone.
        assert!(listed(vec![vec!["a.test", "a.test"]]).await.is_ok());
    }
}
