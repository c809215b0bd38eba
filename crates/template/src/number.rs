//! Number and character constants. In comes the text of one token; out comes its value by Go's rules.

use crate::ast::Term;

/// The value of a number token such as `12`, `-0x1f`, `1_000`, `1.5e3`, or nothing if it is none.
pub(crate) fn parse(text: &str) -> Option<Term> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, body) = radix(digits);
    if radix == 10 && digits.contains(['.', 'e', 'E']) {
        return float(text);
    }
    let plain = without_separators(body, radix != 10)?;
    if plain.is_empty() || !plain.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let Ok(size) = i128::from_str_radix(&plain, radix) else { return Some(Term::TooLarge(text.into())) };
    let value = if negative { -size } else { size };
    Some(i64::try_from(value).map_or_else(|_| Term::TooLarge(text.into()), Term::Int))
}

fn radix(digits: &str) -> (u32, &str) {
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ if digits.len() > 1 && digits.starts_with('0') && !digits.contains(['.', 'e', 'E']) => (8, &digits[1..]),
        _ => (10, digits),
    }
}

/// Removes `_`, which may stand only between digits (or after a prefix).
fn without_separators(body: &str, prefixed: bool) -> Option<String> {
    let lone = body.ends_with('_') || body.contains("__") || (!prefixed && body.starts_with('_'));
    (!lone).then(|| body.replace('_', ""))
}

fn float(text: &str) -> Option<Term> {
    let known = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    let value: f64 = known.then(|| text.parse().ok())??;
    value.is_finite().then_some(Term::Float(value))
}
