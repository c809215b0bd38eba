//! Which object something is about.
//!
//! One of these is kept for every name of a zone, so what objects have in common is kept once, and a UID as the number that it
//! nearly always is.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// The API version and kind of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TypeMeta {
    /// Group and version, e.g. `v1` or `networking.k8s.io/v1`.
    pub api_version: Arc<str>,
    /// Kind, e.g. `Service`.
    pub kind: Arc<str>,
}

impl TypeMeta {
    /// A pair of its own; objects of one kind share theirs.
    pub fn new(api_version: impl Into<Arc<str>>, kind: impl Into<Arc<str>>) -> Arc<Self> {
        Arc::new(Self { api_version: api_version.into(), kind: kind.into() })
    }
}

/// Points to one object of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectRef {
    /// API version and kind.
    #[serde(flatten)]
    pub types: Arc<TypeMeta>,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// `metadata.name`.
    pub name: Arc<str>,
    /// UID; empty where the object has none (a manifest that was never stored).
    pub uid: Uid,
}

impl ObjectRef {
    /// Kind, e.g. `Service`.
    pub fn kind(&self) -> &Arc<str> {
        &self.types.kind
    }

    /// Kind, namespace and name: what orders objects when nothing else does.
    pub fn path(&self) -> (&str, &str, &str) {
        (self.kind(), &self.namespace, &self.name)
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        match &*self.namespace {
            "" => write!(f, "{kind} {}", self.name),
            namespace => write!(f, "{kind} {namespace}/{}", self.name),
        }
    }
}

/// The UID of an object: any text, and for an API server's own objects a UUID (RFC 9562).
///
/// ```
/// use zonewright_core::endpoint::Uid;
///
/// for text in ["", "u-1", "b7c1a5c4-0000-4000-8000-000000000001", "B7C1A5C4-0000-4000-8000-000000000001"] {
///     assert_eq!(Uid::from(text).to_string(), text);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(Form);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Form {
    None,
    /// Exactly as it would be written: in lower case, with hyphens.
    Uuid(Uuid),
    Text(Arc<str>),
}

impl Uid {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == Form::None
    }
}

impl Default for Uid {
    /// None.
    fn default() -> Self {
        Self(Form::None)
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        let uuid = Uuid::try_parse(text).ok();
        let is_exact = |uuid: &Uuid| *uuid.hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]) == *text;
        Self(uuid.filter(is_exact).map_or_else(|| Form::Text(text.into()), Form::Uuid))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::None => Ok(()),
            Form::Uuid(uuid) => fmt::LowerHex::fmt(uuid.as_hyphenated(), f),
            Form::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Uid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As with every text of an object, whatever owns it by then.
        String::deserialize(deserializer).map(|text| Self::from(&*text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::endpoint::Origin;

    proptest! {
        #[test]
        fn a_uid_says_what_it_was_given(text in "[0-9a-fA-F]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|.{0,40}") {
            let uid = Uid::from(&*text);
            prop_assert_eq!(uid.to_string(), text.clone());
            prop_assert_eq!(uid.is_empty(), text.is_empty());
            let json = serde_json::to_string(&uid).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&text).unwrap());
            prop_assert_eq!(serde_json::from_str::<Uid>(&json).unwrap(), uid);
        }

        /// The order of the UIDs of an API server is that of their texts.
        #[test]
        fn uuids_are_in_the_order_of_their_texts(one: u128, other: u128) {
            let [one, other] = [one, other].map(|number| Uuid::from_u128(number).to_string());
            prop_assert_eq!(Uid::from(&*one).cmp(&Uid::from(&*other)), one.cmp(&other));
        }
    }

    #[test]
    fn an_object_is_written_as_it_always_was() {
        let json = r#"{"api_version":"v1","kind":"Service","namespace":"shop","name":"web","uid":"u-1"}"#;
        let object: ObjectRef = serde_json::from_str(json).unwrap();
        assert_eq!(object.to_string(), "Service shop/web");
        assert_eq!(serde_json::to_string(&object).unwrap(), json);
    }

    /// One stands behind every name.
    #[test]
    fn where_an_endpoint_comes_from_is_small() {
        assert_eq!((size_of::<Uid>(), size_of::<Origin>()), (24, 112));
    }
}
