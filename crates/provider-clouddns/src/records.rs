//! Record sets, page by page and by name.
//!
//! <https://cloud.google.com/dns/docs/reference/rest/v1/resourceRecordSets/list>

use std::collections::{BTreeMap, BTreeSet};

use tracing::warn;
use zonewright_core::provider::{Cursor, Listing};
use zonewright_core::sizes::Sizes;
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, RecordSet, Result, Zone};
use zonewright_http::Request;

use crate::client::Service;
use crate::convert;
use crate::exact::Exact;
use crate::operation::LIST_RECORDS;
use crate::wire::{Rrset, Rrsets};

/// What a page says it is.
const KIND: &str = "dns#resourceRecordSetsListResponse";
/// Sets on a page; the service gives fewer where it takes so many for too many.
const PAGE: u32 = 1_000;
/// Most pages of the sets at one name.
const PAGES: usize = 1_000;

/// Where a page is: its number, counted from 1, its token, and the first set of the page before it, by which a page that comes again
/// is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PagePosition {
    number: usize,
    first: String,
    token: String,
}

impl PagePosition {
    fn of(cursor: &Cursor) -> Result<Self> {
        let parts = cursor.0.split_once('\n').and_then(|(number, rest)| {
            let (first, token) = rest.split_once('\n')?;
            Some(Self { number: number.parse().ok()?, first: first.to_owned(), token: token.to_owned() })
        });
        parts.ok_or_else(|| {
            Error::new(ErrorKind::Conflict, LIST_RECORDS, "the page is not known; the listing begins anew")
        })
    }

    fn cursor(&self) -> Cursor {
        Cursor(format!("{}\n{}\n{}", self.number, self.first, self.token))
    }
}

/// A page, and where the next one is.
struct Page {
    sets: Vec<Rrset>,
    next: Option<PagePosition>,
}

/// The list of a zone's record sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(crate) service: &'a Service,
    pub(crate) zone: &'a Zone,
    pub(crate) exact: &'a Exact,
    pub(crate) sizes: &'a Sizes,
}

impl Records<'_> {
    async fn ask(&self, name: Option<&DnsName>, place: Option<&PagePosition>) -> Result<Page> {
        let zone = self.zone;
        let mut request = Request::get("/projects/{project}/managedZones/{zone}/rrsets").set("zone", &zone.key.zone);
        request = match name {
            Some(name) => request.query("name", name.fqdn()),
            None => request.query("maxResults", PAGE),
        };
        if let Some(place) = place {
            request = request.query("pageToken", &place.token);
        }
        let page: Rrsets = self.service.ask(LIST_RECORDS, request).await?;
        let wrong = |what: &str| {
            let text = format!("zone {} ({}): {what}", zone.name, zone.key.zone);
            Error::new(ErrorKind::Protocol, LIST_RECORDS, text)
        };
        if page.kind != KIND {
            return Err(wrong(&format!("the answer is a {:?} and no list of record sets", page.kind)));
        }
        let first = page.sets.first().map(|set| format!("{} {}", set.name, set.rtype)).unwrap_or_default();
        let token = page.next_page_token.filter(|next| !next.is_empty());
        let again =
            |before: &PagePosition| token.as_ref() == Some(&before.token) || !first.is_empty() && before.first == first;
        if place.is_some_and(again) {
            return Err(wrong("a page says that it follows itself"));
        }
        let number = place.map_or(1, |place| place.number) + 1;
        Ok(Page { sets: page.sets, next: token.map(|token| PagePosition { number, first, token }) })
    }

    /// A page of a zone: the first one, or that at a cursor.
    ///
    /// # Errors
    /// It is not whole; [`ErrorKind::Conflict`] if the cursor is no longer known.
    pub(crate) async fn page(&self, cursor: Option<&Cursor>) -> Result<Listing> {
        let place = cursor.map(PagePosition::of).transpose()?;
        if place.is_none() {
            self.exact.begin(&self.zone.key.zone);
        }
        let page = self.ask(None, place.as_ref()).await?;
        let sets = page.sets.into_iter().filter_map(|set| self.read(set)).collect();
        if let Some(next) = page.next {
            return Ok(Listing::Page { sets, next: next.cursor() });
        }
        self.exact.end(&self.zone.key.zone);
        self.sizes.ended(&self.zone.key.zone, place.map_or(1, |place| place.number));
        Ok(Listing::Full { sets, token: None })
    }

    /// The sets at these names: by a request for each, or all of the zone where that is fewer requests.
    ///
    /// # Errors
    /// One of the answers is not whole.
    pub(crate) async fn at(&self, names: &BTreeSet<DnsName>) -> Result<Vec<RecordSet>> {
        self.exact.forget(&self.zone.key.zone, names);
        if self.sizes.is_below(&self.zone.key.zone, names.len())
            && let Some(mut sets) = self.whole(names.len()).await?
        {
            sets.retain(|set| names.contains(&set.key.name));
            return Ok(sets);
        }
        let mut sets = Vec::new();
        for name in names.iter().filter(|name| name.is_within(&self.zone.name)) {
            sets.extend(self.named(name).await?);
        }
        Ok(sets)
    }

    /// All of the zone; none where it has more pages than this.
    async fn whole(&self, most: usize) -> Result<Option<Vec<RecordSet>>> {
        let (mut all, mut place): (BTreeMap<RecordKey, RecordSet>, Option<PagePosition>) = (BTreeMap::new(), None);
        loop {
            let page = self.ask(None, place.as_ref()).await?;
            for set in page.sets.into_iter().filter_map(|set| self.read(set)) {
                if let Some(set) = all.insert(set.key.clone(), set) {
                    let text = format!("zone {}: {} is on two pages", self.zone.name, set.key);
                    return Err(Error::new(ErrorKind::Protocol, LIST_RECORDS, text));
                }
            }
            let last = place.map_or(1, |place| place.number);
            place = page.next;
            if place.is_none() {
                self.sizes.ended(&self.zone.key.zone, last);
                return Ok(Some(all.into_values().collect()));
            }
            if last >= most {
                return Ok(None);
            }
        }
    }

    async fn named(&self, name: &DnsName) -> Result<Vec<RecordSet>> {
        let (mut sets, mut place): (Vec<RecordSet>, Option<PagePosition>) = (Vec::new(), None);
        loop {
            let page = self.ask(Some(name), place.as_ref()).await?;
            sets.extend(page.sets.into_iter().filter_map(|set| self.read(set)).filter(|set| set.key.name == *name));
            place = page.next;
            match &place {
                None => return Ok(sets),
                Some(place) if place.number > PAGES => {
                    let text = format!("zone {}: the sets of {name} do not end after {PAGES} pages", self.zone.name);
                    return Err(Error::new(ErrorKind::Protocol, LIST_RECORDS, text));
                }
                Some(_) => {}
            }
        }
    }

    /// One set; one that cannot be read is reported and left out: it cannot be written either, so it is nobody's here.
    fn read(&self, answer: Rrset) -> Option<RecordSet> {
        match convert::read(&answer) {
            Ok(set) => {
                self.exact.keep(&self.zone.key.zone, answer, &set);
                Some(set)
            }
            Err(error) => {
                warn!(zone = %self.zone.name, error, "a record set cannot be read; it is left alone");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::catalog::{FlagValue, ProviderConfig, Settings};
    use zonewright_core::shared::Shared;
    use zonewright_core::zone::InstanceId;
    use zonewright_fakes::clouddns::{CloudDns as Fake, Kind, RecordSet as Theirs, TOKEN};

    use super::*;
    use crate::CloudDns;

    /// Reads a zone to its end; how many sets, and on how many pages.
    async fn list(records: Records<'_>) -> (usize, usize) {
        let (mut count, mut pages, mut cursor) = (0, 1, None);
        loop {
            match records.page(cursor.as_ref()).await.unwrap() {
                Listing::Page { sets, next } => {
                    (count, pages, cursor) = (count + sets.len(), pages + 1, Some(next));
                }
                Listing::Full { sets, .. } => return (count + sets.len(), pages),
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn how_sets_were_spelled_that_are_gone_is_forgotten() {
        let fake = Fake::start();
        fake.set_page(30);
        let id = fake.add_zone("shop", "shop-zone", "example.org.", Kind::Public);
        let mut settings = Settings::default();
        settings.set("google-project", FlagValue::Text("shop".to_owned()), true);
        settings.set("google-api-qps", FlagValue::Int(0), true);
        let secrets = [("accessToken", TOKEN.to_owned()), ("endpoint", fake.url())];
        let credentials = secrets.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
        let config =
            ProviderConfig { instance: InstanceId::from("google"), settings, credentials, shared: Shared::default() };
        let provider = CloudDns::with_variables(&config, &|_| None).unwrap();
        let zone = provider.zones.list().await.unwrap().pop().unwrap();
        let records = provider.records_of(&zone);
        assert_eq!(list(records).await, (2, 1));
        // The name servers of the zone, where they are in another order than ours.
        let own = provider.exact.size();
        let put = |n: usize| {
            let addresses = ["192.0.2.2", "192.0.2.1"];
            fake.put(&id, Theirs::new(&format!("n{n}.example.org."), "A", 300, &addresses));
        };
        (0..100).for_each(put);
        assert_eq!((list(records).await, provider.exact.size()), ((102, 4), own + 100));
        for n in 10..100 {
            fake.remove(&id, &format!("n{n}.example.org."), "A");
        }
        assert_eq!((list(records).await, provider.exact.size()), ((12, 1), own + 10));
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let place = PagePosition { number: 7, first: "*.example.org. A".to_owned(), token: "a\nb".to_owned() };
        assert_eq!(PagePosition::of(&place.cursor()).unwrap(), place);
        for unknown in ["x", "x\ny", "x\ny\nz"] {
            assert_eq!(PagePosition::of(&Cursor(unknown.to_owned())).unwrap_err().kind, ErrorKind::Conflict);
        }
    }
}
