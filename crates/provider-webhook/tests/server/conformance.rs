//! The suite that every provider passes, over both ends: our client, our server, the embedded DNS server.

use async_trait::async_trait;
use zonewright_conformance::provider::Harness;
use zonewright_core::provider::Provider;
use zonewright_core::{DnsName, RecordSet, Zone};
use zonewright_provider_webhook::Webhook;

use crate::common;
use crate::site::{Setting, Site};

struct Served {
    site: Site,
    provider: Webhook,
    zone: Zone,
}

#[async_trait]
impl Harness for Served {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    async fn insert(&self, set: RecordSet) {
        self.site.local.insert(&DnsName::root(), set).unwrap();
    }

    async fn dump(&self) -> Vec<RecordSet> {
        self.site.local.dump(&DnsName::root()).unwrap()
    }
}

async fn start(naive: bool) -> Option<Served> {
    // The zone of a webhook is the root, and the suite writes at its apex.
    let site = Site::start(Setting { zones: vec!["."], naive, ..Setting::default() }).await;
    let provider = Webhook::new(&common::config(&format!("http://{}", site.address), &[])).unwrap();
    let zone = common::zone(&provider).await;
    Some(Served { site, provider, zone })
}

mod guarded {
    async fn harness() -> Option<super::Served> {
        super::start(false).await
    }
    zonewright_conformance::provider_suite!(harness);
}

/// A provider that takes no preconditions: the server reads before it writes.
mod naive {
    async fn harness() -> Option<super::Served> {
        super::start(true).await
    }
    zonewright_conformance::provider_suite!(harness);
}
