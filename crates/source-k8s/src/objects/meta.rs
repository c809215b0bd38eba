//! `metadata`: who the object is, how old, and what is written on it.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use zonewright_core::endpoint::ObjectRef;

use super::{TextMap, nullable};
use crate::kind::Kind;

/// The metadata of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Meta {
    /// Namespace; empty for cluster-scoped objects.
    #[serde(deserialize_with = "nullable")]
    pub namespace: Arc<str>,
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: Arc<str>,
    /// UID; empty in a manifest that was never stored.
    #[serde(deserialize_with = "nullable")]
    pub uid: Arc<str>,
    /// Creation time in seconds since 1970; `None` in a manifest, or where it is no RFC 3339 time.
    #[serde(rename = "creationTimestamp", deserialize_with = "seconds")]
    pub created: Option<i64>,
    /// Labels.
    #[serde(deserialize_with = "nullable")]
    pub labels: TextMap,
    /// Annotations, after pruning only those that are read.
    #[serde(deserialize_with = "nullable")]
    pub annotations: TextMap,
    /// Whether the object is being deleted (it has a `deletionTimestamp`).
    #[serde(rename = "deletionTimestamp", deserialize_with = "present")]
    pub deleting: bool,
}

impl Meta {
    /// Points to this object.
    pub fn object_ref(&self, kind: Kind) -> ObjectRef {
        ObjectRef {
            api_version: kind.spec().api_version().into(),
            kind: kind.spec().name.into(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.clone(),
        }
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse::<jiff::Timestamp>().ok()).map(jiff::Timestamp::as_second))
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::<serde::de::IgnoredAny>::deserialize(deserializer).map(|value| value.is_some())
}
