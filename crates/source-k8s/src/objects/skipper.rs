//! Skipper's RouteGroup.

use serde::Deserialize;

use super::{LoadBalancerIngress, Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A RouteGroup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteGroup {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: RouteGroupSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: RouteGroupStatus,
}

impl RouteGroup {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a RouteGroup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteGroupSpec {
    /// Hosts.
    #[serde(deserialize_with = "nullable")]
    pub hosts: Vec<Box<str>>,
}

/// `status` of a RouteGroup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteGroupStatus {
    /// What the load balancer answers at.
    #[serde(deserialize_with = "nullable")]
    pub load_balancer: RouteGroupLoadBalancer,
}

/// The entries of the load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteGroupLoadBalancer {
    /// One entry for each address or host name.
    #[serde(deserialize_with = "nullable")]
    pub route_group: Vec<LoadBalancerIngress>,
}
