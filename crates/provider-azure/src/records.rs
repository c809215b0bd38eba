//! Record sets, page by page, by name, and each for itself.
//!
//! <https://learn.microsoft.com/rest/api/dns/record-sets/list-all-by-dns-zone>,
//! <https://learn.microsoft.com/rest/api/dns/privatedns/record-sets/list>

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tracing::warn;
use zonewright_core::provider::{Cursor, Listing};
use zonewright_core::sizes::Sizes;
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, RecordSet, Result, Zone};
use zonewright_http::{Method, Request, Share};

use crate::arm::{ArmId, Kind};
use crate::client::{CONCURRENCY, Service, Subject, wrong};
use crate::convert;
use crate::error::is_no_set;
use crate::etags::Etags;
use crate::wire::{Page, Set};

const LIST: &str = "list records";
const READ: &str = "read record set";

/// The records of zones of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(crate) kind: Kind,
    pub(crate) service: &'a Service,
    pub(crate) etags: &'a Etags,
    pub(crate) sizes: &'a Sizes,
    pub(crate) zone: &'a Zone,
}

/// Where a page is: its number, its address, and the last set of the page before it, by which a page that comes again is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PagePosition {
    /// Counted from 1.
    number: usize,
    last: String,
    link: String,
}

impl PagePosition {
    fn of(cursor: &Cursor) -> Result<Self> {
        let read = || {
            let (number, rest) = cursor.0.split_once('\n')?;
            let (last, link) = rest.split_once('\n')?;
            Some(Self { number: number.parse().ok()?, last: last.to_owned(), link: link.to_owned() })
        };
        read().ok_or_else(|| Error::new(ErrorKind::Conflict, LIST, "the page is not known; the listing begins anew"))
    }

    fn cursor(&self) -> Cursor {
        Cursor(format!("{}\n{}\n{}", self.number, self.last, self.link))
    }
}

impl Records<'_> {
    /// A page of the zone: the first one, or that at a cursor.
    ///
    /// # Errors
    /// It is not whole; [`ErrorKind::Conflict`] if the cursor is no longer known.
    pub(crate) async fn page(&self, cursor: Option<&Cursor>) -> Result<Listing> {
        let place = cursor.map(PagePosition::of).transpose()?;
        let (sets, next) = self.ask(place.as_ref(), Share::Full).await?;
        Ok(match next {
            Some(next) => Listing::Page { sets, next: next.cursor() },
            None => Listing::Full { sets, token: None },
        })
    }

    /// The sets of a page, and where the next one is.
    async fn ask(&self, place: Option<&PagePosition>, share: Share) -> Result<(Vec<RecordSet>, Option<PagePosition>)> {
        let template = match self.kind {
            Kind::Public => {
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/dnsZones/{zone}/all"
            }
            Kind::Private => {
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/privateDnsZones/{zone}/ALL"
            }
        };
        if place.is_none() {
            self.etags.begin(&self.zone.key.zone);
        }
        let mut page: Page<Set> = if let Some(place) = place {
            self.service.follow(Subject::Pages, LIST, (&place.link, template), share).await?
        } else {
            let request = self.request(Method::GET, template)?.share(share);
            self.service.read(Subject::Pages, LIST, &request).await?
        };
        let last = page.value.last().map(|set| format!("{} {}", set.name, set.rtype())).unwrap_or_default();
        let next = page.next();
        let again = |before: &PagePosition| next.as_deref() == Some(before.link.as_str()) || before.last == last;
        if next.is_some() && (last.is_empty() || place.is_some_and(again)) {
            let text = format!("zone {} ({}): a page says that it follows itself", self.zone.name, self.zone.key.zone);
            return Err(wrong(LIST, text));
        }
        let (sets, number) =
            (page.value.iter().filter_map(|set| self.known(set)).collect(), place.map_or(1, |p| p.number));
        if next.is_none() {
            self.sizes.ended(&self.zone.key.zone, number);
            self.etags.end(&self.zone.key.zone);
        }
        Ok((sets, next.map(|link| PagePosition { number: number + 1, last, link })))
    }

    /// The sets at these names: the service is asked for each type by itself, or for all of the zone where that is fewer requests.
    ///
    /// # Errors
    /// One of the answers is not whole.
    pub(crate) async fn names(&self, names: &BTreeSet<DnsName>, share: Share) -> Result<Listing> {
        let types = convert::types(self.kind);
        let within = names.iter().filter(|name| name.is_within(&self.zone.name));
        let keys = within.flat_map(|name| types.iter().map(|rtype| RecordKey::simple(name.clone(), *rtype)));
        let keys: Vec<RecordKey> = keys.collect();
        if self.sizes.is_below(&self.zone.key.zone, keys.len())
            && let Some(mut sets) = self.whole(keys.len(), share).await?
        {
            sets.retain(|set| names.contains(&set.key.name));
            return Ok(Listing::Names(sets));
        }
        let reads: Vec<_> = keys.iter().map(|key| self.one(key, share)).collect();
        let found: Vec<Option<RecordSet>> = stream::iter(reads).buffered(CONCURRENCY as usize).try_collect().await?;
        Ok(Listing::Names(found.into_iter().flatten().collect()))
    }

    /// All of the zone; none where it has more pages than this.
    async fn whole(&self, most: usize, share: Share) -> Result<Option<Vec<RecordSet>>> {
        let (mut all, mut place): (BTreeMap<RecordKey, RecordSet>, Option<PagePosition>) = (BTreeMap::new(), None);
        for _ in 0..most {
            let (sets, next) = self.ask(place.as_ref(), share).await?;
            for set in sets {
                if let Some(set) = all.insert(set.key.clone(), set) {
                    return Err(wrong(LIST, format!("zone {}: {} is on two pages", self.zone.name, set.key)));
                }
            }
            if next.is_none() {
                return Ok(Some(all.into_values().collect()));
            }
            place = next;
        }
        Ok(None)
    }

    /// The set of this key, if it stands.
    ///
    /// # Errors
    /// It cannot be determined; [`ErrorKind::NotFound`] if the zone is not there.
    pub(crate) async fn one(&self, key: &RecordKey, share: Share) -> Result<Option<RecordSet>> {
        if convert::relative(&key.name, &self.zone.name).is_err() {
            return Ok(None);
        }
        self.etags.forget(&self.zone.key.zone, key);
        let request = self.set_request(Method::GET, key)?.share(share);
        match self.service.read::<Set>(Subject::Sets, READ, &request).await {
            Ok(set) => Ok(self.known(&set).filter(|set| set.key == *key)),
            Err(failure) if is_no_set(&failure) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// One set; one that cannot be read is reported and left out: it cannot be written either, so it is nobody's here.
    pub(crate) fn known(&self, answer: &Set) -> Option<RecordSet> {
        match convert::read(&self.zone.name, answer) {
            Ok(set) => {
                self.etags.keep(&self.zone.key.zone, &set, answer.etag.as_deref());
                Some(set)
            }
            Err(error) => {
                warn!(zone = %self.zone.name, error, "a record set cannot be read; it is left alone");
                None
            }
        }
    }

    /// A request about one set.
    ///
    /// # Errors
    /// The key has no form here.
    pub(crate) fn set_request(&self, method: Method, key: &RecordKey) -> Result<Request> {
        let template = match self.kind {
            Kind::Public => {
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/dnsZones/{zone}/{type}/{name}"
            }
            Kind::Private => {
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/privateDnsZones/{zone}/{type}/{name}"
            }
        };
        let name =
            convert::relative(&key.name, &self.zone.name).map_err(|why| Error::new(ErrorKind::Invalid, READ, why))?;
        Ok(self.request(method, template)?.set("type", key.rtype).set("name", name))
    }

    fn request(&self, method: Method, template: &'static str) -> Result<Request> {
        let id = ArmId::parse(self.zone.key.zone.as_str(), self.kind).ok_or_else(|| {
            let text = format!("{:?} is not the id of a zone of {}", self.zone.key.zone.as_str(), self.kind);
            Error::new(ErrorKind::NotFound, LIST, text)
        })?;
        Ok(Request::new(method, template)
            .set("subscription", id.subscription)
            .set("group", id.group)
            .set("zone", id.zone)
            .query("api-version", self.kind.version()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let place = PagePosition { number: 7, last: "www A".to_owned(), link: "https://x/y?$skipToken=a".to_owned() };
        assert_eq!(PagePosition::of(&place.cursor()).unwrap(), place);
        for unknown in ["x", "x\ny", "x\ny\nz"] {
            assert_eq!(PagePosition::of(&Cursor(unknown.to_owned())).unwrap_err().kind, ErrorKind::Conflict);
        }
    }
}
