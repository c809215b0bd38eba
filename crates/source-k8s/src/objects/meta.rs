//! `metadata`: who the object is, how old, and what is written on it.

use std::num::{NonZeroI64, NonZeroU8};
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use zonewright_core::endpoint::{ObjectRef, Uid};

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
    pub uid: Uid,
    /// Creation time in seconds since 1970, the very first of which counts as the second; `None` in a manifest, or where it is no RFC
    /// 3339 time.
    #[serde(rename = "creationTimestamp", deserialize_with = "seconds")]
    pub created: Option<NonZeroI64>,
    /// Labels.
    #[serde(deserialize_with = "nullable")]
    pub labels: TextMap,
    /// Annotations, after pruning only those that are read.
    #[serde(deserialize_with = "nullable")]
    pub annotations: TextMap,
    /// Whether the object is being deleted (it has a `deletionTimestamp`).
    #[serde(rename = "deletionTimestamp", deserialize_with = "present")]
    pub deleting: bool,
    /// Counts the changes of `spec`; 0 where the object has none.
    #[serde(deserialize_with = "nullable")]
    pub generation: i64,
    /// The object as the API server gave it, where templates may read any of it.
    #[serde(skip)]
    pub whole: Option<Arc<Value>>,
}

impl Meta {
    /// Points to this object of `kind`.
    pub fn object_ref(&self, kind: Kind) -> ObjectRef {
        ObjectRef {
            types: kind.type_meta(self.kind_name(kind)),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.clone(),
        }
    }

    /// The name of the object's kind: what the table says, else what the object says.
    pub fn kind_name(&self, kind: Kind) -> &str {
        let stated = || self.whole.as_ref()?.get("kind")?.as_str();
        match kind.spec().name {
            "" => stated().unwrap_or(kind.spec().plural),
            name => name,
        }
    }

    /// The resource label of this object, as external-dns writes it: `service/default/web`, `node/n1`; for a kind that the
    /// user named, the kind's own name stands first, and a namespace always (`clusterthing//n1`).
    pub fn resource(&self, kind: Kind, label: &str) -> Arc<str> {
        let Self { namespace, name, .. } = self;
        match kind {
            Kind::Custom(_) => Arc::from(format!("{}/{namespace}/{name}", self.kind_name(kind).to_lowercase())),
            _ if kind.spec().namespaced => Arc::from(format!("{label}/{namespace}/{name}")),
            _ => Arc::from(format!("{label}/{name}")),
        }
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroI64>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    let seconds = text.and_then(|text| text.parse::<jiff::Timestamp>().ok()).map(jiff::Timestamp::as_second);
    Ok(seconds.map(|seconds| NonZeroI64::new(seconds).unwrap_or(NonZeroI64::from(NonZeroU8::MIN))))
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::<serde::de::IgnoredAny>::deserialize(deserializer).map(|value| value.is_some())
}
