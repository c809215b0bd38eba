//! The provider suite over the embedded server: in memory, and with zone files.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use async_trait::async_trait;
use zonewright_conformance::provider::Harness;
use zonewright_core::provider::Provider;
use zonewright_core::{DnsName, RecordSet, Zone};
use zonewright_provider_local::{Local, LocalConfig};

struct Table {
    local: Arc<Local>,
    zone: Zone,
    _dir: Option<tempfile::TempDir>,
}

async fn start(dir: Option<tempfile::TempDir>) -> Option<Table> {
    let config = LocalConfig::with_zones(["example.test"]).unwrap();
    let config = LocalConfig { dir: dir.as_ref().map(|dir| dir.path().to_owned()), ..config };
    let local = Local::start(config).await.unwrap();
    let zone = local.find_zone(&DnsName::parse("example.test").unwrap()).unwrap();
    Some(Table { local, zone, _dir: dir })
}

#[async_trait]
impl Harness for Table {
    fn provider(&self) -> &dyn Provider {
        &*self.local
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    async fn insert(&self, set: RecordSet) {
        self.local.insert(&self.zone.name, set).unwrap();
    }

    async fn dump(&self) -> Vec<RecordSet> {
        self.local.dump(&self.zone.name).unwrap()
    }
}

mod memory {
    async fn harness() -> Option<super::Table> {
        super::start(None).await
    }
    zonewright_conformance::provider_suite!(harness);
}

mod files {
    async fn harness() -> Option<super::Table> {
        super::start(Some(tempfile::tempdir().unwrap())).await
    }
    zonewright_conformance::provider_suite!(harness);
}
