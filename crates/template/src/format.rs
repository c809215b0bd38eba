//! Values as text, as Go's `%v` writes them. Only pointers differ: what they point at is written, not its address.

use serde_json::Value as Json;

use crate::limits;
use crate::value::Value;

type Result<T> = std::result::Result<T, String>;

/// Writes `value` to `out`; `<nil>` stands for what is absent.
pub(crate) fn write(out: &mut String, value: &Value<'_>) -> Result<()> {
    plain(out, value, 0)
}

fn plain(out: &mut String, value: &Value<'_>, depth: usize) -> Result<()> {
    if depth > limits::NESTING || out.len() > limits::OUTPUT_BYTES {
        return Err(format!("the value is too large to print: over {} levels or bytes", limits::NESTING));
    }
    match value.target() {
        Value::Missing | Value::Nil | Value::NilPointer => out.push_str("<nil>"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(n) => out.push_str(&n.to_string()),
        Value::Uint(n) => out.push_str(&n.to_string()),
        Value::Float(n) => out.push_str(&float(*n)),
        Value::Text(text) => out.push_str(text),
        Value::Time(text) => out.push_str(&time(text)),
        Value::Port(json) => out.push_str(&port(*json)),
        Value::List(..) | Value::MadeList(_) => {
            out.push('[');
            joined(out, value, false, depth)?;
            out.push(']');
        }
        Value::Map(..) | Value::MadeMap(_) => {
            out.push_str("map[");
            joined(out, value, true, depth)?;
            out.push(']');
        }
        other => return Err(format!("a whole object ({}) cannot be printed: name a field of it", other.type_name())),
    }
    Ok(())
}

fn joined(out: &mut String, value: &Value<'_>, keys: bool, depth: usize) -> Result<()> {
    for (i, entry) in crate::access::entries(value).into_iter().flatten().enumerate() {
        let (key, value) = entry?;
        if i > 0 {
            out.push(' ');
        }
        if keys {
            plain(out, &key, depth + 1)?;
            out.push(':');
        }
        plain(out, &value, depth + 1)?;
    }
    Ok(())
}

/// The shortest form that reads back as the same number; with an exponent below 1e-4 and from 1e6.
pub(crate) fn float(n: f64) -> String {
    if !n.is_finite() {
        return if n.is_nan() { "NaN".into() } else { if n > 0.0 { "+Inf" } else { "-Inf" }.into() };
    }
    if n == 0.0 || (1e-4..1e6).contains(&n.abs()) {
        return n.to_string();
    }
    exponent(&format!("{n:e}"))
}

/// Go's form of an exponent: a sign and at least two digits.
pub(crate) fn exponent(text: &str) -> String {
    let Some((mantissa, power)) = text.split_once('e') else { return text.to_owned() };
    let (sign, digits) = power.strip_prefix('-').map_or(('+', power), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// A time of the API server as Go prints it.
pub(crate) fn time(text: &str) -> String {
    match text.strip_suffix('Z').and_then(|t| t.split_once('T')) {
        _ if text.is_empty() => "0001-01-01 00:00:00 +0000 UTC".to_owned(),
        Some((date, clock)) => format!("{date} {clock} +0000 UTC"),
        None => text.to_owned(),
    }
}

/// A port by number or name.
pub(crate) fn port(json: Option<&Json>) -> String {
    match json {
        None => "0".to_owned(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
