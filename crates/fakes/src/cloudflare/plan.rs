//! The plans of zones, and what each allows: *Limits*, *Batch record changes* and *Record attributes* in the documentation of
//! Cloudflare DNS.

use serde_json::{Value, json};

/// The plan of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Without a price.
    Free,
    /// The smallest paid one.
    Pro,
    /// Above Pro.
    Business,
    /// By contract.
    Enterprise,
}

impl Plan {
    pub(super) fn is_paid(self) -> bool {
        self != Self::Free
    }

    /// Most records of a zone; a free zone that is made since September 2024.
    pub(super) fn records(self) -> usize {
        if self.is_paid() { 3_500 } else { 200 }
    }

    /// Most operations of a batch.
    pub(super) fn batch(self) -> usize {
        if self.is_paid() { 3_500 } else { 200 }
    }

    /// Most characters of a comment.
    pub(super) fn comment(self) -> usize {
        if self.is_paid() { 500 } else { 100 }
    }

    /// Most tags of a record.
    pub(super) fn tags(self) -> usize {
        if self.is_paid() { 20 } else { 0 }
    }

    /// The smallest TTL in seconds, beside 1 for an automatic one.
    pub(super) fn ttl(self) -> u32 {
        if self == Self::Enterprise { 30 } else { 60 }
    }

    /// As zones show it.
    pub(super) fn element(self) -> Value {
        let (id, legacy, name, price) = match self {
            Self::Free => ("0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "free", "Free Website", 0),
            Self::Pro => ("1feeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "pro", "Pro Website", 25),
            Self::Business => ("2feeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "business", "Business Website", 250),
            Self::Enterprise => ("94f3b7b768b0458b56d2cac4fe5ec0f9", "enterprise", "Enterprise Website", 0),
        };
        json!({
            "id": id, "name": name, "legacy_id": legacy, "price": price, "currency": "USD",
            "frequency": if price > 0 { "monthly" } else { "" }, "is_subscribed": self.is_paid(),
            "can_subscribe": false, "legacy_discount": false, "externally_managed": self == Self::Enterprise,
        })
    }
}
