//! The fields that the rules look at, read from JSON.
//!
//! A field that is not there is empty here: what has to be there is a rule, and reported as one.

use serde::Deserialize;
use serde_json::Value;

use crate::types::DnsRecordSpec;

/// `spec` of a DNSRecord.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UncheckedSpec {
    /// The provider's type.
    #[serde(rename = "type")]
    pub provider: String,
    /// Which controllers serve it.
    pub class: Option<String>,
    /// What only the provider understands.
    pub provider_config: Option<Value>,
    /// Where the credentials are.
    pub secret_ref: SecretReference,
    /// The region of the provider's API.
    pub region: Option<String>,
    /// The provider's identifier of the zone.
    pub zone: Option<String>,
    /// The name of the record.
    pub name: String,
    /// A, AAAA, CNAME or TXT.
    pub record_type: String,
    /// Addresses, one host name, or texts.
    pub values: Vec<String>,
    /// In seconds.
    pub ttl: Option<i64>,
}

impl UncheckedSpec {
    /// What the controller has read of an object.
    pub fn of(spec: &DnsRecordSpec) -> Self {
        let (name, namespace) = (spec.secret_ref.name.clone(), spec.secret_ref.namespace.clone());
        Self {
            provider: spec.provider.clone(),
            class: spec.class.clone(),
            provider_config: None,
            secret_ref: SecretReference { name, namespace },
            region: spec.region.clone(),
            zone: spec.zone.clone(),
            name: spec.name.clone(),
            record_type: spec.record_type.clone(),
            values: spec.values.clone(),
            ttl: spec.ttl,
        }
    }
}

/// Where a Secret is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SecretReference {
    /// The name of the Secret.
    pub name: String,
    /// Its namespace; that of the object if empty.
    pub namespace: String,
}
