//! external-dns' own kind, DNSEndpoint: record sets as they are wanted.

use serde::Deserialize;

use super::{Meta, TextMap, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A DNSEndpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DnsEndpoint {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: DnsEndpointSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: DnsEndpointStatus,
}

impl DnsEndpoint {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a DNSEndpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DnsEndpointSpec {
    /// The record sets; `null` elements stand for nothing.
    #[serde(deserialize_with = "nullable")]
    pub endpoints: Vec<Option<WantedRecord>>,
}

/// One record set of a DNSEndpoint, in the texts of its author.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WantedRecord {
    /// Owner name.
    #[serde(deserialize_with = "nullable")]
    pub dns_name: Box<str>,
    /// Targets; what they look like depends on the type.
    #[serde(deserialize_with = "nullable")]
    pub targets: Vec<Box<str>>,
    /// Record type; the API does not check it.
    #[serde(deserialize_with = "nullable")]
    pub record_type: Box<str>,
    /// Set identifier, or empty.
    #[serde(deserialize_with = "nullable")]
    pub set_identifier: Box<str>,
    /// TTL in seconds; 0 for none.
    #[serde(rename = "recordTTL", deserialize_with = "nullable")]
    pub record_ttl: i64,
    /// Labels for the claim.
    #[serde(deserialize_with = "nullable")]
    pub labels: TextMap,
    /// Provider-specific properties.
    #[serde(deserialize_with = "nullable")]
    pub provider_specific: Vec<NamedValue>,
}

/// One provider-specific property.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NamedValue {
    /// Its name, in the form in which providers know it.
    #[serde(deserialize_with = "nullable")]
    pub name: Box<str>,
    /// Its value.
    #[serde(deserialize_with = "nullable")]
    pub value: Box<str>,
}

/// `status` of a DNSEndpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DnsEndpointStatus {
    /// The `metadata.generation` that a controller saw last; 0 for none.
    #[serde(deserialize_with = "nullable")]
    pub observed_generation: i64,
}
