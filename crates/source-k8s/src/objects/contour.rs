//! Contour's HTTPProxy.

use serde::Deserialize;

use super::{LoadBalancer, Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// An HTTPProxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpProxy {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: HttpProxySpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: HttpProxyStatus,
}

impl HttpProxy {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of an HTTPProxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpProxySpec {
    /// The host that it is the root of; empty where another proxy includes it.
    #[serde(rename = "virtualhost", deserialize_with = "nullable")]
    pub virtual_host: VirtualHost,
}

/// The host of an HTTPProxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VirtualHost {
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    pub fqdn: Box<str>,
}

/// `status` of an HTTPProxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpProxyStatus {
    /// What the load balancer answers at.
    #[serde(deserialize_with = "nullable")]
    pub load_balancer: LoadBalancer,
}
