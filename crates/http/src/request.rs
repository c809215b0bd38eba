//! One request, as a provider states it.
//!
//! The path is a template with the identifiers set apart, so that metrics and log lines are about a kind of request and not
//! about one record of thousands.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::error::TransportError;

/// What is encoded in a path segment: all but the unreserved characters (RFC 3986 2.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Whether a request may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Carrying it out twice is the same as once (RFC 9110 9.2.2): repeated also where nobody knows.
    Idempotent,
    /// Repeated only where it certainly was not carried out: no connection, or refused by a rate limit.
    IfNotCarriedOut,
    /// Never repeated; the caller sees to it.
    Never,
}

/// Which part of the account's rate a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Share {
    /// All of it.
    #[default]
    Full,
    /// At most a fifth, for what must not slow down the rest.
    Background,
    /// All of it, before what else waits, for a slot as for a turn: for what rests on an answer of a moment ago. Every tenth
    /// turn is of the others, so that they get some whatever there is to do.
    Next,
}

/// Where a request goes.
#[derive(Debug, Clone)]
enum Target {
    /// Below the base address: a template and the values of its `{placeholders}`.
    Path { template: &'static str, values: Vec<(&'static str, String)> },
    /// An address that the service gave, of the kind that the template says.
    Link { url: Url, template: &'static str },
}

/// A request. `Debug` shows neither headers nor values.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: Method,
    target: Target,
    query: Vec<(&'static str, String)>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<Bytes>,
    pub(crate) repeat: Repeat,
    pub(crate) share: Share,
    pub(crate) timeout: Option<Duration>,
    until: Option<Instant>,
    pub(crate) limit: Option<usize>,
    /// What the builder could not take: an error when the request is sent.
    fault: Option<String>,
}

impl Request {
    /// A request for a path below the base address: `/zones/{zone}/records`, with [`Request::set`] for each placeholder. An
    /// empty path is the base address itself.
    ///
    /// May be repeated as the method says (RFC 9110 9.2.2).
    pub fn new(method: Method, template: &'static str) -> Self {
        Self::to(method, Target::Path { template, values: Vec::new() })
    }

    /// A GET of a path; see [`Request::new`].
    pub fn get(template: &'static str) -> Self {
        Self::new(Method::GET, template)
    }

    /// A request for an address that the service gave, such as a link to the next page. `template` names its kind in
    /// metrics. Credentials go with it only if it is at the base address' own scheme, host and port.
    pub fn link(method: Method, url: Url, template: &'static str) -> Self {
        Self::to(method, Target::Link { url, template })
    }

    fn to(method: Method, target: Target) -> Self {
        let repeat = if method.is_idempotent() { Repeat::Idempotent } else { Repeat::IfNotCarriedOut };
        Self {
            method,
            target,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            repeat,
            share: Share::Full,
            timeout: None,
            until: None,
            limit: None,
            fault: None,
        }
    }

    /// The value of the placeholder `{name}`; percent-encoded here, slashes too.
    #[must_use]
    pub fn set(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        if let Target::Path { values, .. } = &mut self.target {
            values.push((name, value.to_string()));
        }
        self
    }

    /// Another parameter of the query; percent-encoded here.
    #[must_use]
    pub fn query(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// A header. A value that cannot be one is an error when the request is sent.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(value) => self.headers.push((name, value)),
            Err(_) => {
                self.fault = Some(format!("the value of the header {name} has characters that headers cannot have"));
            }
        }
        self
    }

    /// A body with its media type.
    #[must_use]
    pub fn body(mut self, media: &'static str, body: impl Into<Bytes>) -> Self {
        self.headers.push((CONTENT_TYPE, HeaderValue::from_static(media)));
        self.body = Some(body.into());
        self
    }

    /// A body in JSON.
    #[must_use]
    pub fn json(self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.body("application/json", body),
            Err(error) => Self { fault: Some(format!("the body cannot be written as JSON: {error}")), ..self },
        }
    }

    /// Whether it may be repeated, where the method says too little.
    #[must_use]
    pub fn repeat(self, repeat: Repeat) -> Self {
        Self { repeat, ..self }
    }

    /// Which part of the account's rate it may use.
    #[must_use]
    pub fn share(self, share: Share) -> Self {
        Self { share, ..self }
    }

    /// Longest time of one attempt, in place of the client's.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// No attempt begins later than so long from now; what could not be sent by then fails unsent. For what rests on something that was
    /// read, and that is good for no longer.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        Self { until: Instant::now().checked_add(time), ..self }
    }

    /// Most bytes of the body of a success, in place of the client's.
    #[must_use]
    pub fn limit(self, bytes: usize) -> Self {
        Self { limit: Some(bytes), ..self }
    }

    /// Whether an attempt after this pause would begin too late.
    pub(crate) fn is_late_after(&self, pause: Duration) -> bool {
        self.until.is_some_and(|until| Instant::now() + pause > until)
    }

    /// What comes of a wait, if it ends before the request would be too late.
    pub(crate) async fn in_time<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        match self.until {
            Some(until) => timeout_at(until, wait).await.ok(),
            None => Some(wait.await),
        }
    }

    /// Whether sending it changes nothing (RFC 9110 9.2.1).
    pub(crate) fn is_safe(&self) -> bool {
        self.method.is_safe()
    }

    /// The path as a template.
    pub fn template(&self) -> &'static str {
        match &self.target {
            Target::Path { template, .. } | Target::Link { template, .. } => template,
        }
    }

    /// The address. A query of the base address comes first.
    pub(crate) fn url(&self, base: &Url) -> Result<Url, TransportError> {
        if let Some(fault) = &self.fault {
            return Err(TransportError::Request(fault.clone()));
        }
        let mut url = match &self.target {
            Target::Link { url, .. } => url.clone(),
            Target::Path { template: "", .. } => base.clone(),
            Target::Path { template, values } => {
                let path = filled(template, values).map_err(TransportError::Request)?;
                let mut url = base.clone();
                url.set_path(&format!("{}/{}", base.path().trim_end_matches('/'), path.trim_start_matches('/')));
                url
            }
        };
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

/// The template with its values. The error is a sentence.
fn filled(template: &str, values: &[(&'static str, String)]) -> Result<String, String> {
    let mut path = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(|| format!("{template}: a brace is not closed"))?;
        let value = values.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str());
        let value = value.ok_or_else(|| format!("{template}: {{{name}}} has no value"))?;
        // Each of these would lead to another path than the template says.
        if matches!(value, "" | "." | "..") {
            return Err(format!("{template}: {value:?} cannot stand for {{{name}}}"));
        }
        path.push_str(before);
        path.extend(utf8_percent_encode(value, SEGMENT));
        rest = after;
    }
    path.push_str(rest);
    Ok(path)
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {:?})", self.method, self.template())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(base: &str, request: &Request) -> String {
        request.url(&base.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn addresses() {
        let zone = |id: &str| Request::get("/zones/{zone}/records").set("zone", id);
        for (base, request, expected) in [
            ("http://a:1", Request::get("records"), "http://a:1/records"),
            ("http://a:1/", Request::get("/records"), "http://a:1/records"),
            ("https://a/dns/v1/", Request::get("/x"), "https://a/dns/v1/x"),
            ("https://a/dns?t=1", Request::get("/x"), "https://a/dns/x?t=1"),
            ("https://a/dns?t=1", Request::get("/x").query("page", 2), "https://a/dns/x?t=1&page=2"),
            ("https://a/dns/", Request::get(""), "https://a/dns/"),
            ("https://a", zone("abc"), "https://a/zones/abc/records"),
            ("https://a", zone("a/b?c#d%é"), "https://a/zones/a%2Fb%3Fc%23d%25%C3%A9/records"),
            ("https://a", Request::get("/x").query("q", "a b&c"), "https://a/x?q=a+b%26c"),
        ] {
            assert_eq!(url(base, &request), expected);
        }
        let next = Request::link(Method::GET, "https://b/y?skip=2".parse().unwrap(), "/zones");
        assert_eq!(url("https://a", &next), "https://b/y?skip=2");
    }

    #[test]
    fn what_cannot_be_sent_says_why() {
        let base: Url = "https://a".parse().unwrap();
        for (request, expected) in [
            (Request::get("/zones/{zone}"), "{zone} has no value"),
            (Request::get("/zones/{zone").set("zone", 1), "not closed"),
            (Request::get("/zones/{zone}").set("zone", ".."), "\"..\" cannot stand for {zone}"),
            (Request::get("/zones/{zone}").set("zone", ""), "\"\" cannot stand for {zone}"),
            (Request::get("/").header(http::header::IF_MATCH, "a\nb"), "the value of the header if-match"),
        ] {
            let error = request.url(&base).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_method_says_what_may_be_repeated() {
        for (method, expected) in [
            (Method::GET, Repeat::Idempotent),
            (Method::PUT, Repeat::Idempotent),
            (Method::DELETE, Repeat::Idempotent),
            (Method::POST, Repeat::IfNotCarriedOut),
            (Method::PATCH, Repeat::IfNotCarriedOut),
        ] {
            assert_eq!(Request::new(method, "/").repeat, expected);
        }
    }

    #[test]
    fn debug_shows_no_value() {
        let request = Request::get("/z/{id}").set("id", "s3cret").query("token", "s3cret");
        let request = request.header(http::header::AUTHORIZATION, "s3cret");
        assert_eq!(format!("{request:?}"), "Request(GET \"/z/{id}\")");
    }

    proptest! {
        #[test]
        fn no_value_leaves_its_segment(value in ".{1,20}") {
            let base: Url = "https://a/base".parse().unwrap();
            if let Ok(url) = Request::get("/z/{id}/r").set("id", &value).url(&base) {
                let segments: Vec<_> = url.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 4, "{}", url);
                prop_assert_eq!((segments[0], segments[1], segments[3]), ("base", "z", "r"));
                prop_assert_eq!(url.query(), None);
            }
        }
    }
}
