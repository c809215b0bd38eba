//! Which part of a listing an answer has.

use form_urlencoded::Serializer;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::request::Request;

/// Items of a page where a request asks for no number, and at most.
const PAGE: usize = 100;

/// The parameters of paging, in lower case.
const TOP: &str = "$top";
const TOKEN: &str = "$skiptoken";

/// Which page of a list is asked for.
#[derive(Debug)]
pub(super) struct Paging<'a> {
    request: &'a Request,
    size: usize,
    /// The page begins after the item of this key.
    after: Option<&'a str>,
    repeat: bool,
}

impl<'a> Paging<'a> {
    /// `most` limits the items of a page further; `repeat` answers the first page whatever is asked for.
    ///
    /// # Errors
    /// When the request asks for no number of items.
    pub(super) fn of(request: &'a Request, most: Option<usize>, repeat: bool) -> Result<Self, Refusal> {
        let asked = request.parameter(TOP);
        let size = asked.map_or(Some(PAGE), |text| text.parse().ok().filter(|size| *size > 0));
        let size = size.ok_or_else(|| Refusal::parameter("$top", asked.unwrap_or_default()))?;
        let after = request.parameter(TOKEN).filter(|_| !repeat);
        Ok(Self { request, size: size.min(most.unwrap_or(PAGE)).min(PAGE), after, repeat })
    }

    /// The page of a list whose items have keys; only those on it are shown.
    pub(super) fn cut<T>(&self, items: impl Iterator<Item = (String, T)>, show: impl Fn(T) -> Value) -> Value {
        let mut rest: Vec<(String, T)> =
            items.filter(|(key, _)| self.after.is_none_or(|after| key.as_str() > after)).collect();
        rest.sort_by(|a, b| a.0.cmp(&b.0));
        let more = rest.len() > self.size || self.repeat;
        rest.truncate(self.size);
        let next = rest.last().filter(|_| more).map(|(key, _)| self.link(key));
        let mut body = json!({ "value": rest.into_iter().map(|(_, item)| show(item)).collect::<Vec<_>>() });
        if let Some(next) = next {
            body["nextLink"] = json!(next);
        }
        body
    }

    /// The whole address of the page after the item of this key: this request's own, further on.
    fn link(&self, key: &str) -> String {
        let mut query = Serializer::new(String::new());
        for name in ["api-version", TOP, "$recordsetnamesuffix"] {
            self.request.parameter(name).map(|value| query.append_pair(name, value));
        }
        format!("{}?{}", self.request.url(), query.append_pair("$skipToken", key).finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let page = |target: &str, most| {
            let request = Request::new("GET", target);
            let items = ["a|A", "b|A", "c|A"].map(|key| (key.to_owned(), key)).into_iter();
            Paging::of(&request, most, false).map(|paging| paging.cut(items, |key| json!(key)))
        };
        let first = page("/x?api-version=1&$top=2", None).unwrap();
        assert_eq!(first["value"], json!(["a|A", "b|A"]));
        let next = first["nextLink"].as_str().unwrap();
        assert_eq!(next, "http://localhost/x?api-version=1&%24top=2&%24skipToken=b%7CA");
        let last = page(next.trim_start_matches("http://localhost"), None).unwrap();
        assert_eq!((&last["value"], last.get("nextLink")), (&json!(["c|A"]), None));
        assert_eq!(page("/x", Some(1)).unwrap()["value"], json!(["a|A"]));
        let many = Request::new("GET", "/x?$top=1000");
        let items = (0..101).map(|at| (format!("{at:03}"), at));
        let first = Paging::of(&many, None, false).unwrap().cut(items, |at| json!(at));
        assert_eq!((first["value"].as_array().map(Vec::len), first["nextLink"].is_string()), (Some(100), true));
        for wrong in ["/x?$top=0", "/x?$top=y"] {
            assert_eq!(page(wrong, None).unwrap_err().status, 400, "{wrong}");
        }
    }
}
