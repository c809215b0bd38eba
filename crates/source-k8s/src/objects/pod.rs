//! core/v1 Pod.

use serde::{Deserialize, Deserializer};

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
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
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
    /// Whether `phase` is `Running`.
    #[serde(rename = "phase", deserialize_with = "is_running")]
    pub running: bool,
    /// Address of its node, or empty.
    #[serde(rename = "hostIP", deserialize_with = "nullable")]
    pub host_ip: Box<str>,
    /// Its first address, or empty.
    #[serde(rename = "podIP", deserialize_with = "nullable")]
    pub pod_ip: Box<str>,
    /// All its addresses, as a rule one of each family.
    #[serde(rename = "podIPs", deserialize_with = "nullable")]
    pub pod_ips: Vec<PodIp>,
    /// Whether the condition `Ready` is `True`.
    #[serde(rename = "conditions", deserialize_with = "is_ready")]
    pub ready: bool,
}

fn is_running<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    nullable(deserializer).map(|phase: Box<str>| &*phase == "Running")
}

fn is_ready<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let conditions: Vec<Condition> = nullable(deserializer)?;
    Ok(conditions.iter().any(|condition| &*condition.condition_type == "Ready" && &*condition.status == "True"))
}

/// One address of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodIp {
    /// The address.
    #[serde(deserialize_with = "nullable")]
    pub ip: Box<str>,
}

/// One condition of a Pod: very many are read, and one bit of them is kept.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type", deserialize_with = "nullable")]
    condition_type: Box<str>,
    #[serde(deserialize_with = "nullable")]
    status: Box<str>,
}
