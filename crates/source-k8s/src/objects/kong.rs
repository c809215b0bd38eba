//! Kong's TCPIngress.

use serde::Deserialize;

use super::{LoadBalancer, Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A TCPIngress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TcpIngress {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: TcpIngressSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: TcpIngressStatus,
}

impl TcpIngress {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a TCPIngress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TcpIngressSpec {
    /// Rules.
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<TcpIngressRule>,
}

/// One rule of a TCPIngress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TcpIngressRule {
    /// Server name of the TLS connection, or empty for any.
    #[serde(deserialize_with = "nullable")]
    pub host: Box<str>,
}

/// `status` of a TCPIngress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TcpIngressStatus {
    /// What the load balancer answers at.
    #[serde(deserialize_with = "nullable")]
    pub load_balancer: LoadBalancer,
}
