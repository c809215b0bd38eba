//! Gloo's Proxy: listeners, their virtual hosts, and the objects that these were made of.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A Proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooProxy {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: GlooProxySpec,
}

impl GlooProxy {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a Proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooProxySpec {
    /// Listeners.
    #[serde(deserialize_with = "nullable")]
    pub listeners: Vec<GlooListener>,
}

/// One listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooListener {
    /// Virtual hosts of its own.
    #[serde(deserialize_with = "nullable")]
    pub http_listener: GlooHttpListener,
    /// Virtual hosts that its filter chains share.
    #[serde(deserialize_with = "nullable")]
    pub aggregate_listener: GlooAggregateListener,
    /// The objects that it was made of.
    #[serde(deserialize_with = "nullable")]
    pub metadata_static: GlooMetadataStatic,
}

/// A listener with virtual hosts of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooHttpListener {
    /// Virtual hosts.
    #[serde(deserialize_with = "nullable")]
    pub virtual_hosts: Vec<GlooVirtualHost>,
}

/// A listener whose filter chains name their virtual hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooAggregateListener {
    /// Filter chains.
    #[serde(deserialize_with = "nullable")]
    pub http_filter_chains: Vec<GlooFilterChain>,
    /// What they name.
    #[serde(deserialize_with = "nullable")]
    pub http_resources: GlooHttpResources,
}

/// One filter chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooFilterChain {
    /// Keys of virtual hosts.
    #[serde(deserialize_with = "nullable")]
    pub virtual_host_refs: Vec<Box<str>>,
}

/// What filter chains name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooHttpResources {
    /// Virtual hosts by key.
    #[serde(deserialize_with = "nullable")]
    pub virtual_hosts: BTreeMap<Box<str>, GlooVirtualHost>,
}

/// One virtual host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooVirtualHost {
    /// Its names.
    #[serde(deserialize_with = "nullable")]
    pub domains: Vec<Box<str>>,
    /// The objects that it was made of, as older versions write them.
    #[serde(deserialize_with = "nullable")]
    pub metadata: GlooMetadata,
    /// The objects that it was made of.
    #[serde(deserialize_with = "nullable")]
    pub metadata_static: GlooMetadataStatic,
}

/// What something was made of, as older versions write it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooMetadata {
    /// The objects.
    #[serde(deserialize_with = "nullable")]
    pub sources: Vec<GlooSource>,
}

/// Points to an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooSource {
    /// Its Go type, e.g. `*v1.VirtualService`.
    #[serde(deserialize_with = "nullable")]
    pub kind: Box<str>,
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    pub name: Box<str>,
    /// Its namespace.
    #[serde(deserialize_with = "nullable")]
    pub namespace: Box<str>,
}

/// What something was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooMetadataStatic {
    /// The objects.
    #[serde(deserialize_with = "nullable")]
    pub sources: Vec<GlooStaticSource>,
}

/// Points to an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooStaticSource {
    /// Its Go type, e.g. `*v1.VirtualService`.
    #[serde(deserialize_with = "nullable")]
    pub resource_kind: Box<str>,
    /// The object.
    #[serde(deserialize_with = "nullable")]
    pub resource_ref: GlooResourceRef,
}

/// Namespace and name of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GlooResourceRef {
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    pub name: Box<str>,
    /// Its namespace.
    #[serde(deserialize_with = "nullable")]
    pub namespace: Box<str>,
}
