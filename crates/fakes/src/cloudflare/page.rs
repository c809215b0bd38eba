//! Pages of listings: *Pagination* in the API reference.

use serde_json::{Value, json};

use super::refusal::Refusal;
use super::request::Request;

/// The sizes that a listing has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) usual: usize,
    pub(super) least: usize,
    pub(super) most: usize,
}

pub(super) const ZONES: Sizes = Sizes { usual: 20, least: 5, most: 50 };
pub(super) const RECORDS: Sizes = Sizes { usual: 100, least: 1, most: 5_000_000 };
pub(super) const CUSTOM_HOSTNAMES: Sizes = Sizes { usual: 20, least: 5, most: 50 };

/// Which part of a listing a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    number: usize,
    size: usize,
    /// The first page is answered in place of this one.
    repeated: bool,
}

impl Page {
    /// What a request asks for; no page has more than `most` items, whatever it asks for.
    pub(super) fn read(request: &Request, sizes: Sizes, most: Option<usize>, repeated: bool) -> Result<Self, Refusal> {
        let number = |name: &str, least: usize, most: usize| {
            let Some(text) = request.parameter(name) else { return Ok(None) };
            // Clients write whole numbers also as `2.0`.
            let number = text.strip_suffix(".0").unwrap_or(text).parse().ok();
            let number = number.filter(|number| (least..=most).contains(number));
            number.map(Some).ok_or_else(|| Refusal::parameter(name))
        };
        let size = number("per_page", sizes.least, sizes.most)?.unwrap_or(sizes.usual);
        let size = most.map_or(size, |most| size.min(most));
        Ok(Self { number: number("page", 1, usize::MAX)?.unwrap_or(1), size, repeated })
    }

    /// The items of the page, and what an answer says of it.
    pub(super) fn cut<T>(self, items: Vec<T>) -> (Vec<T>, Value) {
        let total = items.len();
        let before = if self.repeated { 0 } else { (self.number - 1).saturating_mul(self.size) };
        let items: Vec<T> = items.into_iter().skip(before).take(self.size).collect();
        let pages = total.div_ceil(self.size);
        let pages = if self.repeated { pages.max(self.number + 1) } else { pages };
        let info = json!({
            "page": self.number, "per_page": self.size, "count": items.len(),
            "total_count": if self.repeated { pages * self.size } else { total }, "total_pages": pages,
        });
        (items, info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &str, most: Option<usize>, repeated: bool) -> Result<Page, Refusal> {
        Page::read(&Request::new("GET", &format!("/zones?{query}")), ZONES, most, repeated)
    }

    #[track_caller]
    fn check(query: &str, most: Option<usize>, repeated: bool, items: &[usize], info: [usize; 5]) {
        let (cut, shown) = page(query, most, repeated).unwrap().cut((1..=7).collect());
        let info: Vec<Value> = info.iter().map(|number| json!(number)).collect();
        let shown = ["page", "per_page", "count", "total_count", "total_pages"].map(|name| shown[name].clone());
        assert_eq!((cut.as_slice(), shown.as_slice()), (items, info.as_slice()), "{query}");
    }

    #[test]
    fn listings_are_cut() {
        check("", None, false, &[1, 2, 3, 4, 5, 6, 7], [1, 20, 7, 7, 1]);
        check("per_page=5&page=2", None, false, &[6, 7], [2, 5, 2, 7, 2]);
        check("page=2.0", Some(3), false, &[4, 5, 6], [2, 3, 3, 7, 3]);
        check("page=4", Some(3), false, &[], [4, 3, 0, 7, 3]);
        check("page=3", Some(3), true, &[1, 2, 3], [3, 3, 3, 12, 4]);
    }

    #[test]
    fn sizes_have_limits() {
        for query in ["per_page=4", "per_page=51", "per_page=x", "page=0", "page=-1", "page=1.5"] {
            assert!(page(query, None, false).is_err(), "{query}");
        }
        assert!(page("per_page=50&page=", None, false).is_ok());
    }
}
