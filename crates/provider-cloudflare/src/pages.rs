//! The pages of one list, put together.
//!
//! In: pages by their numbers. Out: each item once. What must hold: what comes or goes while the pages are read moves others from
//! one page to the next; a list is then no list, and is read anew.

use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::asked::Asked;
use crate::wire::{Identified, PageInfo};

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) info: PageInfo,
    pub(crate) asked: Asked,
}

impl<T> Page<T> {
    /// Whether this page, the one with this number, is the last one.
    pub(crate) fn is_last(&self, number: u64) -> bool {
        if self.items.is_empty() {
            return true;
        }
        match (self.info.total_pages, self.info.total_count, self.info.per_page) {
            (Some(pages), _, _) => number >= pages,
            (None, Some(total), Some(size)) => number.saturating_mul(size) >= total,
            // An empty page follows the last one.
            _ => false,
        }
    }
}

/// Items came or went between two pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved;

/// The pages so far.
#[derive(Debug)]
pub(crate) struct Collected<T> {
    items: Vec<T>,
    ids: BTreeSet<String>,
    pages: u64,
    asked: Option<Asked>,
    /// Items of all pages, as the first one says.
    total: Option<u64>,
}

impl<T: Identified> Collected<T> {
    pub(crate) fn new() -> Self {
        Self { items: Vec::new(), ids: BTreeSet::new(), pages: 0, asked: None, total: None }
    }

    /// Adds the next page.
    ///
    /// # Errors
    /// It states another number of items than the first one, or has an item that an earlier one has.
    pub(crate) fn add(&mut self, page: Page<T>) -> Result<(), Moved> {
        if self.pages > 0 && page.info.total_count != self.total {
            return Err(Moved);
        }
        (self.pages, self.total) = (self.pages + 1, page.info.total_count);
        self.asked = Some(self.asked.map_or(page.asked, |asked| asked.and(page.asked)));
        for item in page.items {
            if !self.ids.insert(item.id().to_owned()) {
                return Err(Moved);
            }
            self.items.push(item);
        }
        Ok(())
    }

    /// All items, after the last page, and when the pages were asked for: of which time they are.
    ///
    /// # Errors
    /// There are not as many as the pages state.
    pub(crate) fn finish(self) -> Result<(Vec<T>, Asked), Moved> {
        let count = u64::try_from(self.items.len()).ok();
        // One page is of one moment.
        if self.pages > 1 && self.total.is_some() && self.total != count {
            return Err(Moved);
        }
        let asked = self.asked.unwrap_or_else(|| Asked::once(Instant::now()));
        Ok((self.items, asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Identified for &'static str {
        fn id(&self) -> &str {
            self
        }
    }

    /// Pages, each with the number of all items that it states and its own; what they are together.
    fn all(pages: &[(Option<u64>, &[&'static str])]) -> Result<Vec<&'static str>, Moved> {
        let mut collected = Collected::new();
        for (total_count, items) in pages {
            let info = PageInfo { total_count: *total_count, ..PageInfo::default() };
            collected.add(Page { items: items.to_vec(), info, asked: Asked::once(Instant::now()) })?;
        }
        collected.finish().map(|(items, _)| items)
    }

    #[test]
    fn what_comes_or_goes_between_pages_is_noticed() {
        assert_eq!(all(&[(Some(3), &["a", "b"]), (Some(3), &["c"])]), Ok(vec!["a", "b", "c"]));
        assert_eq!(all(&[(None, &["a", "b"]), (None, &["c"]), (None, &[])]), Ok(vec!["a", "b", "c"]));
        assert_eq!(all(&[(Some(0), &[])]), Ok(vec![]));
        assert_eq!(all(&[(Some(9), &["a"])]), Ok(vec!["a"]), "one page has not moved");
        for (moved, why) in [
            ([(Some(3), ["a", "b"].as_slice()), (Some(2), ["d"].as_slice())], "one went"),
            ([(Some(3), &["a", "b"]), (Some(4), &["b", "c"])], "one came"),
            ([(Some(3), &["a", "b"]), (Some(3), &["b"])], "one came before, one went behind"),
            ([(None, &["a", "b"]), (None, &["b"])], "the same, and no number is stated"),
            ([(Some(4), &["a", "b"]), (Some(4), &["d"])], "not as many as were stated"),
        ] {
            assert_eq!(all(&moved), Err(Moved), "{why}");
        }
    }
}
