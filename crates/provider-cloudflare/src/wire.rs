//! The service's requests and answers, in JSON.
//!
//! <https://developers.cloudflare.com/api/>

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something with an id of the service.
pub(crate) trait Identified {
    fn id(&self) -> &str;
}

/// What every answer is wrapped in.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope<T> {
    /// Whether the request was carried out.
    pub(crate) success: bool,
    /// What was wrong with it.
    #[serde(default)]
    pub(crate) errors: Vec<Problem>,
    /// What was asked for; absent or null where nothing was.
    pub(crate) result: Option<T>,
    /// Where a page stands in its list.
    #[serde(default)]
    pub(crate) result_info: Option<PageInfo>,
}

/// The answer to a request that takes something away, where the API documents one without an envelope (what is gone, by its id).
/// An envelope in its place is read too.
#[derive(Debug, Deserialize)]
pub(crate) struct Removal {
    /// Absent outside of an envelope.
    #[serde(default)]
    success: Option<bool>,
    /// What was wrong with the request.
    #[serde(default)]
    pub(crate) errors: Vec<Problem>,
}

impl Removal {
    /// Whether the answer says nothing against it that the request was carried out.
    pub(crate) fn is_success(&self) -> bool {
        self.success.unwrap_or(self.errors.is_empty())
    }
}

/// One thing that was wrong with a request.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Problem {
    /// The service's number of it.
    #[serde(default)]
    pub(crate) code: i64,
    /// In words.
    #[serde(default)]
    pub(crate) message: String,
    /// What exactly.
    #[serde(default)]
    pub(crate) error_chain: Vec<Problem>,
}

/// Where a page stands in its list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct PageInfo {
    /// Its number, counted from 1.
    pub(crate) page: Option<u64>,
    /// Items of a full page.
    pub(crate) per_page: Option<u64>,
    /// Items of all pages.
    pub(crate) total_count: Option<u64>,
    /// Pages.
    pub(crate) total_pages: Option<u64>,
}

/// A zone.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Zone {
    /// 32 hexadecimal digits.
    pub(crate) id: String,
    /// The apex, without a final dot.
    pub(crate) name: String,
    /// `initializing`, `pending`, `active` or `moved`.
    #[serde(default)]
    pub(crate) status: Option<String>,
    /// What is paid for.
    #[serde(default)]
    pub(crate) plan: Option<Plan>,
}

impl Zone {
    /// Whether the registrar delegates to it.
    pub(crate) fn is_active(&self) -> bool {
        self.status.as_deref() == Some("active")
    }
}

impl Identified for Zone {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A plan.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Plan {
    /// `free`, `pro`, `business` or `enterprise`.
    #[serde(default)]
    pub(crate) legacy_id: Option<String>,
    /// For people: `Free Website`.
    #[serde(default)]
    pub(crate) name: Option<String>,
}

/// A record as it is listed: one value of a name and type.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct Record {
    /// 32 hexadecimal digits.
    pub(crate) id: String,
    /// Owner name, without a final dot.
    pub(crate) name: String,
    /// Record type.
    #[serde(rename = "type")]
    pub(crate) rtype: String,
    /// The value as text; the form depends on the type.
    #[serde(default)]
    pub(crate) content: Option<String>,
    /// In seconds; 1 leaves it to the service.
    #[serde(default)]
    pub(crate) ttl: Option<u32>,
    /// Whether requests go through the service.
    #[serde(default)]
    pub(crate) proxied: Option<bool>,
    /// The preference of an MX.
    #[serde(default)]
    pub(crate) priority: Option<u16>,
    /// The value in parts, for the types that have some.
    #[serde(default)]
    pub(crate) data: Option<Value>,
    /// For people.
    #[serde(default)]
    pub(crate) comment: Option<String>,
    /// Pairs of `name:value`.
    #[serde(default)]
    pub(crate) tags: Option<Vec<String>>,
}

impl Identified for Record {
    fn id(&self) -> &str {
        &self.id
    }
}

/// The value of a record as it is sent: text, or parts for the types that want them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Content {
    #[serde(rename = "content", skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

/// A record as it is sent. What a patch does not mention stays as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Body {
    /// Of the record that is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) rtype: String,
    #[serde(flatten)]
    pub(crate) value: Content,
    pub(crate) ttl: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxied: Option<bool>,
    /// Empty to take it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
    /// Empty to take them away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tags: Option<Vec<String>>,
}

/// A record that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Id {
    pub(crate) id: String,
}

/// Changes that are made together or not at all, in this order.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Batch {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deletes: Vec<Id>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) patches: Vec<Body>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) posts: Vec<Body>,
}

impl Batch {
    /// Adds the changes of another one.
    pub(crate) fn extend(&mut self, other: Self) {
        self.deletes.extend(other.deletes);
        self.patches.extend(other.patches);
        self.posts.extend(other.posts);
    }

    /// How many changes it has.
    pub(crate) fn len(&self) -> usize {
        self.deletes.len() + self.patches.len() + self.posts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_has_an_envelope_or_none() {
        for (body, success) in [
            (r#"{"id":"0123"}"#, true),
            ("{}", true),
            (r#"{"success":true,"errors":[],"result":null}"#, true),
            (r#"{"success":false,"errors":[]}"#, false),
            (r#"{"success":false,"errors":[{"code":1436,"message":"not found"}]}"#, false),
            (r#"{"errors":[{"code":1436,"message":"not found"}]}"#, false),
        ] {
            let removal: Removal = serde_json::from_str(body).unwrap();
            assert_eq!(removal.is_success(), success, "{body}");
        }
        assert!(serde_json::from_str::<Removal>(r#"{"success":"no"}"#).is_err());
    }
}
