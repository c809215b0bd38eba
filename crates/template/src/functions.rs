//! The functions of a template. In come values; out comes a value, or what was wrong.
//!
//! | function | gives |
//! |---|---|
//! | `contains s part` | whether `part` stands in `s` |
//! | `trimPrefix s prefix`, `trimSuffix s suffix` | `s` without it |
//! | `trim s` | `s` without white space at both ends |
//! | `toLower s` | `s` in lower case |
//! | `replace old new s` | `s` with every `old` replaced |
//! | `isIPv4 s`, `isIPv6 s` | whether `s` is such an address; a v4-mapped address is v6 |
//! | `isSource name` | whether the template runs for that source; an unknown name is an error |
//! | `hasKey map key` | whether the key is there, with a value or an empty one |
//! | `fromJson s` | the decoded JSON, numbers as floats; nothing if it is no JSON |
//! | `eq ne lt le gt ge and or not`, `index slice len`, `print printf println`, `html js urlquery` | as in Go |
//!
//! `call` is known and always fails: no object holds a function.

use std::cmp::Ordering;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::access;
use crate::compare;
use crate::format;
use crate::limits;
use crate::printf;
use crate::value::Value;

type Result<T> = std::result::Result<T, String>;
type Args<'v, 'a> = &'v [Value<'a>];

/// What `isSource` knows: the source a template runs for, and all names of sources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'s> {
    pub(crate) bound: Option<&'s str>,
    pub(crate) known: &'s [&'s str],
}

/// Name, fewest and most arguments.
const FUNCTIONS: &[(&str, usize, usize)] = &[
    ("and", 1, usize::MAX),
    ("call", 1, usize::MAX),
    ("contains", 2, 2),
    ("eq", 2, usize::MAX),
    ("fromJson", 1, 1),
    ("ge", 2, 2),
    ("gt", 2, 2),
    ("hasKey", 2, 2),
    ("html", 0, usize::MAX),
    ("index", 1, usize::MAX),
    ("isIPv4", 1, 1),
    ("isIPv6", 1, 1),
    ("isSource", 1, 1),
    ("js", 0, usize::MAX),
    ("le", 2, 2),
    ("len", 1, 1),
    ("lt", 2, 2),
    ("ne", 2, 2),
    ("not", 1, 1),
    ("or", 1, usize::MAX),
    ("print", 0, usize::MAX),
    ("printf", 1, usize::MAX),
    ("println", 0, usize::MAX),
    ("replace", 3, 3),
    ("slice", 1, 4),
    ("toLower", 1, 1),
    ("trim", 1, 1),
    ("trimPrefix", 2, 2),
    ("trimSuffix", 2, 2),
    ("urlquery", 0, usize::MAX),
];

/// Whether a template may name this function.
pub(crate) fn is_known(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, ..)| *known == name)
}

/// Checks the number of arguments of `name`.
pub(crate) fn check_count(name: &str, count: usize) -> Result<()> {
    let Some((_, least, most)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
        return Err(format!("function {name:?} not defined"));
    };
    if (*least..=*most).contains(&count) {
        return Ok(());
    }
    let wanted = if least == most { least.to_string() } else { format!("at least {least}") };
    Err(format!("wrong number of args for {name}: want {wanted} got {count}"))
}

/// Calls `name`, whose number of arguments has been checked. `and` and `or` are the caller's.
pub(crate) fn call<'a>(name: &str, args: Args<'_, 'a>, sources: Sources<'_>) -> Result<Value<'a>> {
    let text = |i: usize| text(name, args, i);
    let value = |i: usize| args.get(i).unwrap_or(&Value::Missing);
    let made = |text: String| Ok(Value::made(text));
    let rest = args.get(1..).unwrap_or_default();
    match name {
        "contains" => Ok(Value::Bool(text(0)?.contains(text(1)?))),
        "trimPrefix" => made(text(0)?.strip_prefix(text(1)?).unwrap_or(text(0)?).to_owned()),
        "trimSuffix" => made(text(0)?.strip_suffix(text(1)?).unwrap_or(text(0)?).to_owned()),
        "trim" => made(text(0)?.trim().to_owned()),
        "toLower" => made(lower(text(0)?)),
        "replace" => replace(text(0)?, text(1)?, text(2)?),
        "isIPv4" => Ok(Value::Bool(text(0)?.parse::<Ipv4Addr>().is_ok())),
        "isIPv6" => Ok(Value::Bool(is_ipv6(text(0)?))),
        "isSource" => is_source(text(0)?, sources),
        "hasKey" => has_key(value(0), text(1)?),
        "fromJson" => Ok(serde_json::from_str(text(0)?).map_or(Value::Nil, Value::decoded)),
        "eq" => rest.iter().try_fold(false, |hit, arg| Ok(hit || compare::equal(value(0), arg)?)).map(Value::Bool),
        "ne" => Ok(Value::Bool(!compare::equal(value(0), value(1))?)),
        "lt" => ordered(args, &[Ordering::Less]),
        "le" => ordered(args, &[Ordering::Less, Ordering::Equal]),
        "gt" => ordered(args, &[Ordering::Greater]),
        "ge" => ordered(args, &[Ordering::Greater, Ordering::Equal]),
        "not" => Ok(Value::Bool(!value(0).is_true())),
        "index" => rest.iter().try_fold(value(0).clone(), |item, at| access::index(&item, at)),
        "slice" => access::slice(value(0), rest),
        "len" => len(value(0)),
        "print" => made(print(args)?),
        "println" => made(println(args)?),
        "printf" => made(printf::sprintf(text(0)?, rest)?),
        "html" => made(html(&present(name, args)?)),
        "js" => made(js(&present(name, args)?)),
        "urlquery" => made(urlquery(&present(name, args)?)),
        _ => Err(format!("{name}: {} is no function", value(0).type_name())),
    }
}

fn text<'v>(name: &str, args: Args<'v, '_>, i: usize) -> Result<&'v str> {
    match args.get(i).map(Value::target) {
        Some(Value::Text(text)) => Ok(text),
        None | Some(Value::Missing | Value::Nil) => Err(format!("{name}: invalid value; expected string")),
        Some(Value::NilPointer) => Err(format!("{name}: dereference of nil pointer; expected string")),
        Some(other) => Err(format!("{name}: wrong type for value; expected string; got {}", other.type_name())),
    }
}

/// Lower case letter by letter, so that the number of letters stays.
fn lower(text: &str) -> String {
    text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}

fn replace<'a>(old: &str, new: &str, text: &str) -> Result<Value<'a>> {
    let hits = text.matches(old).count();
    if text.len().saturating_add(hits.saturating_mul(new.len())) > limits::OUTPUT_BYTES {
        return Err(format!("replace: the result would be longer than {} bytes", limits::OUTPUT_BYTES));
    }
    Ok(Value::made(text.replace(old, new)))
}

fn is_ipv6(text: &str) -> bool {
    let (address, zone) = text.split_once('%').map_or((text, None), |(a, z)| (a, Some(z)));
    zone != Some("") && address.parse::<Ipv6Addr>().is_ok()
}

fn is_source<'a>(name: &str, sources: Sources<'_>) -> Result<Value<'a>> {
    if !sources.known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Err(format!("isSource: unknown source {name:?}; the sources are {}", sources.known.join(", ")));
    }
    Ok(Value::Bool(sources.bound.is_some_and(|bound| bound.eq_ignore_ascii_case(name))))
}

fn has_key<'a>(map: &Value<'_>, key: &str) -> Result<Value<'a>> {
    let found = match map.target() {
        Value::Missing | Value::Nil => false,
        Value::Map(_, map) => map.is_some_and(|m| m.contains_key(key)),
        Value::MadeMap(map) => map.contains_key(key),
        other => return Err(format!("hasKey: wrong type for value; expected map; got {}", other.type_name())),
    };
    Ok(Value::Bool(found))
}

fn ordered<'a>(args: Args<'_, '_>, wanted: &[Ordering]) -> Result<Value<'a>> {
    let [a, b] = args else { return Err("a comparison takes two values".into()) };
    Ok(Value::Bool(compare::ordering(a, b)?.is_some_and(|order| wanted.contains(&order))))
}

fn len<'a>(value: &Value<'_>) -> Result<Value<'a>> {
    let value = value.target();
    let len = value.len().ok_or_else(|| format!("len of type {}", value.type_name()))?;
    Ok(Value::Int(i64::try_from(len).unwrap_or(i64::MAX)))
}

/// The values after each other, with a space between two that are both no text.
fn print(args: Args<'_, '_>) -> Result<String> {
    let mut out = String::new();
    let mut after_text = true;
    for arg in args {
        let is_text = matches!(arg.target(), Value::Text(_));
        if !after_text && !is_text {
            out.push(' ');
        }
        format::write(&mut out, arg)?;
        after_text = is_text;
    }
    Ok(out)
}

/// As [`print`], but what is absent is an error: escaped, its sign could not be seen in a name.
fn present(name: &str, args: Args<'_, '_>) -> Result<String> {
    if args.iter().any(|arg| arg.target().is_absent()) {
        return Err(format!("{name}: there is no value"));
    }
    print(args)
}

fn println(args: Args<'_, '_>) -> Result<String> {
    let mut out = String::new();
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        format::write(&mut out, arg)?;
    }
    out.push('\n');
    Ok(out)
}

fn html(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '\0' => "\u{fffd}".to_owned(),
        '"' => "&#34;".to_owned(),
        '\'' => "&#39;".to_owned(),
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        c => c.to_string(),
    });
    escaped.collect()
}

fn js(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '\\' | '\'' | '"' => format!("\\{c}"),
        '<' | '>' | '&' | '=' | '\0'..='\u{1f}' => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    escaped.collect()
}

fn urlquery(text: &str) -> String {
    let escaped = text.bytes().map(|b| match b {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(b).to_string(),
        b' ' => "+".to_owned(),
        b => format!("%{b:02X}"),
    });
    escaped.collect()
}
