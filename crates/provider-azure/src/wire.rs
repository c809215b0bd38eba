//! The service's requests and answers, in JSON.
//!
//! <https://learn.microsoft.com/rest/api/dns/>, <https://learn.microsoft.com/rest/api/dns/privatedns/>

use serde::Deserialize;
use serde_json::{Map, Value};

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct Page<T> {
    pub(crate) value: Vec<T>,
    /// The address of the next page.
    #[serde(default, rename = "nextLink")]
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    /// The address of the next page, if there is one.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.next.take().filter(|next| !next.trim().is_empty())
    }
}

/// A zone.
#[derive(Debug, Deserialize)]
pub(crate) struct Zone {
    pub(crate) id: String,
    /// The apex, without a final dot.
    pub(crate) name: String,
}

/// A record set.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Set {
    /// Relative to the zone; `@` at the apex.
    pub(crate) name: String,
    /// `Microsoft.Network/dnszones/A`.
    #[serde(rename = "type")]
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) etag: Option<String>,
    pub(crate) properties: Map<String, Value>,
}

impl Set {
    /// The record type.
    pub(crate) fn rtype(&self) -> &str {
        self.resource.rsplit('/').next().unwrap_or_default()
    }

    /// A property by its name in any case: public and private zones write them differently.
    pub(crate) fn property(&self, name: &str) -> Option<&Value> {
        let found = self.properties.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value).filter(|value| !value.is_null())
    }
}
