//! The service's requests and answers, in JSON.
//!
//! <https://cloud.google.com/dns/docs/reference/rest/v1>

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The project, as far as it limits changes.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Project {
    #[serde(default)]
    pub(crate) quota: Option<Quota>,
}

/// Limits of a project; the documented ones where the answer leaves them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Quota {
    /// Values of one record set.
    pub(crate) resource_records_per_rrset: usize,
    /// Sets that one change adds.
    pub(crate) rrset_additions_per_change: usize,
    /// Sets that one change takes away.
    pub(crate) rrset_deletions_per_change: usize,
    /// Bytes of all values of one change.
    pub(crate) total_rrdata_size_per_change: usize,
    /// Items of one routing policy.
    pub(crate) items_per_routing_policy: usize,
}

impl Default for Quota {
    /// <https://cloud.google.com/dns/quotas>
    fn default() -> Self {
        Self {
            resource_records_per_rrset: 100,
            rrset_additions_per_change: 1_000,
            rrset_deletions_per_change: 1_000,
            total_rrdata_size_per_change: 100_000,
            items_per_routing_policy: 100,
        }
    }
}

/// A page of zones.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Zones {
    #[serde(default)]
    pub(crate) managed_zones: Vec<Zone>,
    #[serde(default)]
    pub(crate) next_page_token: Option<String>,
}

/// A zone.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Zone {
    /// A number of 64 bits as text.
    #[serde(default)]
    pub(crate) id: String,
    /// The name that its user gave it; unique within the project.
    pub(crate) name: String,
    /// The apex, with a final dot.
    pub(crate) dns_name: String,
    /// `public` or `private`; public where it is left out.
    #[serde(default)]
    pub(crate) visibility: Option<String>,
    /// Questions go to another network.
    #[serde(default)]
    pub(crate) peering_config: Option<Value>,
    /// Questions go to other servers.
    #[serde(default)]
    pub(crate) forwarding_config: Option<Value>,
    /// Answers come from Service Directory.
    #[serde(default)]
    pub(crate) service_directory_config: Option<Value>,
    /// Answers are made from the addresses of machines.
    #[serde(default)]
    pub(crate) reverse_lookup_config: Option<Value>,
}

/// A page of record sets.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rrsets {
    /// What the answer says it is; one that says nothing is no list.
    pub(crate) kind: String,
    #[serde(default, rename = "rrsets")]
    pub(crate) sets: Vec<Rrset>,
    #[serde(default)]
    pub(crate) next_page_token: Option<String>,
}

/// A record set. It is sent back as it was read: what is not modelled stands in `rest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rrset {
    /// Owner name, with a final dot.
    pub(crate) name: String,
    /// Record type.
    #[serde(rename = "type")]
    pub(crate) rtype: String,
    /// In seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<u32>,
    /// The values, as in a master file; empty beside a routing policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) rrdatas: Vec<String>,
    /// The routing policy.
    #[serde(default, rename = "routingPolicy", skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<Map<String, Value>>,
    /// Everything else.
    #[serde(flatten)]
    pub(crate) rest: Map<String, Value>,
}

/// Changes that are made together or not at all.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Changes {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) additions: Vec<Rrset>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deletions: Vec<Rrset>,
}

/// A change that the service took.
#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    /// The number of it within its zone.
    pub(crate) id: String,
    /// `pending` or `done`.
    pub(crate) status: String,
}
