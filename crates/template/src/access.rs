//! Looking into values: fields, `index`, `slice`, the entries of a `range`. Missing keys of maps are no errors here.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::format;
use crate::naming;
use crate::table::{self, Struct, Type};
use crate::value::{Text, Value};

type Result<T> = std::result::Result<T, String>;

/// The field or key `name` of `value`. With `strict` a missing key of a map is an error.
pub(crate) fn field<'a>(value: &Value<'a>, name: &str, strict: bool) -> Result<Value<'a>> {
    let missing = || if strict { Err(format!("map has no entry for key {name:?}")) } else { Ok(Value::Missing) };
    match value.target() {
        Value::Missing => missing(),
        Value::Nil | Value::NilPointer => Err(format!("nil pointer evaluating field {name}")),
        Value::Map(ty, map) => match map.and_then(|m| m.get(name)) {
            Some(found) => Value::read(ty, Some(found)),
            None => missing(),
        },
        Value::MadeMap(map) => map.get(name).cloned().map_or_else(missing, Ok),
        Value::Record(fields) => fields.get(name).cloned().ok_or_else(|| unknown(name, "object")),
        Value::Struct(known, json) => structure(known, *json, name)?.map_or_else(|| Err(unknown(name, known.name)), Ok),
        Value::Open(map) => open(*map, name).map(Value::any).ok_or_else(|| unknown(name, "object")),
        Value::Time(text) => time(text, name).ok_or_else(|| unknown(name, "Time")),
        Value::Port(json) => port(*json, name).ok_or_else(|| unknown(name, "IntOrString")),
        other => Err(unknown(name, &other.type_name())),
    }
}

fn unknown(name: &str, ty: &str) -> String {
    format!("can't evaluate field {name} in type {ty}")
}

/// A field by its Go name: of the structure itself, else of what it embeds, else a getter of its metadata.
fn structure<'a>(known: &'static Struct, json: Option<&'a Json>, name: &str) -> Result<Option<Value<'a>>> {
    let part = |key: &str| if key.is_empty() { json } else { json.and_then(|j| j.get(key)) };
    if let Some(found) = known.fields.iter().find(|f| f.name == name) {
        let value = Value::read(&found.ty, part(found.key)).map_err(|e| format!("{}: {e}", found.key))?;
        return Ok(Some(value));
    }
    for inner in known.fields.iter().filter(|f| f.embedded) {
        let Type::Struct(ty) = &inner.ty else { continue };
        let Some(found) = table::find(ty) else { continue };
        let name = name.strip_prefix("Get").filter(|_| *ty == "ObjectMeta").unwrap_or(name);
        if let Some(value) = structure(found, part(inner.key), name)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// A key as it stands, or the first in order whose Go name is `name`.
fn open<'a>(map: Option<&'a Map<String, Json>>, name: &str) -> Option<&'a Json> {
    let map = map?;
    map.get(name).or_else(|| {
        let mut keys: Vec<_> = map.iter().filter(|(k, _)| naming::go_name(k) == name).collect();
        keys.sort_by_key(|(k, _)| *k);
        keys.first().map(|(_, v)| *v)
    })
}

fn time(text: &str, name: &str) -> Option<Value<'static>> {
    match name {
        "String" => Some(Value::made(format::time(text))),
        "IsZero" => Some(Value::Bool(text.is_empty())),
        _ => None,
    }
}

fn port<'a>(json: Option<&'a Json>, name: &str) -> Option<Value<'a>> {
    let text = json.and_then(Json::as_str);
    let number = json.and_then(Json::as_i64).unwrap_or(0);
    match name {
        "Type" => Some(Value::Int(i64::from(text.is_some()))),
        "IntVal" => Some(Value::Int(number)),
        "IntValue" => Some(Value::Int(text.map_or(number, |t| t.parse().unwrap_or(0)))),
        "StrVal" => Some(Value::Text(Text::Borrowed(text.unwrap_or_default()))),
        "String" => Some(Value::made(format::port(json))),
        _ => None,
    }
}

/// Go's `index`: an element of a list, the value of a key or its zero value, a byte of a text.
pub(crate) fn index<'a>(item: &Value<'a>, at: &Value<'a>) -> Result<Value<'a>> {
    let key = || match at.target() {
        Value::Text(key) => Ok(key.clone()),
        other => Err(format!("a map is indexed by text, found {}", other.type_name())),
    };
    let place = || position(at, item.target().len().unwrap_or(0));
    match item.target() {
        Value::Missing | Value::Nil => Err("index of untyped nil".into()),
        Value::NilPointer => Err("index of nil pointer".into()),
        Value::Map(ty, map) => {
            let key = key()?;
            Value::read(ty, map.and_then(|m| m.get(&*key)))
        }
        Value::MadeMap(map) => Ok(map.get(&*key()?).cloned().unwrap_or(Value::Nil)),
        Value::List(ty, list) => Value::read(ty, list.get(place()?)),
        Value::MadeList(list) => Ok(list.get(place()?).cloned().unwrap_or(Value::Nil)),
        Value::Text(text) => Ok(Value::Uint(text.as_bytes().get(place()?).copied().unwrap_or(0).into())),
        other => Err(format!("can't index item of type {}", other.type_name())),
    }
}

fn integer(at: &Value<'_>) -> Result<i64> {
    match at.target() {
        Value::Int(n) => Ok(*n),
        Value::Uint(n) => i64::try_from(*n).map_err(|_| format!("index out of range: {n}")),
        other => Err(format!("a list or text is indexed by integers, found {}", other.type_name())),
    }
}

fn position(at: &Value<'_>, len: usize) -> Result<usize> {
    let n = integer(at)?;
    usize::try_from(n).ok().filter(|n| *n < len).ok_or_else(|| format!("index out of range: {n} of {len}"))
}

/// Go's `slice` of a text or a list: from the first bound to the second, without it.
pub(crate) fn slice<'a>(item: &Value<'a>, bounds: &[Value<'a>]) -> Result<Value<'a>> {
    let item = item.target();
    let len = match item {
        Value::Missing | Value::Nil | Value::NilPointer => return Err("slice of nil".into()),
        Value::Text(_) if bounds.len() > 2 => return Err("cannot 3-index slice a text".into()),
        Value::Text(_) | Value::List(..) | Value::MadeList(_) => item.len().unwrap_or(0),
        other => return Err(format!("can't slice item of type {}", other.type_name())),
    };
    let mut at = [0, len, len];
    for (place, bound) in at.iter_mut().zip(bounds) {
        *place = position(bound, len + 1)?;
    }
    let [from, to, most] = at;
    if from > to || to > most {
        return Err(format!("invalid slice bounds: {from}, {to}, {most}"));
    }
    match item {
        Value::List(ty, list) => Ok(Value::List(ty, list.get(from..to).unwrap_or_default())),
        Value::MadeList(list) => Ok(Value::MadeList(list.get(from..to).unwrap_or_default().into())),
        Value::Text(Text::Borrowed(text)) => part(text, from, to).map(|t| Value::Text(Text::Borrowed(t))),
        Value::Text(Text::Made(text)) => part(text, from, to).map(Value::made),
        _ => Ok(Value::Missing),
    }
}

fn part(text: &str, from: usize, to: usize) -> Result<&str> {
    text.get(from..to).ok_or_else(|| format!("bytes {from} to {to} cut a character of the text in two"))
}

/// Index or key, and value.
pub(crate) type Entry<'a> = Result<(Value<'a>, Value<'a>)>;

/// The entries of a list or map for `range`: index or key, and value. Keys come in order.
pub(crate) fn entries<'a>(value: &Value<'a>) -> Option<Box<dyn Iterator<Item = Entry<'a>> + 'a>> {
    let number = |i: usize| Value::Int(i64::try_from(i).unwrap_or(i64::MAX));
    match value.target() {
        Value::List(ty, list) => {
            let ty = *ty;
            Some(Box::new(list.iter().enumerate().map(move |(i, j)| Ok((number(i), Value::read(ty, Some(j))?)))))
        }
        Value::Map(ty, map) => {
            let (ty, mut pairs) = (*ty, map.map(|m| m.iter().collect::<Vec<_>>()).unwrap_or_default());
            pairs.sort_by_key(|(key, _)| *key);
            Some(Box::new(
                pairs
                    .into_iter()
                    .map(move |(key, json)| Ok((Value::Text(Text::Borrowed(key)), Value::read(ty, Some(json))?))),
            ))
        }
        Value::MadeList(list) => {
            let list = Arc::clone(list);
            Some(Box::new((0..list.len()).map(move |i| Ok((number(i), list.get(i).cloned().unwrap_or(Value::Nil))))))
        }
        Value::MadeMap(map) => {
            let pairs: Vec<_> = map.iter().map(|(k, v)| Ok((Value::made(k.as_str()), v.clone()))).collect();
            Some(Box::new(pairs.into_iter()))
        }
        _ => None,
    }
}
