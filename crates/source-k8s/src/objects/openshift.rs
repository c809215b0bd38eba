//! OpenShift's Route.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A Route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftRoute {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: OpenshiftRouteSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: OpenshiftRouteStatus,
}

impl OpenshiftRoute {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a Route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftRouteSpec {
    /// The host that is asked for, or empty.
    #[serde(deserialize_with = "nullable")]
    pub host: Box<str>,
}

/// `status` of a Route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftRouteStatus {
    /// What each router made of it.
    #[serde(deserialize_with = "nullable")]
    pub ingress: Vec<RouterStatus>,
}

/// What one router made of a Route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouterStatus {
    /// The host that it serves.
    #[serde(deserialize_with = "nullable")]
    pub host: Box<str>,
    /// Name of the router.
    #[serde(deserialize_with = "nullable")]
    pub router_name: Box<str>,
    /// Where the router answers, or empty.
    #[serde(deserialize_with = "nullable")]
    pub router_canonical_hostname: Box<str>,
    /// Conditions.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<RouterCondition>,
}

/// One condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouterCondition {
    /// Its type, e.g. `Admitted`.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: Box<str>,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub status: Box<str>,
}

impl RouterStatus {
    /// Whether the router serves the route.
    pub fn is_admitted(&self) -> bool {
        self.conditions.iter().any(|condition| &*condition.kind == "Admitted" && &*condition.status == "True")
    }
}
