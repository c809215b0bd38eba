//! What lists and watches look like on the wire. In: bytes. Out: the caller's objects, and the little that the watch itself
//! must know. Everything else of an object is skipped while it is read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube::core::Status;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{WatchEvent, WatchKey};
use crate::api::Refusal;

/// On the last of the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// One line of a watch.
#[derive(Debug)]
pub(super) enum Line<T> {
    /// An object was there, came or changed.
    Present { object: Result<T, Unfit>, version: String },
    /// An object was deleted.
    Gone { key: WatchKey, version: String },
    /// Nothing happened up to this version.
    Bookmark { version: String, initial_events_end: bool },
    /// The server gives up.
    Error(Refusal),
}

/// An object that does not fit the caller's type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unfit {
    key: WatchKey,
    error: String,
}

/// One page of a list.
#[derive(Debug)]
pub(super) struct Page<T> {
    pub(super) objects: Vec<Result<T, Unfit>>,
    pub(super) version: String,
    /// The token of the next page.
    pub(super) more: Option<String>,
    /// How many objects the server says are still to come after this page; `None` where it does not say.
    pub(super) remaining: Option<u64>,
}

#[derive(Deserialize)]
struct RawLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    metadata: ListHead,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// The metadata of a list of which nothing else is of interest.
#[derive(Deserialize)]
pub(super) struct ListOnly {
    pub(super) metadata: ListHead,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListHead {
    #[serde(default)]
    pub(super) resource_version: String,
    #[serde(default, rename = "continue")]
    more: String,
    /// Not set for selectors, nor on the last page.
    #[serde(default)]
    remaining_item_count: Option<i64>,
}

#[derive(Deserialize)]
struct ObjectOnly {
    metadata: Head,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    namespace: String,
    name: String,
    uid: String,
    resource_version: String,
}

#[derive(Deserialize)]
struct BookmarkObject {
    metadata: BookmarkHead,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkHead {
    resource_version: String,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

impl Head {
    fn key(self) -> WatchKey {
        WatchKey { namespace: self.namespace, name: self.name, uid: self.uid }
    }
}

impl<T: DeserializeOwned> Line<T> {
    /// Reads a line; the error says what is wrong with it. An object that does not fit `T` is no such error.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let raw: RawLine<'_> = serde_json::from_slice(line).map_err(|e| said(line, &e))?;
        let text = raw.object.get();
        match &*raw.kind {
            "ADDED" | "MODIFIED" => {
                let version = head(text)?.resource_version;
                Ok(Self::Present { object: object(raw.object), version })
            }
            "DELETED" => {
                let mut head = head(text)?;
                let version = std::mem::take(&mut head.resource_version);
                Ok(Self::Gone { key: head.key(), version })
            }
            "BOOKMARK" => bookmark(text),
            "ERROR" => serde_json::from_str::<Status>(text)
                .map(|status| Self::Error(Refusal::of_status(status, 0)))
                .map_err(|e| said(line, &e)),
            other => Err(format!("an event of the unknown type {other:?}")),
        }
    }
}

impl<T: DeserializeOwned> Page<T> {
    /// Reads a page; the error says what is wrong with it. An object that does not fit `T` is no such error.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let raw: RawPage<'_> = serde_json::from_slice(bytes).map_err(|e| said(bytes, &e))?;
        Ok(Self {
            objects: raw.items.unwrap_or_default().into_iter().map(object).collect(),
            version: raw.metadata.resource_version,
            more: Some(raw.metadata.more).filter(|token| !token.is_empty()),
            remaining: raw.metadata.remaining_item_count.and_then(|count| u64::try_from(count).ok()),
        })
    }
}

impl<T> Page<T> {
    /// How many objects the list still owes after this page, where `before` were owed: by the server's own count, or what is
    /// left of an earlier count.
    pub(super) fn outstanding(&self, before: u64) -> u64 {
        let held = u64::try_from(self.objects.len()).unwrap_or(u64::MAX);
        self.remaining.unwrap_or_else(|| before.saturating_sub(held))
    }
}

impl Unfit {
    pub(super) fn event<T>(self) -> WatchEvent<T> {
        WatchEvent::Unreadable { key: self.key, error: self.error }
    }
}

fn object<T: DeserializeOwned>(raw: &RawValue) -> Result<T, Unfit> {
    serde_json::from_str(raw.get()).map_err(|error| {
        let key = head(raw.get()).map(Head::key).unwrap_or_default();
        Unfit { key, error: error.to_string() }
    })
}

fn head(object: &str) -> Result<Head, String> {
    serde_json::from_str::<ObjectOnly>(object).map(|object| object.metadata).map_err(|e| said(object.as_bytes(), &e))
}

fn bookmark<T>(object: &str) -> Result<Line<T>, String> {
    let BookmarkObject { metadata } = serde_json::from_str(object).map_err(|e| said(object.as_bytes(), &e))?;
    let annotations = metadata.annotations.unwrap_or_default();
    let initial_events_end = annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true");
    Ok(Line::Bookmark { version: metadata.resource_version, initial_events_end })
}

/// The error with the beginning of what it is about.
fn said(bytes: &[u8], error: &serde_json::Error) -> String {
    let shown = String::from_utf8_lossy(bytes.get(..80).unwrap_or(bytes)).into_owned();
    format!("not what the API promises: {error}, in {shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Small {
        spec: u8,
    }

    fn parse(line: &str) -> String {
        match Line::<Small>::parse(line.as_bytes()) {
            Ok(Line::Present { object: Ok(object), version }) => format!("present {} at {version}", object.spec),
            Ok(Line::Present { object: Err(unfit), version }) => format!("unfit {} at {version}", unfit.key.name),
            Ok(Line::Gone { key, version }) => format!("gone {}/{} {} at {version}", key.namespace, key.name, key.uid),
            Ok(Line::Bookmark { version, initial_events_end }) => format!("bookmark {version} {initial_events_end}"),
            Ok(Line::Error(refusal)) => format!("error {} {}", refusal.code, refusal.message),
            Err(_) => "garbage".to_owned(),
        }
    }

    #[test]
    fn lines_of_a_watch() {
        let check = |line: &str, expected: &str| assert_eq!(parse(line), expected, "{line}");
        check(
            r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5","managedFields":[{}]},"spec":1}}"#,
            "present 1 at 5",
        );
        check(r#"{"object":{"spec":2,"metadata":{"resourceVersion":"6"}},"type":"MODIFIED"}"#, "present 2 at 6");
        check(
            r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5"},"spec":"x"}}"#,
            "unfit a at 5",
        );
        check(
            r#"{"type":"DELETED","object":{"metadata":{"namespace":"n","name":"a","uid":"u","resourceVersion":"7"},"spec":"x"}}"#,
            "gone n/a u at 7",
        );
        check(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}"#, "bookmark 8 false");
        check(
            r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
            "bookmark 9 true",
        );
        check(
            r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old","reason":"Expired"}}"#,
            "error 410 too old",
        );
        for garbage in [
            "",
            "}",
            "null",
            r#"{"type":"ADDED"}"#,
            r#"{"type":"SAID","object":{}}"#,
            r#"{"type":"ADDED","object":[]}"#,
            "\u{fffd}",
        ] {
            check(garbage, "garbage");
        }
    }

    #[test]
    fn a_page_keeps_what_fits_and_names_what_does_not() {
        let text = r#"{"metadata":{"resourceVersion":"9","continue":"t"},"items":[{"spec":1},{"metadata":{"name":"b"},"spec":"x"},{"spec":3}]}"#;
        let page = Page::<Small>::parse(text.as_bytes()).unwrap();
        assert_eq!((page.version.as_str(), page.more.as_deref()), ("9", Some("t")));
        let names: Vec<_> =
            page.objects.iter().map(|o| o.as_ref().map(|o| o.spec).map_err(|unfit| &*unfit.key.name)).collect();
        assert_eq!(names, [Ok(1), Err("b"), Ok(3)]);
    }

    #[test]
    fn a_list_of_nothing_may_be_null() {
        let page = Page::<Small>::parse(br#"{"metadata":{"resourceVersion":"9","continue":""},"items":null}"#).unwrap();
        assert!(page.objects.is_empty() && page.more.is_none());
    }
}
