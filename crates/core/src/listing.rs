//! A listing of a zone that comes in pages, put together.
//!
//! In: pages, in order. Out: the whole. What must hold: a page that fails costs that page alone, and whoever asks again goes on
//! from there; a listing that comes back to a page that it had is an error, and not an endless one.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Result};
use crate::provider::{Cursor, Listing, Provider, Read};
use crate::record::RecordSet;
use crate::zone::Zone;

/// A listing that has begun.
#[derive(Debug, Clone, Default)]
pub struct Pages {
    sets: Vec<RecordSet>,
    next: Option<Cursor>,
    /// Every cursor that was given.
    seen: BTreeSet<Cursor>,
    read: usize,
}

impl Pages {
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
    /// not know it any more ([`ErrorKind::Conflict`]), or gave one twice ([`ErrorKind::Protocol`]), the listing begins anew.
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
                let mut all = std::mem::take(self).sets;
                all.extend(sets);
                Ok(Some(Listing::Full { sets: all, token }))
            }
            other => Ok(Some(other)),
        }
    }
}

/// Reads a whole zone, page by page.
///
/// # Errors
/// The first page that could not be read.
pub async fn whole(provider: &dyn Provider, zone: &Zone) -> Result<Listing> {
    let mut pages = Pages::default();
    loop {
        if let Some(listing) = pages.turn(provider, zone).await? {
            return Ok(listing);
        }
    }
}
