//! One text to one typed value, by the kind of the flag.
//!
//! The words of the errors are those of external-dns, since people search for them.

use std::collections::BTreeMap;

use secrecy::SecretString;
use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue};
use zonewright_core::duration::{self, Units};

use super::nearest;

/// The value of a flag that was given once, or several times if it repeats.
///
/// # Errors
/// What is wrong with a text, without the flag's name.
pub(super) fn parse(spec: &FlagSpec, texts: Vec<String>) -> Result<FlagValue, String> {
    match spec.kind {
        FlagKind::List => Ok(FlagValue::List(texts)),
        FlagKind::ChoiceList(words) => {
            texts.iter().try_for_each(|text| one_of(words, text))?;
            Ok(FlagValue::List(texts))
        }
        FlagKind::Map => texts.iter().map(|text| pair(text)).collect::<Result<_, _>>().map(FlagValue::Map),
        kind => {
            let text = texts.into_iter().next_back().unwrap_or_default();
            single(kind, text)
        }
    }
}

/// The value that holds where the flag was not given. A repeatable flag's default is split at commas.
///
/// # Errors
/// The table holds a default that its own kind does not take.
pub(super) fn default(spec: &FlagSpec) -> Result<FlagValue, String> {
    match (spec.kind, spec.default) {
        (FlagKind::Map, "") => Ok(FlagValue::Map(BTreeMap::new())),
        (kind, "") if kind.repeats() => Ok(FlagValue::List(Vec::new())),
        (kind, text) if kind.repeats() => parse(spec, text.split(',').map(str::to_owned).collect()),
        (FlagKind::Bool, "") => Ok(FlagValue::Bool(false)),
        (FlagKind::Int | FlagKind::Int64, "") => Ok(FlagValue::Int(0)),
        (FlagKind::Duration, "") => single(FlagKind::Duration, "0".to_owned()),
        (FlagKind::Choice(_), "") => Ok(FlagValue::Text(String::new())),
        (kind, text) => single(kind, text.to_owned()),
    }
}

fn single(kind: FlagKind, text: String) -> Result<FlagValue, String> {
    match kind {
        FlagKind::Bool => go_bool(&text).map(FlagValue::Bool),
        FlagKind::Int => whole(&text).map(FlagValue::Int),
        FlagKind::Int64 => integer(&text).map(FlagValue::Int),
        FlagKind::Duration => {
            let parsed = duration::parse(&text, Units::DaysAndWeeks)?;
            Ok(FlagValue::Duration { length: parsed.length, negative: parsed.negative })
        }
        FlagKind::Regex => regular(text).map(FlagValue::Text),
        FlagKind::Choice(words) => one_of(words, &text).map(|()| FlagValue::Text(text)),
        FlagKind::Secret => Ok(FlagValue::Secret(SecretString::from(text))),
        FlagKind::Text => Ok(FlagValue::Text(text)),
        FlagKind::List | FlagKind::ChoiceList(_) | FlagKind::Map => Ok(FlagValue::List(vec![text])),
    }
}

/// The words that Go's `ParseBool` takes.
fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

/// A number with its fraction cut off: external-dns reads integers as floating point.
fn whole(text: &str) -> Result<i64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let wrong = |what| format!("strconv.ParseFloat: parsing {text:?}: {what}");
    let number: f64 = text.parse().map_err(|_| wrong("invalid syntax"))?;
    // A cut floating-point number is written without exponent, so the text says whether it fits.
    number.trunc().to_string().parse().map_err(|_| wrong("value out of range"))
}

/// An integer as Go's `ParseInt` takes it without a base.
fn integer(text: &str) -> Result<i64, String> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let wrong = |what| format!("strconv.ParseInt: parsing {text:?}: {what}");
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) => ("-", body),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (base, digits) = based(body);
    let whole = |group: &str| !group.is_empty() && group.chars().all(|digit| digit.is_digit(base));
    if !digits.split('_').all(whole) {
        return Err(wrong("invalid syntax"));
    }
    i64::from_str_radix(&format!("{sign}{}", digits.replace('_', "")), base).map_err(|error| match error.kind() {
        PosOverflow | NegOverflow => wrong("value out of range"),
        _ => wrong("invalid syntax"),
    })
}

/// The base that a number's first characters say (a bare 0 before other digits says 8), and its digits, which underscores
/// may part from one another and from the prefix.
fn based(body: &str) -> (u32, &str) {
    const PREFIXES: [(&str, u32); 7] = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2), ("0", 8)];
    let prefixed = PREFIXES.iter().find_map(|(prefix, base)| Some((*base, body.strip_prefix(prefix)?)));
    match prefixed.filter(|(_, digits)| !digits.is_empty()) {
        Some((base, digits)) => (base, digits.strip_prefix('_').unwrap_or(digits)),
        None => (10, body),
    }
}

fn regular(text: String) -> Result<String, String> {
    match regex::Regex::new(&text) {
        Ok(_) => Ok(text),
        Err(error) => {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Err(format!("error parsing regexp: {reason}: `{text}`"))
        }
    }
}

fn one_of(words: &[&str], text: &str) -> Result<(), String> {
    if words.contains(&text) {
        return Ok(());
    }
    let hint = nearest::of(text, words.iter().copied()).map(|near| format!(", did you mean '{near}'?"));
    Err(format!("enum value must be one of {}, got '{text}'{}", words.join(","), hint.unwrap_or_default()))
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once(['=', ':']) {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(format!("expected KEY=VALUE got '{text}'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        for (text, expected) in [
            ("5", Some(5)),
            ("5.9", Some(5)),
            ("-5.9", Some(-5)),
            ("1e3", Some(1000)),
            ("-0.4", Some(0)),
            ("9223372036854775807", Some(i64::MAX)),
            ("0x10", None),
            ("1e30", None),
            ("NaN", None),
            ("inf", None),
            ("", None),
            (" 5", None),
            ("five", None),
        ] {
            assert_eq!(whole(text).ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn integers() {
        for (text, expected) in [
            ("5", Some(5)),
            ("-5", Some(-5)),
            ("+5", Some(5)),
            ("0", Some(0)),
            ("5.9", None),
            ("5.0", None),
            ("1e3", None),
            ("0x10", Some(16)),
            ("-0X1F", Some(-31)),
            ("0b101", Some(5)),
            ("0o17", Some(15)),
            ("010", Some(8)),
            ("08", None),
            ("1_000", Some(1000)),
            ("0x_ff", Some(255)),
            ("0_7", Some(7)),
            ("_1", None),
            ("1_", None),
            ("1__0", None),
            ("0x", None),
            ("0_", None),
            ("--5", None),
            ("+-5", None),
            ("", None),
            (" 5", None),
            ("five", None),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
        ] {
            assert_eq!(integer(text).ok(), expected, "{text:?}");
        }
        let problem = |text| integer(text).unwrap_err();
        assert_eq!(problem("5.9"), "strconv.ParseInt: parsing \"5.9\": invalid syntax");
        assert_eq!(
            problem("-9223372036854775809"),
            "strconv.ParseInt: parsing \"-9223372036854775809\": value out of range"
        );
    }

    #[test]
    fn fractions_by_kind() {
        for (kind, takes) in [(FlagKind::Int64, false), (FlagKind::Int, true)] {
            let spec = FlagSpec::new("size", kind, "");
            assert_eq!(parse(&spec, vec!["5.9".to_owned()]).is_ok(), takes, "{kind:?}");
            assert!(matches!(parse(&spec, vec!["5".to_owned()]), Ok(FlagValue::Int(5))), "{kind:?}");
        }
    }

    #[test]
    fn switches_of_the_environment() {
        for text in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(go_bool(text), Ok(true));
        }
        for text in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(go_bool(text), Ok(false));
        }
        assert_eq!(go_bool("yes"), Err("strconv.ParseBool: parsing \"yes\": invalid syntax".to_owned()));
    }

    #[test]
    fn pairs_split_at_the_first_separator() {
        let pair = |text| pair(text).map(|(k, v)| format!("{k}|{v}"));
        assert_eq!(pair("a=b:c"), Ok("a|b:c".to_owned()));
        assert_eq!(pair("a:b=c"), Ok("a|b=c".to_owned()));
        assert_eq!(pair("a="), Ok("a|".to_owned()));
        assert_eq!(pair("a"), Err("expected KEY=VALUE got 'a'".to_owned()));
    }

    #[test]
    fn regular_expressions() {
        assert!(regular(r"(?:😍|🤩)\.org$".to_owned()).is_ok());
        assert!(regular(r"(?P<n>a)\pN\z".to_owned()).is_ok());
        for wrong in ["(", "(?=a)", r"(a)\1", "[b-a]"] {
            let error = regular(wrong.to_owned()).unwrap_err();
            assert!(error.starts_with("error parsing regexp: ") && error.ends_with(&format!("`{wrong}`")), "{error}");
            assert!(!error.contains('\n'));
        }
    }
}
