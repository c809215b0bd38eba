//! discovery.k8s.io/v1 EndpointSlice.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// An EndpointSlice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EndpointSlice {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// `IPv4`, `IPv6` or `FQDN`.
    #[serde(deserialize_with = "nullable")]
    pub address_type: Box<str>,
    /// Endpoints.
    #[serde(deserialize_with = "nullable")]
    pub endpoints: Vec<SliceEndpoint>,
}

impl EndpointSlice {
    /// The service that it belongs to.
    pub fn service(&self) -> Option<&str> {
        self.metadata.labels.get(SERVICE_NAME)
    }

    /// Whether its addresses are IP addresses.
    pub fn has_addresses(&self) -> bool {
        matches!(&*self.address_type, "IPv4" | "IPv6")
    }

    /// Drops what no mapper reads: annotations, and labels but the service's name.
    pub fn prune(&mut self, _: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|_| false);
        self.metadata.labels.retain(|key| key == SERVICE_NAME);
    }
}

/// One endpoint of a slice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SliceEndpoint {
    /// Addresses; consumers use the first.
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<Box<str>>,
    /// Conditions.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Conditions,
    /// The pod behind it.
    #[serde(deserialize_with = "nullable")]
    pub target_ref: Option<TargetRef>,
}

/// Conditions of an endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// Whether it is ready; absent counts as ready.
    pub ready: Option<bool>,
}

/// What an endpoint stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TargetRef {
    /// `Pod`, as a rule.
    #[serde(deserialize_with = "nullable")]
    pub kind: Box<str>,
    /// Empty for a pod of the core group.
    #[serde(deserialize_with = "nullable")]
    pub api_version: Box<str>,
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: Box<str>,
}
