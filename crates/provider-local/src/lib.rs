//! An embedded authoritative DNS server: the default for trying out, for tests, for labs.
//!
//! It answers over UDP and TCP from a table of zones, and is a full provider over the same table: true record sets, all
//! writable types, wildcards, any precondition, atomic calls, a history for cheap audits. Optionally it keeps the zones as
//! zone files in a folder, which people may edit.
//!
//! ```
//! # async fn start() -> zonewright_core::Result<()> {
//! use zonewright_provider_local::{Local, LocalConfig};
//!
//! let local = Local::start(LocalConfig::with_zones(["example.test"])?).await?;
//! println!("dig @{} -p {} example.test NS", local.addr().ip(), local.addr().port());
//! # Ok(()) }
//! # tokio::runtime::Runtime::new().unwrap().block_on(start()).unwrap();
//! ```

mod answer;
mod calls;
mod config;
mod folder;
mod journal;
mod local;
mod message;
mod provider;
mod rules;
mod server;
mod soa;
mod state;
mod table;
#[cfg(test)]
mod testing;
mod zonefile;

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use zonewright_core::catalog::{ProviderConfig, ProviderEntry};
use zonewright_core::error::Result;
use zonewright_core::provider::Provider;

pub use calls::Calls;
pub use config::{DEFAULT_LISTEN, FLAGS, LocalConfig};
pub use local::Local;

/// What the catalog says about this provider.
pub const ENTRY: ProviderEntry = ProviderEntry {
    aliases: &["inmemory"],
    feature: "provider-local",
    page: "docs/providers/local.md",
    flags: FLAGS,
    capability: || Some(provider::capability()),
    ..ProviderEntry::new("local", "An embedded authoritative DNS server, for trying out, tests and labs", build)
};

fn build(config: ProviderConfig) -> BoxFuture<'static, Result<Arc<dyn Provider>>> {
    async move {
        let config = LocalConfig::from_settings(config.instance, &config.settings)?;
        Ok(Local::start(config).await? as Arc<dyn Provider>)
    }
    .boxed()
}
