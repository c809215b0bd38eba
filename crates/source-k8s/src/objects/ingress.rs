//! networking.k8s.io/v1 Ingress.

use serde::Deserialize;

use super::{LoadBalancer, Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// An Ingress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ingress {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: IngressSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: IngressStatus,
}

impl Ingress {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of an Ingress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressSpec {
    /// Name of its class, or empty.
    #[serde(deserialize_with = "nullable")]
    pub ingress_class_name: Box<str>,
    /// Rules.
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<IngressRule>,
    /// TLS blocks.
    #[serde(deserialize_with = "nullable")]
    pub tls: Vec<IngressTls>,
}

/// One rule of an Ingress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IngressRule {
    /// Host, or empty for any.
    #[serde(deserialize_with = "nullable")]
    pub host: Box<str>,
}

/// One TLS block of an Ingress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IngressTls {
    /// Hosts of the certificate.
    #[serde(deserialize_with = "nullable")]
    pub hosts: Vec<Box<str>>,
}

/// `status` of an Ingress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressStatus {
    /// What the load balancer answers at.
    #[serde(deserialize_with = "nullable")]
    pub load_balancer: LoadBalancer,
}
