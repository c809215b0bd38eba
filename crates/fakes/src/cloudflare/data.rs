//! Record types whose content the client gives in parts, as `data`: the models of records in the API reference. Their content is
//! what the service makes of the parts, whatever the client sends.

use serde_json::{Map, Value};

use super::name;
use super::refusal::Refusal;

/// What a part of the data is.
#[derive(Debug, Clone, Copy)]
enum Form {
    U8,
    U16,
    /// A decimal number.
    Number,
    Text,
    /// A text that the content has in quotation marks.
    Quoted,
    /// A host name, or a dot.
    Host,
    Hexadecimal,
    Base64,
    /// A letter, one of these.
    Letter(&'static str),
}

type Parts = &'static [(&'static str, Form)];

/// The parts of a record type in the order of its content. None for a type whose content is a text.
fn parts(kind: &str) -> Option<Parts> {
    use Form::{Base64, Hexadecimal, Host, Letter, Number, Quoted, Text, U8, U16};
    Some(match kind {
        "CAA" => &[("flags", U8), ("tag", Text), ("value", Quoted)],
        "CERT" => &[("type", U16), ("key_tag", U16), ("algorithm", U8), ("certificate", Base64)],
        "DNSKEY" => &[("flags", U16), ("protocol", U8), ("algorithm", U8), ("public_key", Base64)],
        "DS" => &[("key_tag", U16), ("algorithm", U8), ("digest_type", U8), ("digest", Hexadecimal)],
        "HTTPS" | "SVCB" => &[("priority", U16), ("target", Host), ("value", Text)],
        #[rustfmt::skip]
        "LOC" => &[
            ("lat_degrees", Number), ("lat_minutes", Number), ("lat_seconds", Number), ("lat_direction", Letter("NS")),
            ("long_degrees", Number), ("long_minutes", Number), ("long_seconds", Number), ("long_direction", Letter("EW")),
            ("altitude", Number), ("size", Number), ("precision_horz", Number), ("precision_vert", Number),
        ],
        #[rustfmt::skip]
        "NAPTR" => &[
            ("order", U16), ("preference", U16), ("flags", Quoted), ("service", Quoted), ("regex", Quoted), ("replacement", Host),
        ],
        "SMIMEA" | "TLSA" => &[("usage", U8), ("selector", U8), ("matching_type", U8), ("certificate", Hexadecimal)],
        "SRV" => &[("priority", U16), ("weight", U16), ("port", U16), ("target", Host)],
        "SSHFP" => &[("algorithm", U8), ("type", U8), ("fingerprint", Hexadecimal)],
        "URI" => &[("weight", U16), ("target", Quoted)],
        _ => return None,
    })
}

/// Whether records of this type are given in parts.
pub(super) fn is_structured(kind: &str) -> bool {
    parts(kind).is_some()
}

/// Data as it is kept, the content that it makes, and the priority if that stands beside the content.
#[derive(Debug, PartialEq)]
pub(super) struct Settled {
    pub(super) data: Value,
    pub(super) content: String,
    pub(super) priority: Option<u16>,
}

/// Checks the data of a structured type; the priority of SRV may also stand beside the data.
///
/// # Errors
/// Parts are missing, or one is not what it should be.
pub(super) fn settle(kind: &str, data: Option<&Value>, priority: Option<u16>) -> Result<Settled, Refusal> {
    let mut given = data.and_then(Value::as_object).cloned().unwrap_or_default();
    given.retain(|_, value| !value.is_null());
    if let ("SRV", Some(priority)) = (kind, priority) {
        given.entry("priority").or_insert(priority.into());
    }
    let parts = parts(kind).unwrap_or_default();
    let missing = parts.iter().map(|(field, _)| *field).filter(|field| !given.contains_key(*field));
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        return Err(Refusal::missing_data(&missing));
    }
    let mut settled = Settled { data: Value::Null, content: String::new(), priority: None };
    let (mut kept, mut content) = (Map::new(), Vec::new());
    for (field, form) in parts {
        let invalid = || Refusal::field(format!("{field} is not a valid data field of {kind} records."));
        let (value, text) = given.get(*field).and_then(|value| form.read(value)).ok_or_else(invalid)?;
        if kind == "SRV" && *field == "priority" {
            settled.priority = value.as_u64().and_then(|value| u16::try_from(value).ok());
        } else {
            content.push(text);
        }
        kept.insert((*field).to_owned(), value);
    }
    content.join(" ").trim_end().clone_into(&mut settled.content);
    settled.data = Value::Object(kept);
    Ok(settled)
}

impl Form {
    /// The value as it is kept, and as it stands in the content.
    fn read(self, value: &Value) -> Option<(Value, String)> {
        match self {
            Self::U8 => whole(value, u64::from(u8::MAX)),
            Self::U16 => whole(value, u64::from(u16::MAX)),
            Self::Number => value.as_f64().map(|number| (value.clone(), number.to_string())),
            _ => self.text(value.as_str()?),
        }
    }

    fn text(self, given: &str) -> Option<(Value, String)> {
        let sound = match self {
            Self::Text => !given.contains(char::is_control),
            Self::Quoted => !given.contains(|c: char| c == '"' || c.is_control()),
            Self::Hexadecimal => !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_hexdigit()),
            Self::Base64 => is_base64(given),
            Self::Letter(choices) => given.len() == 1 && choices.contains(given),
            Self::Host => return name::host_or_root(given).map(|host| (Value::from(host.clone()), host)),
            Self::U8 | Self::U16 | Self::Number => false,
        };
        let text = if matches!(self, Self::Quoted) { format!("\"{given}\"") } else { given.to_owned() };
        sound.then(|| (Value::from(given), text))
    }
}

/// A whole number that may also be given as text.
fn whole(value: &Value, most: u64) -> Option<(Value, String)> {
    let number = match value {
        Value::String(text) => text.parse().ok()?,
        value => value.as_u64()?,
    };
    (number <= most).then(|| (Value::from(number), number.to_string()))
}

pub(super) fn is_base64(text: &str) -> bool {
    let padding = text.len() - text.trim_end_matches('=').len();
    let letters = text.bytes().take(text.len() - padding);
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && letters.into_iter().all(letter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_is_made_of_the_parts() {
        let digest = "00ff";
        for (kind, data, expected) in [
            ("SRV", json!({ "priority": 10, "weight": "5", "port": 5223, "target": "S.b.org." }), "5 5223 s.b.org"),
            ("SRV", json!({ "priority": 0, "weight": 0, "port": 0, "target": "." }), "0 0 ."),
            ("CAA", json!({ "flags": 0, "tag": "issue", "value": "ca.org" }), "0 issue \"ca.org\""),
            ("DS", json!({ "key_tag": 1, "algorithm": 13, "digest_type": 2, "digest": digest }), "1 13 2 00ff"),
            ("HTTPS", json!({ "priority": 1, "target": ".", "value": "alpn=\"h2\"" }), "1 . alpn=\"h2\""),
            ("SVCB", json!({ "priority": 0, "target": "b.org", "value": "" }), "0 b.org"),
            ("SSHFP", json!({ "algorithm": 4, "type": 2, "fingerprint": digest }), "4 2 00ff"),
            ("TLSA", json!({ "usage": 3, "selector": 1, "matching_type": 1, "certificate": digest }), "3 1 1 00ff"),
            ("URI", json!({ "weight": 1, "target": "https://b.org" }), "1 \"https://b.org\""),
            ("CERT", json!({ "type": 1, "key_tag": 2, "algorithm": 8, "certificate": "AAAA" }), "1 2 8 AAAA"),
            ("DNSKEY", json!({ "flags": 257, "protocol": 3, "algorithm": 13, "public_key": "AA==" }), "257 3 13 AA=="),
            (
                "NAPTR",
                json!({ "order": 1, "preference": 2, "flags": "S", "service": "SIP+D2U", "regex": "", "replacement": "b.org" }),
                "1 2 \"S\" \"SIP+D2U\" \"\" b.org",
            ),
        ] {
            assert_eq!(
                settle(kind, Some(&data), None).map(|settled| settled.content).as_deref(),
                Ok(expected),
                "{kind}"
            );
        }
    }

    #[test]
    fn parts_have_their_forms() {
        let full = json!({ "priority": 10, "weight": 5, "port": 5223, "target": "s.b.org" });
        let settled = settle("SRV", Some(&full), None).unwrap();
        assert_eq!((settled.priority, settled.data), (Some(10), full.clone()));
        for (field, value) in [
            ("weight", json!(null)),
            ("weight", json!(65_536)),
            ("weight", json!(-1)),
            ("weight", json!("heavy")),
            ("target", json!("192.0.2.1")),
            ("target", json!(7)),
        ] {
            let mut data = full.clone();
            data[field] = value;
            assert!(settle("SRV", Some(&data), None).is_err(), "{data}");
        }
        assert_eq!(settle("SRV", None, None), Err(Refusal::missing_data(&["priority", "weight", "port", "target"])));
        let short = json!({ "weight": 5, "port": 5223, "target": "s.b.org" });
        assert_eq!(settle("SRV", Some(&short), Some(10)), settle("SRV", Some(&full), None));
        assert_eq!(settle("SRV", Some(&short), None), Err(Refusal::missing_data(&["priority"])));
        let caa = |value: &str| json!({ "flags": 0, "tag": "issue", "value": value });
        assert!(settle("CAA", Some(&caa("a\"b")), None).is_err());
        assert!(settle("SSHFP", Some(&json!({ "algorithm": 1, "type": 1, "fingerprint": "xyz" })), None).is_err());
        assert!(!is_base64("AAA") && !is_base64("A===") && !is_base64("A=AA") && !is_base64(""));
    }
}
