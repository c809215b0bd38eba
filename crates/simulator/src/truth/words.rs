//! What one entry says of its record: in, its JSON; out, for whom it speaks, of which content, and until when.

use std::collections::BTreeSet;

use serde_json::Value;
use zonewright_core::record::SetId;
use zonewright_core::{DnsName, RecordKey, RecordType};

use super::Right;

/// A record of a zone: the zone as entries name it, and the key.
pub(super) type Place = (String, RecordKey);

/// What one entry says of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) owner: String,
    pub(super) given: bool,
    /// It speaks only for a record with one of these digests.
    pub(super) only: Option<BTreeSet<String>>,
    pub(super) resource: Option<String>,
    pub(super) policy: Option<String>,
    /// What it says instead once the record has this digest.
    pub(super) next: Option<(String, Option<String>, Option<String>)>,
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

fn policy(value: &Value) -> Option<String> {
    value.get("labels").and_then(|labels| text(labels, "zonewright-policy"))
}

pub(super) fn word(value: &Value) -> Option<(Place, Word)> {
    let name = DnsName::parse(&text(value, "dnsname")?).ok()?;
    let rtype: RecordType = text(value, "type")?.parse().ok()?;
    let owner = text(value, "owner").filter(|owner| !owner.is_empty())?;
    let next = value.get("next").and_then(|next| Some((text(next, "intent")?, text(next, "resource"), policy(next))));
    let word = Word {
        owner,
        given: value.get("given").and_then(Value::as_bool).unwrap_or(false),
        only: text(value, "intent").map(|digest| BTreeSet::from([digest])),
        resource: text(value, "resource"),
        policy: policy(value),
        next,
    };
    let set_id = text(value, "setIdentifier").and_then(|id| SetId::new(&id));
    Some(((text(value, "zone")?, RecordKey { name, rtype, set_id }), word))
}

impl Word {
    fn right(&self, resource: Option<&String>, policy: Option<&String>) -> Right {
        Right::One { owner: self.owner.clone(), resource: resource.cloned(), policy: policy.cloned() }
    }

    pub(super) fn is_firm(&self) -> bool {
        !self.given && self.only.is_none()
    }

    /// What it says of a record with this digest.
    pub(super) fn says(&self, standing: Option<&str>) -> Option<Right> {
        if let Some((_, resource, policy)) = self.next.as_ref().filter(|(seal, ..)| Some(&**seal) == standing) {
            return Some(self.right(resource.as_ref(), policy.as_ref()));
        }
        let announced = standing.is_some_and(|digest| self.only.iter().flatten().any(|only| only == digest));
        let counts = if self.only.is_some() { announced } else { !self.given || standing.is_none() };
        counts.then(|| self.right(self.resource.as_ref(), self.policy.as_ref()))
    }

    pub(super) fn show(&self) -> String {
        let Self { owner, resource, policy, only, next, .. } = self;
        let resource = resource.as_deref().map(|resource| format!(" for {resource}")).unwrap_or_default();
        let policy = policy.as_deref().map(|policy| format!(",policy={policy}")).unwrap_or_default();
        let seals: Vec<&str> = only.iter().flatten().map(String::as_str).collect();
        let only = if seals.is_empty() { String::new() } else { format!(" as {}", seals.join(" or ")) };
        let next = next.as_ref().map(|(seal, ..)| format!(", then as {seal}")).unwrap_or_default();
        format!("{owner}'s{resource}{policy}{only}{next}")
    }
}
