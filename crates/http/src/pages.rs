//! Listings that come in pages.
//!
//! In: how to fetch one page, given a cursor. Out: all items. A page that fails leaves the earlier ones where they are: the
//! next call goes on from there. A service that leads in a circle, or never ends, is an error and no endless loop.

use std::collections::HashSet;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::{Error, ErrorKind, Result};

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, C> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next one is: a token, a number, a link. `None` on the last.
    pub next: Option<C>,
}

impl<T> Page<T, u64> {
    /// A page of a service that counts its pages from 1, and says how many there are.
    pub fn numbered(items: Vec<T>, page: u64, of: u64) -> Self {
        Self { items, next: (page < of).then(|| page + 1) }
    }
}

/// Bounds of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// Most pages of one listing; more are an error.
    pub pages: usize,
    /// A listing that was begun longer ago is begun anew after a failure: cursors expire, and what changed meanwhile on
    /// earlier pages would be missed.
    pub age: Duration,
}

impl Default for PageLimits {
    /// 100,000 pages; 10 minutes.
    fn default() -> Self {
        Self { pages: 100_000, age: Duration::from_mins(10) }
    }
}

/// How far a listing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pages so far.
    pub pages: usize,
    /// Items so far.
    pub items: usize,
    /// Time since the first page was asked for.
    pub elapsed: Duration,
}

/// A listing, also one that was interrupted.
#[derive(Debug)]
pub struct Pages<T, C> {
    limits: PageLimits,
    items: Vec<T>,
    next: Option<C>,
    seen: HashSet<C>,
    count: usize,
    begun: Option<Instant>,
}

impl<T, C: Clone + Eq + Hash> Pages<T, C> {
    /// A listing that has not begun.
    pub fn new(limits: PageLimits) -> Self {
        Self { limits, items: Vec::new(), next: None, seen: HashSet::new(), count: 0, begun: None }
    }

    /// Pages that were read and are kept for the next call.
    pub fn kept(&self) -> usize {
        self.count
    }

    /// Forgets what was read: the next call begins anew. For a cursor that the service does not know any more.
    pub fn restart(&mut self) {
        *self = Self::new(self.limits);
    }

    /// Fetches the pages that are missing, and returns the items of all of them. `fetch` gets the cursor of the page, `None`
    /// for the first; `progress` is called after each page. After a success the listing is as new.
    ///
    /// # Errors
    /// What `fetch` failed with; the next call asks for that page again. [`ErrorKind::Protocol`] for a cursor that came
    /// before and for too many pages; the next call begins anew.
    pub async fn rest<Fetching>(
        &mut self,
        operation: &'static str,
        mut fetch: impl FnMut(Option<C>) -> Fetching,
        mut progress: impl FnMut(Progress),
    ) -> Result<Vec<T>>
    where
        Fetching: Future<Output = Result<Page<T, C>>>,
    {
        if self.begun.is_some_and(|begun| begun.elapsed() > self.limits.age) {
            self.restart();
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        loop {
            let page = fetch(self.next.clone()).await?;
            let more = self.take(page).map_err(|context| {
                self.restart();
                Error::new(ErrorKind::Protocol, operation, context)
            })?;
            progress(Progress { pages: self.count, items: self.items.len(), elapsed: begun.elapsed() });
            if !more {
                let items = std::mem::take(&mut self.items);
                self.restart();
                return Ok(items);
            }
        }
    }

    /// Takes a page over; whether there is another one. The error is a sentence.
    fn take(&mut self, page: Page<T, C>) -> Result<bool, String> {
        self.count += 1;
        self.items.extend(page.items);
        let Some(next) = page.next else { return Ok(false) };
        if !self.seen.insert(next.clone()) {
            return Err(format!("page {} leads back to an earlier page; nothing of the listing is used", self.count));
        }
        if self.count >= self.limits.pages {
            return Err(format!("there are more than {} pages; nothing of the listing is used", self.limits.pages));
        }
        self.next = Some(next);
        Ok(true)
    }
}

/// A `progress` for [`Pages::rest`] that logs a listing which takes longer than 10 seconds, and each further 10.
pub fn log_slow(operation: &'static str, of: String) -> impl FnMut(Progress) {
    every(Duration::from_secs(10), move |progress| {
        let (pages, items, seconds) = (progress.pages, progress.items, progress.elapsed.as_secs());
        tracing::info!(of, pages, items, seconds, "{operation}: the listing is under way");
    })
}

/// Passes progress on when so much time has gone by since it last did, and since the beginning.
fn every(time: Duration, mut report: impl FnMut(Progress)) -> impl FnMut(Progress) {
    let mut due = time;
    move |progress| {
        if progress.elapsed >= due {
            due = progress.elapsed + time;
            report(progress);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    fn page(items: &[u32], next: Option<&'static str>) -> Page<u32, &'static str> {
        Page { items: items.to_vec(), next }
    }

    fn down() -> Error {
        Error::new(ErrorKind::Unavailable, "list", "down")
    }

    /// Fetches these answers one after the other, and notes the cursors.
    struct Service(RefCell<Vec<Result<Page<u32, &'static str>>>>, RefCell<Vec<Option<&'static str>>>);

    impl Service {
        fn new(answers: Vec<Result<Page<u32, &'static str>>>) -> Self {
            Self(RefCell::new(answers.into_iter().rev().collect()), RefCell::default())
        }

        async fn rest(&self, pages: &mut Pages<u32, &'static str>) -> Result<Vec<u32>> {
            let fetch = |cursor| {
                self.1.borrow_mut().push(cursor);
                let answer = self.0.borrow_mut().pop().expect("no more answers");
                async move { answer }
            };
            pages.rest("list", fetch, |_| {}).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_fails_is_asked_for_again_and_no_other() {
        let service = Service::new(vec![
            Ok(page(&[1, 2], Some("b"))),
            Ok(page(&[3], Some("c"))),
            Err(down()),
            Ok(page(&[4], None)),
            Ok(page(&[9], None)),
        ]);
        let mut pages = Pages::new(PageLimits::default());
        assert_eq!(service.rest(&mut pages).await.unwrap_err().kind, ErrorKind::Unavailable);
        assert_eq!(pages.kept(), 2);
        assert_eq!(service.rest(&mut pages).await.unwrap(), [1, 2, 3, 4]);
        assert_eq!(service.rest(&mut pages).await.unwrap(), [9], "the next listing begins anew");
        assert_eq!(*service.1.borrow(), [None, Some("b"), Some("c"), Some("c"), None]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_listing_that_is_too_old_begins_anew() {
        let service = Service::new(vec![Ok(page(&[1], Some("b"))), Err(down()), Ok(page(&[7], None))]);
        let mut pages = Pages::new(PageLimits::default());
        service.rest(&mut pages).await.unwrap_err();
        tokio::time::advance(Duration::from_secs(601)).await;
        assert_eq!(service.rest(&mut pages).await.unwrap(), [7]);
    }

    #[tokio::test]
    async fn a_circle_is_an_error_and_leaves_nothing() {
        let answers = ["b", "c", "b"].map(|next| Ok(page(&[1], Some(next))));
        let service = Service::new([answers.to_vec(), vec![Ok(page(&[2], None))]].concat());
        let mut pages = Pages::new(PageLimits::default());
        let error = service.rest(&mut pages).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol);
        assert!(error.context.contains("page 3 leads back to an earlier page"), "{error}");
        assert_eq!(service.rest(&mut pages).await.unwrap(), [2]);
    }

    #[tokio::test]
    async fn a_listing_without_end_is_an_error() {
        let mut pages = Pages::new(PageLimits { pages: 5, ..PageLimits::default() });
        let asked = Cell::new(0);
        let fetch = |cursor: Option<u64>| {
            asked.set(asked.get() + 1);
            async move { Ok(Page { items: vec![0_u8], next: Some(cursor.unwrap_or(1) + 1) }) }
        };
        let error = pages.rest("list", fetch, |_| {}).await.unwrap_err();
        assert!(error.context.contains("more than 5 pages"), "{error}");
        assert_eq!(asked.get(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn progress_is_reported_after_each_page() {
        let mut pages = Pages::new(PageLimits::default());
        let mut reported = Vec::new();
        let fetch = |cursor: Option<u64>| async move {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let number = cursor.unwrap_or(1);
            Ok(Page::numbered(vec!["x"; 2], number, 3))
        };
        let items = pages.rest("list", fetch, |progress| reported.push(progress)).await.unwrap();
        assert_eq!(items.len(), 6);
        let expected = [(1, 2, 4), (2, 4, 8), (3, 6, 12)].map(|(pages, items, seconds)| Progress {
            pages,
            items,
            elapsed: Duration::from_secs(seconds),
        });
        assert_eq!(reported, expected);
    }
    #[test]
    fn a_quick_listing_is_not_worth_a_line() {
        let mut reported = Vec::new();
        let mut report = every(Duration::from_secs(10), |progress: Progress| reported.push(progress.pages));
        for (pages, seconds) in [(1, 4), (2, 9), (3, 12), (4, 19), (5, 22), (6, 60)] {
            report(Progress { pages, items: 0, elapsed: Duration::from_secs(seconds) });
        }
        drop(report);
        assert_eq!(reported, [3, 5, 6]);
    }
}
