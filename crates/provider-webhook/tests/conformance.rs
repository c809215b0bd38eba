//! The suite that every provider passes, against a peer that enforces the protocol.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use async_trait::async_trait;
use common::Peer;
use serde_json::json;
use zonewright_conformance::provider::Harness;
use zonewright_core::provider::Provider;
use zonewright_core::{RecordSet, Ttl, Zone};
use zonewright_provider_webhook::Webhook;

struct Tried {
    peer: Peer,
    provider: Webhook,
    zone: Zone,
}

#[async_trait]
impl Harness for Tried {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    async fn insert(&self, set: RecordSet) {
        let targets: Vec<String> = set.data.as_records().iter().map(ToString::to_string).collect();
        self.peer.holds(json!({
            "dnsName": set.key.name.as_str(), "recordType": set.key.rtype.to_string(),
            "targets": targets, "recordTTL": set.ttl.map_or(0, Ttl::secs),
        }));
    }

    async fn dump(&self) -> Vec<RecordSet> {
        self.peer.script().records.values().map(common::read).collect()
    }
}

async fn harness() -> Option<Tried> {
    let peer = Peer::start().await;
    peer.holds(json!({"dnsName": "existing.example", "recordType": "A", "targets": ["192.0.2.77"], "recordTTL": 300}));
    let provider = peer.provider();
    let zone = common::zone(&provider).await;
    Some(Tried { peer, provider, zone })
}

zonewright_conformance::provider_suite!(harness);
