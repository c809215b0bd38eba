//! What the server end says where not everything was applied, beside the status 500 that the protocol has for it.
//!
//! In: outcomes. Out: a JSON body that names each refused name with the reason; external-dns does not look at it. The
//! client end reads it, so that the others need not be tried one by one, and a conflict is distinguished from a bad record.

use serde::{Deserialize, Serialize};
use zonewright_core::ErrorKind;

/// The body of a 500 that answers POST /records.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusals {
    /// So many names have everything that was asked for.
    pub(crate) applied: usize,
    /// The others.
    pub(crate) refused: Vec<Refusal>,
}

/// What was not applied at one name, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// The name; of the record, where a claim belongs to it.
    #[serde(rename = "dnsName")]
    pub(crate) name: String,
    /// `refused` (nothing of it is in force), `not_sent` or `unknown`.
    pub(crate) outcome: String,
    /// A label of [`ErrorKind`].
    pub(crate) kind: String,
    /// A sentence.
    pub(crate) error: String,
}

/// The kinds that say that a record, and not the service, is to blame.
const KINDS: &[ErrorKind] =
    &[ErrorKind::Conflict, ErrorKind::Invalid, ErrorKind::Unsupported, ErrorKind::NotFound, ErrorKind::Configuration];

impl Refusals {
    /// Reads a body; `None` where it is anything else.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// The refusal of this very name, with its kind.
    pub(crate) fn of(&self, name: &str) -> Option<(ErrorKind, &str)> {
        let said = self.refused.iter().find(|said| said.name == name && said.outcome == "refused")?;
        let kind = KINDS.iter().find(|kind| kind.label() == said.kind)?;
        Some((*kind, &said.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_found_by_its_name_and_only_where_nothing_is_in_force() {
        let refusal = |name: &str, outcome: &str, kind: &str| Refusal {
            name: name.to_owned(),
            outcome: outcome.to_owned(),
            kind: kind.to_owned(),
            error: "why".to_owned(),
        };
        let refused = vec![
            refusal("a", "refused", "conflict"),
            refusal("b", "unknown", "conflict"),
            refusal("c", "refused", "timeout"),
            refusal("d", "refused", "invalid"),
        ];
        let body = serde_json::to_vec(&Refusals { applied: 1, refused }).unwrap();
        let read = Refusals::read(&body).unwrap();
        for (name, expected) in [
            ("a", Some((ErrorKind::Conflict, "why"))),
            ("b", None),
            ("c", None),
            ("d", Some((ErrorKind::Invalid, "why"))),
            ("e", None),
        ] {
            assert_eq!(read.of(name), expected, "{name}");
        }
        for other in ["", "boom", "{}", r#"{"applied":1}"#, "null"] {
            assert_eq!(Refusals::read(other.as_bytes()), None, "{other}");
        }
    }
}
