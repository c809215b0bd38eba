//! core/v1 Service.

use std::fmt;

use serde::{Deserialize, Deserializer};

use super::{Meta, TextMap, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Service {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: ServiceSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: ServiceStatus,
}

impl Service {
    /// Drops annotations that are not in `keep`, and the ports where they say nothing of the nodes.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
        if self.spec.service_type != ServiceType::NodePort {
            self.spec.ports = Box::default();
        }
    }
}

/// `spec` of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceSpec {
    /// Type.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub service_type: ServiceType,
    /// First cluster address; empty before it is assigned, `None` for a headless service.
    #[serde(rename = "clusterIP", deserialize_with = "nullable")]
    pub cluster_ip: Box<str>,
    /// Addresses that the cluster does not manage.
    #[serde(rename = "externalIPs", deserialize_with = "nullable")]
    pub external_ips: Box<[Box<str>]>,
    /// Target of a service of type ExternalName.
    #[serde(deserialize_with = "nullable")]
    pub external_name: Box<str>,
    /// `Cluster` or `Local`.
    #[serde(deserialize_with = "nullable")]
    pub external_traffic_policy: Box<str>,
    /// Whether endpoints that are not ready count too.
    #[serde(deserialize_with = "nullable")]
    pub publish_not_ready_addresses: bool,
    /// Labels of the pods behind it.
    #[serde(deserialize_with = "nullable")]
    pub selector: TextMap,
    /// Ports; after pruning only those of type NodePort.
    #[serde(deserialize_with = "nullable")]
    pub ports: Box<[ServicePort]>,
}

/// One port of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServicePort {
    /// `TCP`, `UDP` or `SCTP`; empty means TCP.
    #[serde(deserialize_with = "nullable")]
    pub protocol: Box<str>,
    /// Port on the nodes; 0 where there is none.
    #[serde(deserialize_with = "nullable")]
    pub node_port: i64,
}

/// `status` of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceStatus {
    /// What the load balancer answers at.
    #[serde(deserialize_with = "nullable")]
    pub load_balancer: LoadBalancer,
}

/// The entries of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LoadBalancer {
    /// One entry for each address or host name.
    #[serde(deserialize_with = "nullable")]
    pub ingress: Box<[LoadBalancerIngress]>,
}

/// One entry of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LoadBalancerIngress {
    /// Address, or empty.
    #[serde(deserialize_with = "nullable")]
    pub ip: Box<str>,
    /// Host name, or empty.
    #[serde(deserialize_with = "nullable")]
    pub hostname: Box<str>,
}

impl LoadBalancerIngress {
    /// What the entry states: its address, then its host name.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        [&*self.ip, &*self.hostname].into_iter().filter(|text| !text.is_empty())
    }
}

impl LoadBalancer {
    /// What the entries state, in order: of each its address, then its host name.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.ingress.iter().flat_map(LoadBalancerIngress::targets)
    }

    /// One target of each entry, in order: its address, else its host name.
    pub fn first_targets(&self) -> impl Iterator<Item = &str> {
        self.ingress.iter().filter_map(|entry| entry.targets().next())
    }
}

/// Types of a Service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServiceType {
    /// An address inside the cluster, or none (headless). What the API takes an absent type for.
    #[default]
    ClusterIp,
    /// A port on every node.
    NodePort,
    /// A load balancer outside the cluster.
    LoadBalancer,
    /// An alias of a name elsewhere.
    ExternalName,
    /// A type that this program does not know; it has no targets.
    Unknown,
}

impl ServiceType {
    /// Every known type with its name in the API.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::ClusterIp, "ClusterIP"),
        (Self::NodePort, "NodePort"),
        (Self::LoadBalancer, "LoadBalancer"),
        (Self::ExternalName, "ExternalName"),
    ];

    /// The type of a name, which is case-sensitive; `None` if there is no such type.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, name)| *name == text).map(|(service_type, _)| service_type)
    }
}

impl fmt::Display for ServiceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::ALL.iter().find(|(service_type, _)| service_type == self).map_or("unknown", |(_, name)| name))
    }
}

impl<'de> Deserialize<'de> for ServiceType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<str>::deserialize(deserializer)?;
        Ok(if text.is_empty() { Self::default() } else { Self::parse(&text).unwrap_or(Self::Unknown) })
    }
}
