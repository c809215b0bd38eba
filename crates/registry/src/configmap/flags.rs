//! The catalog entry.

use std::sync::Arc;

use zonewright_core::catalog::{FlagKind, FlagSpec, RegistryConfig, RegistryEntry};
use zonewright_core::{Error, ErrorKind, Result};

use super::{ConfigMapConfig, ConfigMapRegistry};

/// The catalog entry of `--registry=configmap`. The objects come through a client for the cluster, which the program has with
/// its Cargo feature `cluster`.
pub const ENTRY: RegistryEntry = RegistryEntry {
    feature: "cluster",
    page: "docs/registries/configmap.md",
    flags: &[FlagSpec::new(
        "registry-namespace",
        FlagKind::Text,
        "Namespace of the ConfigMaps that list the records; empty: the pod's own",
    )],
    keeps_documents: true,
    ..RegistryEntry::new(
        "configmap",
        "Claims in ConfigMaps beside the daemon; nothing of them is in the zones",
        |config| Box::pin(async move { Ok(Arc::new(build(config)?) as Arc<_>) }),
    )
};

fn build(config: RegistryConfig) -> Result<ConfigMapRegistry> {
    let missing = || Error::new(ErrorKind::Configuration, "read the flags", "--registry=configmap needs a cluster");
    let documents = config.documents.ok_or_else(missing)?;
    Ok(ConfigMapRegistry::new(ConfigMapConfig::new(config.settings.text("txt-owner-id"), documents)?))
}
