//! What is asked about: a name, or an object.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::endpoint::ObjectRef;
use crate::name::{DnsName, NameError};

/// What is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A DNS name.
    Name(DnsName),
    /// An object of the cluster or of the manifests.
    Object(ObjectName),
}

/// An object as people write it: `KIND/NAMESPACE/NAME`, and `KIND/NAME` where it has no namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectName {
    /// The kind, in any case and in singular or plural: `Service`, `ingresses`.
    pub kind: String,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

/// A text that is neither a name nor an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// It is no DNS name.
    #[error("{0:?} is no DNS name: {1}")]
    Name(String, NameError),
    /// It is no object.
    #[error("{0:?} is no object; expected KIND/NAMESPACE/NAME, or KIND/NAME for objects without a namespace")]
    Object(String),
}

impl Subject {
    /// Reads a text: with a slash it is an object, else a name.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, SubjectError> {
        if !text.contains('/') {
            return DnsName::parse(text).map(Self::Name).map_err(|error| SubjectError::Name(text.to_owned(), error));
        }
        let object = |kind: &str, namespace: &str, name: &str| {
            let (kind, namespace, name) = (kind.to_owned(), namespace.to_owned(), name.to_owned());
            Self::Object(ObjectName { kind, namespace, name })
        };
        match text.split('/').collect::<Vec<_>>().as_slice() {
            [kind, namespace, name] if !kind.is_empty() && !name.is_empty() => Ok(object(kind, namespace, name)),
            [kind, name] if !kind.is_empty() && !name.is_empty() => Ok(object(kind, "", name)),
            _ => Err(SubjectError::Object(text.to_owned())),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name}"),
            Self::Object(ObjectName { kind, namespace, name }) if namespace.is_empty() => write!(f, "{kind}/{name}"),
            Self::Object(ObjectName { kind, namespace, name }) => write!(f, "{kind}/{namespace}/{name}"),
        }
    }
}

impl ObjectName {
    /// Whether this object is meant.
    pub fn means(&self, object: &ObjectRef) -> bool {
        self.is_kind(object.kind()) && *self.namespace == *object.namespace && *self.name == *object.name
    }

    /// Whether objects of this kind are meant, whatever the case, and in the plural too.
    pub fn is_kind(&self, kind: &str) -> bool {
        let (asked, kind) = (self.kind.to_lowercase(), kind.to_lowercase());
        let plural = |ending: &str| asked.strip_suffix(ending).is_some_and(|stem| stem == kind);
        asked == kind || plural("s") || plural("es")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_objects() {
        for (text, expected) in [
            ("Web.example.com.", Some("web.example.com")),
            ("service/shop/web", Some("service/shop/web")),
            ("node/n1", Some("node/n1")),
            ("node//n1", Some("node/n1")),
            ("a/b/c/d", None),
            ("/a/b", None),
            ("a/b/", None),
            ("a..b", None),
        ] {
            assert_eq!(Subject::parse(text).ok().map(|s| s.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn kinds_in_every_case_and_number() {
        let asked = |kind: &str| ObjectName { kind: kind.to_owned(), namespace: String::new(), name: String::new() };
        for (word, kind, expected) in [
            ("service", "Service", true),
            ("Services", "Service", true),
            ("ingresses", "Ingress", true),
            ("ingress", "Ingress", true),
            ("node", "Service", false),
        ] {
            assert_eq!(asked(word).is_kind(kind), expected, "{word}");
        }
    }
}
