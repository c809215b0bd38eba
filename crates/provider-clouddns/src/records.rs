//! Record sets, page by page and by name.
//!
//! <https://cloud.google.com/dns/docs/reference/rest/v1/resourceRecordSets/list>

use std::collections::BTreeSet;

use tracing::warn;
use zonewright_core::provider::{Cursor, Listing};
use zonewright_core::{DnsName, Error, ErrorKind, RecordSet, Result, Zone};
use zonewright_http::Request;

use crate::client::Service;
use crate::convert;
use crate::exact::Exact;
use crate::wire::{Rrset, Rrsets};

const LIST: &str = "list records";
/// What a page says it is.
const KIND: &str = "dns#resourceRecordSetsListResponse";
/// Sets on a page; the service gives fewer where it takes so many for too many.
const PAGE: u32 = 1_000;
/// Most pages of the sets at one name.
const PAGES: usize = 1_000;

/// Where a page is: its token, and the first set of the page before it, by which a page that comes again is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    first: String,
    token: String,
}

impl Place {
    fn of(cursor: &Cursor) -> Result<Self> {
        let (first, token) = cursor
            .0
            .split_once('\n')
            .ok_or_else(|| Error::new(ErrorKind::Conflict, LIST, "the page is not known; the listing begins anew"))?;
        Ok(Self { first: first.to_owned(), token: token.to_owned() })
    }

    fn cursor(&self) -> Cursor {
        Cursor(format!("{}\n{}", self.first, self.token))
    }
}

/// A page, and where the next one is.
struct Page {
    sets: Vec<Rrset>,
    next: Option<Place>,
}

async fn ask(service: &Service, zone: &Zone, name: Option<&DnsName>, place: Option<&Place>) -> Result<Page> {
    let mut request = Request::get("/projects/{project}/managedZones/{zone}/rrsets").set("zone", &zone.key.zone);
    request = match name {
        Some(name) => request.query("name", name.fqdn()),
        None => request.query("maxResults", PAGE),
    };
    if let Some(place) = place {
        request = request.query("pageToken", &place.token);
    }
    let page: Rrsets = service.ask(LIST, request).await?;
    let wrong = |what: &str| {
        let text = format!("zone {} ({}): {what}", zone.name, zone.key.zone);
        Error::new(ErrorKind::Protocol, LIST, text)
    };
    if page.kind != KIND {
        return Err(wrong(&format!("the answer is a {:?} and no list of record sets", page.kind)));
    }
    let first = page.sets.first().map(|set| format!("{} {}", set.name, set.rtype)).unwrap_or_default();
    let token = page.next_page_token.filter(|next| !next.is_empty());
    let again = |before: &Place| token.as_ref() == Some(&before.token) || !first.is_empty() && before.first == first;
    if place.is_some_and(again) {
        return Err(wrong("a page says that it follows itself"));
    }
    Ok(Page { sets: page.sets, next: token.map(|token| Place { first, token }) })
}

/// A page of a zone: the first one, or that at a cursor.
///
/// # Errors
/// It is not whole; [`ErrorKind::Conflict`] if the cursor is no longer known.
pub(crate) async fn page(service: &Service, zone: &Zone, cursor: Option<&Cursor>, exact: &Exact) -> Result<Listing> {
    let place = cursor.map(Place::of).transpose()?;
    let page = ask(service, zone, None, place.as_ref()).await?;
    let sets = page.sets.into_iter().filter_map(|set| read(zone, set, exact)).collect();
    Ok(match page.next {
        Some(next) => Listing::Page { sets, next: next.cursor() },
        None => Listing::Full { sets, token: None },
    })
}

/// The sets at these names, each by a request of its own.
///
/// # Errors
/// One of the answers is not whole.
pub(crate) async fn names(service: &Service, zone: &Zone, names: &BTreeSet<DnsName>, exact: &Exact) -> Result<Listing> {
    exact.forget(&zone.key.zone, names);
    let mut sets: Vec<RecordSet> = Vec::new();
    for name in names.iter().filter(|name| name.is_within(&zone.name)) {
        let mut place: Option<Place> = None;
        let mut pages = 0;
        loop {
            let page = ask(service, zone, Some(name), place.as_ref()).await?;
            let of_name = |set: &RecordSet| set.key.name == *name;
            sets.extend(page.sets.into_iter().filter_map(|set| read(zone, set, exact)).filter(of_name));
            place = page.next;
            pages += 1;
            if place.is_none() {
                break;
            }
            if pages >= PAGES {
                let text = format!("zone {}: the sets of {name} do not end after {PAGES} pages", zone.name);
                return Err(Error::new(ErrorKind::Protocol, LIST, text));
            }
        }
    }
    Ok(Listing::Names(sets))
}

/// One set; one that cannot be read is told and left out: it cannot be written either, so it is nobody's here.
fn read(zone: &Zone, answer: Rrset, exact: &Exact) -> Option<RecordSet> {
    match convert::read(&answer) {
        Ok(set) => {
            exact.keep(&zone.key.zone, answer, &set);
            Some(set)
        }
        Err(error) => {
            warn!(zone = %zone.name, error, "a record set cannot be read; it is left alone");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let place = Place { first: "*.example.org. A".to_owned(), token: "a\nb".to_owned() };
        assert_eq!(Place::of(&place.cursor()).unwrap(), place);
        assert_eq!(Place::of(&Cursor("x".to_owned())).unwrap_err().kind, ErrorKind::Conflict);
    }
}
