//! The text of one manifest file to objects.
//!
//! In comes a file's text, YAML or JSON, with one or many documents and lists of objects; out come objects and faults,
//! each with the line at which it stands. What must hold: a fault in one document costs that document only, and nothing
//! that the text says makes the reader panic or take more than a small multiple of the text's size.

use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::{Options, Spanned};

use crate::kind::Kind;
use crate::lookup::{ReadScope, Reads};
use crate::store::{Keep, Object};

/// The namespace of a namespaced object that states none, as for `kubectl apply`.
const DEFAULT_NAMESPACE: &str = "default";

/// Parser events that aliases may stand for in one document: real manifests use a handful.
const ALIAS_EVENTS: usize = 100_000;

/// How a file is written, by its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// `.yaml`, `.yml`
    Yaml,
    /// `.json`
    Json,
}

/// What is read out of files.
#[derive(Debug, Clone)]
pub(crate) struct DocumentReads {
    /// The kinds that are read, and how far; others are passed over.
    pub(crate) reads: Reads,
    /// What of an object is kept.
    pub(crate) keep: Keep,
}

/// Something at a line of a file, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At<T> {
    pub(super) line: usize,
    pub(super) what: T,
}

/// An object of a kind that nothing reads here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) api_version: String,
    pub(super) kind: String,
}

/// What a text holds.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) objects: Vec<At<Object>>,
    pub(super) unread: Vec<At<Unread>>,
    pub(super) faults: Vec<At<String>>,
}

/// Reads a whole text.
pub(super) fn parse(text: &str, format: Format, wanted: &DocumentReads) -> Parsed {
    let mut parsed = Parsed::default();
    let documents = match format {
        Format::Yaml => yaml(text, &mut parsed.faults),
        Format::Json => json(text, &mut parsed.faults),
    };
    for document in documents {
        read_document(document, wanted, &mut parsed);
    }
    parsed
}

/// One document, with the lines of its `items` where they are known.
#[derive(Debug)]
struct Document {
    line: usize,
    value: Value,
    items: Vec<usize>,
}

fn json(text: &str, faults: &mut Vec<At<String>>) -> Vec<Document> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut documents = Vec::new();
    loop {
        let rest = text.get(stream.byte_offset()..).unwrap_or_default();
        let start = text.len() - rest.trim_start().len();
        match stream.next() {
            Some(Ok(value)) => documents.push(Document { line: line_of(text, start), value, items: Vec::new() }),
            Some(Err(error)) => {
                faults.push(At { line: error.line(), what: without_place(&error.to_string()) });
                return documents;
            }
            None => return documents,
        }
    }
}

/// The line of a byte, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn yaml(text: &str, faults: &mut Vec<At<String>>) -> Vec<Document> {
    let mut documents = Vec::new();
    for At { line, what } in chunks(text) {
        match yaml_document(line, what) {
            Ok(Some(document)) => documents.push(document),
            Ok(None) => {}
            Err(error) => faults.push(yaml_fault(line, &error)),
        }
    }
    documents
}

fn yaml_fault(first: usize, error: &serde_saphyr::Error) -> At<String> {
    let inner = error.location().and_then(|at| usize::try_from(at.line()).ok()).unwrap_or(1);
    At { line: first + inner.max(1) - 1, what: without_place(&error.without_snippet().to_string()) }
}

/// A parser's message without the place in the piece that it parsed, which would contradict the line in the file, and
/// without its advice to programmers.
fn without_place(message: &str) -> String {
    let end = [" at line ", ", set DuplicateKeyPolicy"].iter().filter_map(|mark| message.find(mark)).min();
    message.get(..end.unwrap_or(message.len())).unwrap_or(message).to_owned()
}

/// A document; `None` for an empty one.
fn yaml_document(line: usize, text: &str) -> Result<Option<Document>, serde_saphyr::Error> {
    let value: Value = serde_saphyr::from_str_with_options(text, options(text.len()))?;
    if value.is_null() {
        return Ok(None);
    }
    let items = if value.get("items").is_some_and(Value::is_array) { item_lines(line, text)? } else { Vec::new() };
    Ok(Some(Document { line: line + leading_lines(text), value, items }))
}

#[derive(Deserialize)]
struct Items {
    items: Vec<Spanned<serde::de::IgnoredAny>>,
}

fn item_lines(first: usize, text: &str) -> Result<Vec<usize>, serde_saphyr::Error> {
    let list: Items = serde_saphyr::from_str_with_options(text, options(text.len()))?;
    let lines = list.items.iter().map(|item| usize::try_from(item.referenced.line()).unwrap_or(1));
    Ok(lines.map(|line| first + line.max(1) - 1).collect())
}

/// The lines before the first that says something: the marker, comments and blank lines.
fn leading_lines(text: &str) -> usize {
    let silent = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#') || line.trim_end() == "---";
    text.lines().take_while(silent).count()
}

/// The documents of a YAML stream. `---` at the beginning of a line ends a document wherever it stands, even in a quoted
/// or block text (YAML 1.2.2, section 9.1.2), so a broken document cannot hide the next.
fn chunks(text: &str) -> Vec<At<&str>> {
    let mut starts = vec![(1, 0)];
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if is_marker(line) {
            starts.push((number + 1, at));
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([text.len()]);
    let pieces =
        starts.iter().zip(ends).map(|((line, at), end)| At { line: *line, what: text.get(*at..end).unwrap_or("") });
    pieces.filter(|piece| !is_silent(piece.what)).collect()
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether a piece holds comments, directives and blank lines only.
fn is_silent(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#') || line.starts_with('%'))
}

/// Limits that follow the size of the text, so that big files pass and small bombs do not.
fn options(len: usize) -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: 4 * len + 1_000,
            max_nodes: 2 * len + 1_000,
            max_total_scalar_bytes: 2 * len + 1_000,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: ALIAS_EVENTS },
    }
}

fn read_document(document: Document, wanted: &DocumentReads, parsed: &mut Parsed) {
    let Document { line, mut value, items } = document;
    let kind = text_field(&value, "kind").unwrap_or_default().to_owned();
    let list = if kind.ends_with("List") { value.get_mut("items").and_then(Value::as_array_mut) } else { None };
    let Some(list) = list.map(std::mem::take) else {
        return read_object(line, value, wanted, parsed);
    };
    let api_version = text_field(&value, "apiVersion").unwrap_or_default().to_owned();
    let member = kind.trim_end_matches("List");
    for (position, mut item) in list.into_iter().enumerate() {
        if !member.is_empty() {
            name_member(&mut item, &api_version, member);
        }
        read_object(items.get(position).copied().unwrap_or(line), item, wanted, parsed);
    }
}

/// The members of a typed list (`ServiceList`) say neither kind nor version.
fn name_member(item: &mut Value, api_version: &str, kind: &str) {
    if let Some(item) = item.as_object_mut() {
        item.entry("apiVersion").or_insert_with(|| api_version.into());
        item.entry("kind").or_insert_with(|| kind.into());
    }
}

fn read_object(line: usize, value: Value, wanted: &DocumentReads, parsed: &mut Parsed) {
    match objects(value, wanted) {
        Ok(Found::Objects(objects)) => parsed.objects.extend(objects.into_iter().map(|what| At { line, what })),
        Ok(Found::Unread(what)) => parsed.unread.push(At { line, what }),
        Err(what) => parsed.faults.push(At { line, what }),
    }
}

/// What a document comes to.
enum Found {
    /// Its object, once for each kind that it counts as.
    Objects(Vec<Object>),
    /// Nothing reads its kind.
    Unread(Unread),
}

/// The object of a document, once for each kind that it counts as: a kind of the table, and kinds that the user named.
fn objects(mut value: Value, wanted: &DocumentReads) -> Result<Found, String> {
    let Some(fields) = value.as_object_mut() else {
        return Err("this is no object; expected apiVersion, kind and metadata".to_owned());
    };
    let api_version = required(fields, "apiVersion")?;
    let kind_name = required(fields, "kind")?;
    let kinds: Vec<(Kind, &ReadScope)> =
        wanted.reads.iter().filter(|(kind, _)| kind.is(&api_version, &kind_name)).map(|(k, r)| (*k, r)).collect();
    if kinds.is_empty() {
        tracing::debug!(api_version, kind = kind_name, "no source reads this kind");
        return Ok(Found::Unread(Unread { api_version, kind: kind_name }));
    }
    let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
    let metadata = metadata.ok_or_else(|| format!("{kind_name} without metadata; expected metadata.name"))?;
    let name = required(metadata, "name").map_err(|why| format!("{kind_name}, metadata: {why}"))?;
    check_texts(metadata).map_err(|why| format!("{kind_name} {name}: {why}"))?;
    let mut objects = Vec::new();
    for (kind, reach) in kinds {
        let mut value = value.clone();
        let namespace = namespace(kind, &mut value);
        if reach.has(&namespace) {
            let read = Object::from_value(kind, value, &wanted.keep);
            objects.push(read.map_err(|error| format!("{kind_name} {namespace}/{name}: {error}"))?);
        }
    }
    Ok(Found::Objects(objects))
}

/// The namespace, which is written in where it is missing. Whether objects of a kind that the user named have one, nobody
/// says here; they stay as they are.
fn namespace(kind: Kind, value: &mut Value) -> String {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return String::new() };
    if !kind.spec().namespaced {
        return String::new();
    }
    let stated = metadata.get("namespace").and_then(Value::as_str).filter(|stated| !stated.is_empty());
    let default = if matches!(kind, Kind::Custom(_)) { "" } else { DEFAULT_NAMESPACE };
    let namespace = stated.unwrap_or(default).to_owned();
    metadata.insert("namespace".to_owned(), Value::from(namespace.as_str()));
    namespace
}

/// The commonest mistake in manifests, described better than by the parser: `ttl: 60` without quotes.
fn check_texts(metadata: &Map<String, Value>) -> Result<(), String> {
    for field in ["annotations", "labels"] {
        let pairs = metadata.get(field).and_then(Value::as_object).into_iter().flatten();
        for (key, value) in pairs {
            if !value.is_string() && !value.is_null() {
                return Err(format!("metadata.{field}, {key}: expected text, found {value}; put it in quotes"));
            }
        }
    }
    Ok(())
}

fn text_field<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

fn required(fields: &Map<String, Value>, field: &str) -> Result<String, String> {
    match fields.get(field) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(other) => Err(format!("`{field}` is {other}; expected a name")),
        None => Err(format!("`{field}` is missing")),
    }
}

#[cfg(test)]
mod tests;
