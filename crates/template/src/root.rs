//! What the dot is at the start. In come an object and its shape; out comes the value of each of the two readings.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::naming;
use crate::shape::{ObjectKind, Shape};
use crate::table;
use crate::value::{Text, Value, kind};

type Fields<'a> = BTreeMap<&'static str, Value<'a>>;

/// The object as its source reads it: the typed structure, or the record of the `unstructured` source.
pub(crate) fn first(object: &Json, shape: Shape) -> Result<Value<'_>, String> {
    match shape {
        Shape::Unstructured => {
            let mut fields = record(object)?;
            for name in ["Spec", "Status"] {
                fields.insert(name, aliased(part(object, &name.to_lowercase())?));
            }
            getters(&mut fields);
            Ok(Value::Record(Arc::new(fields)))
        }
        Shape::Typed(kind) => match table::find(kind.structure()) {
            Some(known) => Ok(Value::Struct(known, Some(object))),
            None => Err(format!("the kind {} has no table of types", kind.structure())),
        },
    }
}

/// The object by its JSON keys.
pub(crate) fn second(object: &Json) -> Result<Value<'_>, String> {
    record(object).map(|fields| Value::Record(Arc::new(fields)))
}

/// A copy of `object` that says its kind and API version, where a typed one lacks them; nothing if it has both.
pub(crate) fn with_type_meta(object: &Map<String, Json>, kind: ObjectKind) -> Option<Json> {
    let lacks = |key: &str| object.get(key).and_then(Json::as_str).is_none_or(str::is_empty);
    if !lacks("kind") {
        return None;
    }
    let (name, version) = kind.type_meta();
    let mut whole = object.clone();
    whole.insert("kind".into(), name.into());
    whole.insert("apiVersion".into(), version.into());
    Some(Json::Object(whole))
}

fn part<'a>(object: &'a Json, key: &str) -> Result<Option<&'a Map<String, Json>>, String> {
    match object.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Object(map)) => Ok(Some(map)),
        Some(other) => Err(format!("{key}: expected an object, found {}", kind(other))),
    }
}

fn record(object: &Json) -> Result<Fields<'_>, String> {
    let metadata = part(object, "metadata")?;
    let of_metadata = |key: &str| metadata.and_then(|m| m.get(key));
    let texts = |key: &str| match of_metadata(key) {
        Some(Json::Object(map)) => Value::Map(&table::TEXT, Some(map)),
        _ => Value::Map(&table::TEXT, None),
    };
    let any = |key: &str| part(object, key).map(|map| Value::Map(&table::ANY, map));
    Ok(BTreeMap::from([
        ("Name", text(of_metadata("name"))),
        ("Namespace", text(of_metadata("namespace"))),
        ("Kind", text(object.get("kind"))),
        ("APIVersion", text(object.get("apiVersion"))),
        ("Labels", texts("labels")),
        ("Annotations", texts("annotations")),
        ("Metadata", Value::Map(&table::ANY, metadata)),
        ("Spec", any("spec")?),
        ("Status", any("status")?),
        ("Object", Value::any(object)),
    ]))
}

/// A text, or the empty one.
fn text(value: Option<&Json>) -> Value<'_> {
    Value::Text(Text::Borrowed(value.and_then(Json::as_str).unwrap_or_default()))
}

fn getters(fields: &mut Fields<'_>) {
    for (getter, name) in [
        ("GetName", "Name"),
        ("GetNamespace", "Namespace"),
        ("GetLabels", "Labels"),
        ("GetAnnotations", "Annotations"),
        ("GetKind", "Kind"),
        ("GetAPIVersion", "APIVersion"),
    ] {
        if let Some(value) = fields.get(name).cloned() {
            fields.insert(getter, value);
        }
    }
}

/// A map that also answers to the Go names of its keys. A key that is there beats a name; of two names the first key wins.
fn aliased(map: Option<&Map<String, Json>>) -> Value<'_> {
    let Some(map) = map else { return Value::Map(&table::ANY, None) };
    let mut all: BTreeMap<String, Value<'_>> = map.iter().map(|(k, v)| (k.clone(), Value::any(v))).collect();
    let keys: BTreeMap<&String, &Json> = map.iter().collect();
    for (key, value) in keys {
        all.entry(naming::go_name(key)).or_insert_with(|| Value::any(value));
    }
    Value::MadeMap(Arc::new(all))
}

/// The object as `Kind namespace/name`, for messages.
pub(crate) fn describe(object: &Json, shape: Shape) -> String {
    let text = |value: Option<&Json>| value.and_then(Json::as_str).unwrap_or_default().to_owned();
    let metadata = |key: &str| text(object.get("metadata").and_then(|m| m.get(key)));
    let kind = match (text(object.get("kind")), shape) {
        (kind, Shape::Typed(known)) if kind.is_empty() => known.type_meta().0.to_owned(),
        (kind, _) => kind,
    };
    let (namespace, name) = (metadata("namespace"), metadata("name"));
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}
