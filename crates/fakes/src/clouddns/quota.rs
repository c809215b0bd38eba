//! The quotas of a project: <https://cloud.google.com/dns/quotas>.

use serde_json::{Value, json};

/// What one change, and one record set, may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quota {
    /// Sets that a change adds.
    pub(super) additions: usize,
    /// Sets that a change takes away.
    pub(super) deletions: usize,
    /// Bytes of the values of a change.
    pub(super) bytes: usize,
    /// Values of a set.
    pub(super) values: usize,
    /// Items of a routing policy.
    pub(super) items: usize,
}

impl Default for Quota {
    fn default() -> Self {
        Self { additions: 1_000, deletions: 1_000, bytes: 100_000, values: 100, items: 100 }
    }
}

impl Quota {
    /// Sets one by the name that the API has for it. Whether there is one.
    pub(super) fn set(&mut self, name: &str, limit: usize) -> bool {
        let quota = match name {
            "rrsetAdditionsPerChange" => &mut self.additions,
            "rrsetDeletionsPerChange" => &mut self.deletions,
            "totalRrdataSizePerChange" => &mut self.bytes,
            "resourceRecordsPerRrset" => &mut self.values,
            "itemsPerRoutingPolicy" => &mut self.items,
            _ => return false,
        };
        *quota = limit;
        true
    }

    /// As the API writes them.
    pub(super) fn json(self) -> Value {
        json!({
            "kind": "dns#quota", "managedZones": 10_000, "rrsetsPerManagedZone": 10_000,
            "rrsetAdditionsPerChange": self.additions, "rrsetDeletionsPerChange": self.deletions,
            "totalRrdataSizePerChange": self.bytes, "resourceRecordsPerRrset": self.values,
            "itemsPerRoutingPolicy": self.items,
        })
    }
}
