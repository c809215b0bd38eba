//! core/v1 Node.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: NodeSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: NodeStatus,
}

impl Node {
    /// The addresses of one type, in order.
    pub fn addresses<'a>(&'a self, address_type: &'a str) -> impl Iterator<Item = &'a str> {
        self.status.addresses.iter().filter(move |a| &*a.address_type == address_type).map(|a| &*a.address)
    }

    /// The internal addresses that are IPv6, in order.
    pub fn internal_ipv6(&self) -> impl Iterator<Item = &str> {
        self.addresses("InternalIP").filter(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
    }

    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a Node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Whether it is cordoned off.
    #[serde(deserialize_with = "nullable")]
    pub unschedulable: bool,
}

/// `status` of a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// Its addresses.
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<NodeAddress>,
}

/// One address of a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeAddress {
    /// `ExternalIP`, `InternalIP`, `Hostname` ...
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub address_type: Box<str>,
    /// The address.
    #[serde(deserialize_with = "nullable")]
    pub address: Box<str>,
}
