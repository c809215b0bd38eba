//! Records, page by page and by name.
//!
//! <https://developers.cloudflare.com/api/resources/dns/subresources/records/methods/list/>

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::warn;
use zonewright_core::provider::Cursor;
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, Result, Zone};
use zonewright_http::{Request, Share};

use crate::asked::Asked;
use crate::client::{PAGES, Service};
use crate::families::Families;
use crate::operation::LIST_RECORDS;
use crate::pages::Page;
use crate::{convert, wire};

/// Records by their keys.
pub(crate) type Groups = BTreeMap<RecordKey, Vec<wire::Record>>;

/// Where a listing goes on. The pages are sorted by name, so that only the records of the last name of a page may go on on the
/// next one: they are kept back for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PagePosition {
    /// The number of the page, counted from 1.
    page: u64,
    /// Records of the zone when the listing began.
    total: Option<u64>,
    /// Records of a full page, where the service says it.
    #[serde(default)]
    size: Option<u64>,
    /// Records of the page before that may have further ones.
    kept: Vec<wire::Record>,
}

impl PagePosition {
    fn of(cursor: Option<&Cursor>) -> Result<Self> {
        let Some(cursor) = cursor else { return Ok(Self { page: 1, total: None, size: None, kept: Vec::new() }) };
        serde_json::from_str(&cursor.0).map_err(|_| anew("the page is not known"))
    }

    /// Whether records came or went since the page before, as far as this one shows it.
    fn has_moved(&self, page: &Page<wire::Record>) -> bool {
        let again = |record: &wire::Record| self.kept.iter().any(|kept| kept.id == record.id);
        self.page > 1 && (page.info.total_count != self.total || page.items.iter().any(again))
    }

    /// What stands on a page behind the last record of the page before, if that is on it.
    fn behind(&self, page: &Page<wire::Record>) -> Option<Vec<wire::Record>> {
        let last = self.kept.last()?;
        let at = page.items.iter().position(|record| record.id == last.id)?;
        Some(page.items.iter().skip(at + 1).cloned().collect())
    }

    fn cursor(&self) -> Result<Cursor> {
        let text = serde_json::to_string(self);
        text.map(Cursor)
            .map_err(|error| Error::new(ErrorKind::Protocol, LIST_RECORDS.name, format!("a page's place: {error}")))
    }
}

fn anew(why: &str) -> Error {
    Error::new(ErrorKind::Conflict, LIST_RECORDS.name, format!("{why}; the listing begins anew"))
}

/// What one page of a zone gave.
#[derive(Debug)]
pub(crate) struct Read {
    /// Each key that is complete.
    pub(crate) groups: Groups,
    /// Where it goes on.
    pub(crate) next: Option<Cursor>,
    /// Records of the whole zone.
    pub(crate) total: Option<u64>,
    asked: Asked,
}

/// The list of a zone's records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(crate) service: &'a Service,
    pub(crate) zone: &'a Zone,
    /// Records on a page, where it is said.
    pub(crate) size: Option<u64>,
    /// From one request of the user to the next, where many wait.
    pub(crate) turn: Duration,
}

impl Records<'_> {
    fn unsized_request(&self, page: u64) -> Request {
        Request::get("/zones/{zone}/dns_records").set("zone", &self.zone.key.zone).query("page", page)
    }

    fn request(&self, page: u64) -> Request {
        let request = self.unsized_request(page);
        match self.size {
            Some(size) => request.query("per_page", size),
            None => request,
        }
    }

    /// A page of the zone: the first one, or that at a cursor. Where records came or went since the page before (our own, say, since
    /// names are served while a zone is listed), it goes on behind the last record that was read, wherever that stands now.
    ///
    /// # Errors
    /// It is not whole; [`ErrorKind::Conflict`] if it cannot be determined where to go on.
    pub(crate) async fn page(&self, cursor: Option<&Cursor>, share: Share) -> Result<Read> {
        let place = PagePosition::of(cursor)?;
        let (mut number, mut page) = (place.page, self.listed(place.page, share).await?);
        let asked = page.asked;
        if place.has_moved(&page) || !self.goes_on(&place, share).await? {
            let mut rest = place.behind(&page);
            if rest.is_none() && place.page > 1 {
                number -= 1;
                page = self.listed(number, share).await?;
                rest = place.behind(&page);
            }
            match rest {
                Some(rest) if !rest.is_empty() || page.is_last(number) => page.items = rest,
                _ => return Err(anew("the zone was changed while it was listed")),
            }
        } else if page.items.is_empty() && page.info.total_pages.is_some_and(|pages| number < pages) {
            let text = format!("zone {}: page {number} is empty and not the last one", self.zone.name);
            return Err(Error::new(ErrorKind::Protocol, LIST_RECORDS.name, text));
        }
        if number >= PAGES {
            let text = format!("zone {}: the list does not end after {PAGES} pages", self.zone.name);
            return Err(Error::new(ErrorKind::Protocol, LIST_RECORDS.name, text));
        }
        // By what was read, and not by what is left of it.
        let (last, total) = (page.is_last(number), page.info.total_count);
        let mut records = place.kept;
        records.extend(page.items);
        let mut next = None;
        if !last {
            let name = records.last().map(|record| record.name.clone());
            let from = records.iter().position(|record| Some(&record.name) == name.as_ref()).unwrap_or(0);
            let kept = records.split_off(from);
            let size = page.info.per_page;
            next = Some(PagePosition { page: number + 1, total, size, kept }.cursor()?);
        }
        Ok(Read { groups: self.read(records), next, total, asked })
    }

    /// Whether the last record of the page before is still where that page ended, after this one was read. Where as many came behind it
    /// as went before it, the numbers are the same, and what moved from the beginning of this page to the end of that one is on neither.
    async fn goes_on(&self, place: &PagePosition, share: Share) -> Result<bool> {
        let (Some(size), Some(last)) = (place.size, place.kept.last()) else { return Ok(true) };
        let number = place.page.saturating_sub(1).saturating_mul(size);
        let request = in_order(self.unsized_request(number).query("per_page", 1)).share(share);
        let page: Page<wire::Record> = self.service.page(LIST_RECORDS, &request, number).await?;
        Ok(page.items.first().is_some_and(|record| record.id == last.id))
    }

    /// The page with this number, of the records in the order of their names.
    async fn listed(&self, number: u64, share: Share) -> Result<Page<wire::Record>> {
        self.service.page(LIST_RECORDS, &in_order(self.request(number)).share(share), number).await
    }

    /// The records at these names: by a request for each ending that they share, or all of the zone where that is cheaper. `total`
    /// is the number of the zone's records, as far as it is known.
    ///
    /// # Errors
    /// One of the answers is not whole.
    pub(crate) async fn at(&self, names: &BTreeSet<DnsName>, total: Option<u64>) -> Result<Groups> {
        let mut families = Families::new(names, |name| *name == self.zone.name);
        let (mut found, mut position, mut share, mut has_moved) = (Groups::new(), 0, Share::Full, false);
        while let Some(family) = families.at(position) {
            if !has_moved && self.cost_of_whole(total, families.len() - position).is_some() {
                match self.whole(share).await {
                    // Its pages moved while they were read.
                    Err(error) if error.kind == ErrorKind::Conflict => has_moved = true,
                    read => return Ok(of_names(read?.0, names)),
                }
            }
            match self.family(family, share).await? {
                Some((records, _)) => {
                    found.extend(of_names(records, names));
                    position += 1;
                }
                None => {
                    families.split(position);
                }
            }
            // What was read first gets old while the rest waits behind other zones.
            share = Share::Next;
        }
        Ok(found)
    }

    /// What it costs to read the whole zone, in requests, where that is less than these.
    pub(crate) fn cost_of_whole(&self, total: Option<u64>, requests: usize) -> Option<u64> {
        let cost = total.zip(self.size).map(|(total, size)| cost_of_all(total, size));
        cost.filter(|cost| u64::try_from(requests).unwrap_or(u64::MAX) > *cost)
    }

    /// The records of one family of names, its shortest one first; nothing where more records end as that one than fit on a page. The first
    /// request has this share; what was read by it waits for the rest.
    ///
    /// # Errors
    /// One of the answers is not whole.
    pub(crate) async fn family(&self, family: &[&DnsName], share: Share) -> Result<Option<(Groups, Asked)>> {
        let Some((ending, others)) = family.split_first() else { return Ok(None) };
        if others.is_empty() {
            return self.name(ending, share).await.map(Some);
        }
        let request = self.request(1).query("name.endswith", ending.as_str()).share(share);
        let page: Page<wire::Record> = self.service.page(LIST_RECORDS, &request, 1).await?;
        Ok(page.is_last(1).then(|| (self.read(page.items), page.asked)))
    }

    /// The records at one name.
    async fn name(&self, name: &DnsName, share: Share) -> Result<(Groups, Asked)> {
        let request = |page| {
            let share = if page == 1 { share } else { Share::Next };
            self.request(page).query("name.exact", name.as_str()).share(share)
        };
        let (records, asked) = self.service.all_since(LIST_RECORDS, request).await?;
        Ok((of_names(self.read(records), &BTreeSet::from([name.clone()])), asked))
    }

    /// All records of the zone, and when they were asked for. The first request has this share; what was read by it waits for
    /// the rest.
    ///
    /// # Errors
    /// As [`Records::page`].
    pub(crate) async fn whole(&self, share: Share) -> Result<(Groups, Asked)> {
        let mut read = self.page(None, share).await?;
        let (mut all, mut asked) = (read.groups, read.asked);
        while let Some(next) = &read.next {
            read = self.page(Some(next), Share::Next).await?;
            all.append(&mut read.groups);
            asked = asked.and(read.asked);
        }
        Ok((all, asked))
    }

    /// Records by their keys. One that cannot be read is reported and left out: it cannot be written either, so it is nobody's here.
    fn read(&self, records: Vec<wire::Record>) -> Groups {
        let (groups, unread) = convert::grouped(records);
        for error in unread {
            warn!(zone = %self.zone.name, error, "a record cannot be read; it is left alone");
        }
        groups
    }
}

/// The records in the order of their names.
fn in_order(request: Request) -> Request {
    request.query("order", "name").query("direction", "asc")
}

/// What it costs to read all records of a zone, in requests: its pages, a look at where each but the first goes on, and one more for so
/// many records as take the service and the line about as long as a request.
fn cost_of_all(total: u64, size: u64) -> u64 {
    const AS_LONG: u64 = 500;
    let pages = total.div_ceil(size.max(1)).max(1);
    pages.saturating_mul(2) - 1 + total / AS_LONG
}

/// The records at these names.
pub(crate) fn of_names(mut groups: Groups, names: &BTreeSet<DnsName>) -> Groups {
    groups.retain(|key, _| names.contains(&key.name));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_zone_is_not_read_for_a_few_names() {
        assert_eq!(cost_of_all(0, 5_000), 1);
        assert_eq!(cost_of_all(499, 100), 9);
        assert_eq!(cost_of_all(2_000, 5_000), 5);
        assert_eq!(cost_of_all(2_000, 100), 43);
        assert_eq!(cost_of_all(100_000, 5_000), 239);
        assert_eq!(cost_of_all(7, 0), 13, "no such page, and no division by it");
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let record = serde_json::json!({ "id": "1", "name": "a.example", "type": "A", "content": "192.0.2.1" });
        let place = PagePosition {
            page: 3,
            total: Some(7),
            size: Some(3),
            kept: vec![serde_json::from_value(record).unwrap()],
        };
        assert_eq!(PagePosition::of(Some(&place.cursor().unwrap())).unwrap(), place);
        for text in ["", "3", "{}"] {
            let error = PagePosition::of(Some(&Cursor(text.to_owned()))).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Conflict, "{text:?}");
        }
    }
}
