//! Go's `eq`, `lt` and the like. Numbers of different kinds do not compare, but integers with and without sign do.

use std::cmp::Ordering;

use crate::value::Value;

/// Whether two values are equal. What is absent equals nothing but what is absent.
///
/// # Errors
/// Values of different kinds, and those that Go does not compare.
pub(crate) fn equal(a: &Value<'_>, b: &Value<'_>) -> Result<bool, String> {
    let (a, b) = (a.target(), b.target());
    match (basic(a), basic(b)) {
        (Some(a), Some(b)) if a.kind() == b.kind() => Ok(a == b),
        _ if a.is_absent() && b.is_absent() => Ok(true),
        _ if a.is_absent() || b.is_absent() => Ok(is_empty_collection(a) || is_empty_collection(b)),
        (None, None) => Err(format!("values of type {} and {} do not compare", a.type_name(), b.type_name())),
        _ => Err(incompatible(a, b)),
    }
}

/// The order of two values; nothing where one is not a number.
///
/// # Errors
/// Values of different kinds, or without an order.
pub(crate) fn ordering(a: &Value<'_>, b: &Value<'_>) -> Result<Option<Ordering>, String> {
    let (a, b) = (a.target(), b.target());
    match (basic(a), basic(b)) {
        (Some(x), Some(y)) if x.kind() != y.kind() => Err(incompatible(a, b)),
        (Some(Basic::Text(a)), Some(Basic::Text(b))) => Ok(Some(a.cmp(b))),
        (Some(Basic::Float(a)), Some(Basic::Float(b))) => Ok(a.partial_cmp(&b)),
        (Some(Basic::Whole(a)), Some(Basic::Whole(b))) => Ok(Some(a.cmp(&b))),
        _ => Err("invalid type for comparison".to_owned()),
    }
}

#[derive(PartialEq)]
enum Basic<'v> {
    Bool(bool),
    Whole(i128),
    Float(f64),
    Text(&'v str),
}

impl Basic<'_> {
    fn kind(&self) -> std::mem::Discriminant<Self> {
        std::mem::discriminant(self)
    }
}

fn basic<'v>(value: &'v Value<'_>) -> Option<Basic<'v>> {
    match value {
        Value::Bool(b) => Some(Basic::Bool(*b)),
        Value::Int(n) => Some(Basic::Whole(i128::from(*n))),
        Value::Uint(n) => Some(Basic::Whole(i128::from(*n))),
        Value::Float(n) => Some(Basic::Float(*n)),
        Value::Text(text) => Some(Basic::Text(text)),
        _ => None,
    }
}

/// A list or map that the object lacks is nil in Go.
fn is_empty_collection(value: &Value<'_>) -> bool {
    matches!(value, Value::List(..) | Value::Map(..)) && value.len() == Some(0)
}

fn incompatible(a: &Value<'_>, b: &Value<'_>) -> String {
    format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name())
}
