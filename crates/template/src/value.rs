//! What a template computes with. In come pieces of the object, read by the [table of types](crate::table); out come
//! values that borrow from it. Lists, maps and structures stay JSON until a template looks into them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::table::{self, Struct, Type};

/// A text of the object or the template, or one made by a function. A copy is cheap.
#[derive(Debug, Clone)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Made(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// No value at all: a missing key of a map. It stays missing when a template asks for its fields.
    Missing,
    /// A `null` inside a map or list. Asking for its fields is an error.
    Nil,
    NilPointer,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Text<'a>),
    /// RFC 3339 text; empty for the zero time.
    Time(&'a str),
    Port(Option<&'a Json>),
    List(&'static Type, &'a [Json]),
    Map(&'static Type, Option<&'a Map<String, Json>>),
    Struct(&'static Struct, Option<&'a Json>),
    /// An object whose type is not in the table: a field is a key, or the Go name of one, that is there.
    Open(Option<&'a Map<String, Json>>),
    Pointer(Arc<Value<'a>>),
    MadeList(Arc<[Value<'a>]>),
    MadeMap(Arc<BTreeMap<String, Value<'a>>>),
    /// A structure made here: asking for a field that it lacks is an error.
    Record(Arc<BTreeMap<&'static str, Value<'a>>>),
}

impl<'a> Value<'a> {
    /// A text that a function made.
    pub(crate) fn made(text: impl Into<Arc<str>>) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    /// Reads `json` as `ty`. What is absent or `null` is Go's zero value of the type.
    ///
    /// # Errors
    /// The JSON is of another type.
    pub(crate) fn read(ty: &'static Type, json: Option<&'a Json>) -> Result<Self, String> {
        let json = json.filter(|j| !j.is_null());
        match (ty, json) {
            (Type::Any, _) => Ok(json.map_or(Self::Nil, Self::any)),
            (Type::Pointer(_), None) => Ok(Self::NilPointer),
            (Type::Pointer(inner), Some(_)) => Ok(Self::Pointer(Arc::new(Self::read(inner, json)?))),
            (Type::List(inner), None) => Ok(Self::List(inner, &[])),
            (Type::List(inner), Some(Json::Array(list))) => Ok(Self::List(inner, list)),
            (Type::List(_), Some(other)) => Err(wrong("a list", other)),
            (Type::Map(_) | Type::Open | Type::Struct(_), None) => Self::object(ty, None),
            (Type::Map(_) | Type::Open | Type::Struct(_), Some(Json::Object(map))) => {
                Self::object(ty, Some((map, json)))
            }
            (Type::Map(_) | Type::Open | Type::Struct(_), Some(other)) => Err(wrong("an object", other)),
            (_, None) => Ok(Self::zero(ty)),
            (_, Some(json)) => Self::scalar(ty, json),
        }
    }

    /// The zero value of a scalar type.
    fn zero(ty: &Type) -> Self {
        match ty {
            Type::Time => Self::Time(""),
            Type::Bool => Self::Bool(false),
            Type::Int => Self::Int(0),
            Type::Uint => Self::Uint(0),
            Type::Float => Self::Float(0.0),
            Type::Port => Self::Port(None),
            Type::Quantity => Self::Text(Text::Borrowed("0")),
            _ => Self::Text(Text::Borrowed("")),
        }
    }

    fn scalar(ty: &Type, json: &'a Json) -> Result<Self, String> {
        let or = |value: Option<Self>, expected: &str| value.ok_or_else(|| wrong(expected, json));
        match (ty, json) {
            (Type::Time, _) => or(json.as_str().map(Self::Time), "a time"),
            (Type::Bool, _) => or(json.as_bool().map(Self::Bool), "true or false"),
            (Type::Int, _) => or(json.as_i64().map(Self::Int), "an integer"),
            (Type::Uint, _) => or(json.as_u64().map(Self::Uint), "an integer from 0"),
            (Type::Float, _) => or(json.as_f64().map(Self::Float), "a number"),
            (Type::Quantity, Json::Number(number)) => Ok(Self::made(number.to_string())),
            (Type::Port, Json::String(_) | Json::Number(_)) => Ok(Self::Port(Some(json))),
            (Type::Port, _) => Err(wrong("a number or a text", json)),
            (_, Json::String(text)) => Ok(Self::Text(Text::Borrowed(text))),
            (Type::Quantity, _) => Err(wrong("a text or a number", json)),
            _ => Err(wrong("a text", json)),
        }
    }

    /// A map or structure; the JSON comes as its map and as the whole.
    fn object(ty: &'static Type, json: Option<(&'a Map<String, Json>, Option<&'a Json>)>) -> Result<Self, String> {
        let map = json.map(|(map, _)| map);
        match ty {
            Type::Map(inner) => Ok(Self::Map(inner, map)),
            Type::Struct(name) => {
                let known = table::find(name).ok_or_else(|| format!("the structure {name} is not in the table"))?;
                Ok(Self::Struct(known, json.and_then(|(_, whole)| whole)))
            }
            _ => Ok(Self::Open(map)),
        }
    }

    /// Reads JSON of no known type, numbers as Kubernetes' own decoder does.
    pub(crate) fn any(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(b) => Self::Bool(*b),
            Json::Number(n) => n.as_i64().map_or_else(|| Self::Float(n.as_f64().unwrap_or(0.0)), Self::Int),
            Json::String(text) => Self::Text(Text::Borrowed(text)),
            Json::Array(list) => Self::List(&table::ANY, list),
            Json::Object(map) => Self::Map(&table::ANY, Some(map)),
        }
    }

    /// Takes over JSON that a template decoded, every number as a float, as Go's own decoder does.
    pub(crate) fn decoded(json: Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(b) => Self::Bool(b),
            Json::Number(n) => Self::Float(n.as_f64().unwrap_or(0.0)),
            Json::String(text) => Self::made(text),
            Json::Array(list) => Self::MadeList(list.into_iter().map(Self::decoded).collect()),
            Json::Object(map) => Self::MadeMap(Arc::new(map.into_iter().map(|(k, v)| (k, Self::decoded(v))).collect())),
        }
    }

    /// What a pointer points at; any other value itself.
    pub(crate) fn target(&self) -> &Self {
        match self {
            Self::Pointer(inner) => inner.target(),
            other => other,
        }
    }

    /// Whether there is nothing: no value, `null`, or a pointer to nothing.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Missing | Self::Nil | Self::NilPointer)
    }

    /// Go's truth: not the zero value of its type. Structures and pointers are true.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Missing | Self::Nil | Self::NilPointer => false,
            Self::Bool(b) => *b,
            Self::Int(n) => *n != 0,
            Self::Uint(n) => *n != 0,
            Self::Float(n) => *n != 0.0,
            Self::Time(_) | Self::Port(_) | Self::Struct(..) | Self::Open(_) | Self::Pointer(_) | Self::Record(_) => {
                true
            }
            _ => self.len().is_some_and(|len| len > 0),
        }
    }

    /// Bytes of a text, entries of a list or map.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.len()),
            Self::List(_, list) => Some(list.len()),
            Self::Map(_, map) => Some(map.map_or(0, Map::len)),
            Self::MadeList(list) => Some(list.len()),
            Self::MadeMap(map) => Some(map.len()),
            _ => None,
        }
    }

    /// What to call the type in a message.
    pub(crate) fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Missing | Self::Nil => "nil",
            Self::NilPointer => "nil pointer",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::Time(_) => "Time",
            Self::Port(_) => "IntOrString",
            Self::List(..) | Self::MadeList(_) => "list",
            Self::Map(..) | Self::MadeMap(_) => "map",
            Self::Struct(known, _) => known.name,
            Self::Open(_) | Self::Record(_) => "object",
            Self::Pointer(inner) => return Cow::Owned(format!("pointer to {}", inner.type_name())),
        })
    }
}

fn wrong(expected: &str, found: &Json) -> String {
    format!("expected {expected}, found {}", kind(found))
}

/// What to call a piece of JSON in a message.
pub(crate) fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
