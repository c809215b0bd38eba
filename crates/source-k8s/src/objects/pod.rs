//! core/v1 Pod.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: PodSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: PodStatus,
}

impl Pod {
    /// Whether its `Ready` condition is true.
    pub fn is_ready(&self) -> bool {
        self.status.conditions.iter().any(|c| &*c.condition_type == "Ready" && &*c.status == "True")
    }

    /// Drops annotations that are not in `keep`, and conditions but `Ready`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
        self.status.conditions.retain(|c| &*c.condition_type == "Ready");
        self.status.conditions.shrink_to_fit();
    }
}

/// `spec` of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// The node that it runs on, or empty.
    #[serde(deserialize_with = "nullable")]
    pub node_name: Box<str>,
    /// Its host name within a headless service, or empty.
    #[serde(deserialize_with = "nullable")]
    pub hostname: Box<str>,
    /// Whether it shares the network of its node.
    #[serde(deserialize_with = "nullable")]
    pub host_network: bool,
}

/// `status` of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// `Running`, `Pending` ...
    #[serde(deserialize_with = "nullable")]
    pub phase: Box<str>,
    /// Address of its node, or empty.
    #[serde(rename = "hostIP", deserialize_with = "nullable")]
    pub host_ip: Box<str>,
    /// Its first address, or empty.
    #[serde(rename = "podIP", deserialize_with = "nullable")]
    pub pod_ip: Box<str>,
    /// All its addresses, as a rule one of each family.
    #[serde(rename = "podIPs", deserialize_with = "nullable")]
    pub pod_ips: Vec<PodIp>,
    /// Conditions, after pruning only `Ready`.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<PodCondition>,
}

/// One address of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodIp {
    /// The address.
    #[serde(deserialize_with = "nullable")]
    pub ip: Box<str>,
}

/// One condition of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodCondition {
    /// `Ready` ...
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub condition_type: Box<str>,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub status: Box<str>,
}
