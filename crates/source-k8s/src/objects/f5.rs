//! VirtualServer and TransportServer of F5's Container Ingress Services.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A VirtualServer or TransportServer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct F5Server {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: F5ServerSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: F5ServerStatus,
}

impl F5Server {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct F5ServerSpec {
    /// Host, or empty for any.
    #[serde(deserialize_with = "nullable")]
    pub host: Box<str>,
    /// Further hosts; only a VirtualServer has them.
    #[serde(deserialize_with = "nullable")]
    pub host_aliases: Vec<Box<str>>,
    /// Address that is asked for, or empty.
    #[serde(deserialize_with = "nullable")]
    pub virtual_server_address: Box<str>,
}

/// `status` of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct F5ServerStatus {
    /// Address in use; empty or `none` before there is one.
    #[serde(deserialize_with = "nullable")]
    pub vs_address: Box<str>,
}
