//! Istio's Gateway and VirtualService.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A Gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IstioGateway {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: IstioGatewaySpec,
}

impl IstioGateway {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IstioGatewaySpec {
    /// Labels that the Services in front of it select by.
    #[serde(deserialize_with = "nullable")]
    pub selector: BTreeMap<String, String>,
    /// Servers.
    #[serde(deserialize_with = "nullable")]
    pub servers: Vec<IstioServer>,
}

/// One server of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IstioServer {
    /// Hosts: `host` or `namespace/host`.
    #[serde(deserialize_with = "nullable")]
    pub hosts: Vec<Box<str>>,
}

/// A VirtualService.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IstioVirtualService {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: IstioVirtualServiceSpec,
}

impl IstioVirtualService {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a VirtualService.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IstioVirtualServiceSpec {
    /// Hosts.
    #[serde(deserialize_with = "nullable")]
    pub hosts: Vec<Box<str>>,
    /// Gateways that it is bound to: `name`, `namespace/name` or `mesh`.
    #[serde(deserialize_with = "nullable")]
    pub gateways: Vec<Box<str>>,
    /// Namespaces that it is visible in: names, `.` or `*`; none for all.
    #[serde(deserialize_with = "nullable")]
    pub export_to: Vec<Box<str>>,
}
