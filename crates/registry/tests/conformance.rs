//! The registry suite over each registry, and over the txt registry with each kind of affix.

use std::sync::Arc;

use zonewright_conformance::registry::{Harness, LostUpdate};
use zonewright_core::claim::OwnerId;
use zonewright_core::registry::Registry;
use zonewright_core::testing::documents::MemoryDocuments;
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry};
use zonewright_registry::memory::MemoryRegistry;
use zonewright_registry::noop::NoopRegistry;
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

struct Txt {
    ours: TxtRegistry,
    theirs: TxtRegistry,
}

impl Harness for Txt {
    fn ours(&self) -> &dyn Registry {
        &self.ours
    }

    fn theirs(&self) -> Option<&dyn Registry> {
        Some(&self.theirs)
    }

    fn lost_update(&self) -> LostUpdate {
        LostUpdate::New
    }

    fn again(&self) -> Box<dyn Registry> {
        Box::new(self.ours.clone())
    }
}

struct Noop(NoopRegistry);

impl Harness for Noop {
    fn ours(&self) -> &dyn Registry {
        &self.0
    }

    fn theirs(&self) -> Option<&dyn Registry> {
        None
    }

    fn lost_update(&self) -> LostUpdate {
        LostUpdate::New
    }

    fn again(&self) -> Box<dyn Registry> {
        Box::new(NoopRegistry)
    }
}

struct ConfigMaps {
    store: Arc<MemoryDocuments>,
    limit: usize,
    ours: ConfigMapRegistry,
    theirs: ConfigMapRegistry,
}

impl ConfigMaps {
    /// Objects of this size at most.
    fn new(limit: usize) -> Self {
        let store = Arc::new(MemoryDocuments::default());
        let (ours, theirs) = (Self::of("me", &store, limit), Self::of("other", &store, limit));
        Self { store, limit, ours, theirs }
    }

    fn of(owner: &str, store: &Arc<MemoryDocuments>, limit: usize) -> ConfigMapRegistry {
        let config = ConfigMapConfig::new(owner, store.clone()).expect("an owner");
        ConfigMapRegistry::new(ConfigMapConfig { limit, ..config })
    }
}

impl Harness for ConfigMaps {
    fn ours(&self) -> &dyn Registry {
        &self.ours
    }

    fn theirs(&self) -> Option<&dyn Registry> {
        Some(&self.theirs)
    }

    fn lost_update(&self) -> LostUpdate {
        LostUpdate::New
    }

    fn again(&self) -> Box<dyn Registry> {
        Box::new(Self::of("me", &self.store, self.limit))
    }
}

struct Memory {
    ours: MemoryRegistry,
    theirs: ConfigMapRegistry,
}

impl Memory {
    fn new() -> Self {
        let store = Arc::new(MemoryDocuments::default());
        let ours = MemoryRegistry::over("me", store.clone()).expect("an owner");
        Self { ours, theirs: ConfigMaps::of("other", &store, zonewright_registry::configmap::LONGEST) }
    }
}

impl Harness for Memory {
    fn ours(&self) -> &dyn Registry {
        &self.ours
    }

    fn theirs(&self) -> Option<&dyn Registry> {
        Some(&self.theirs)
    }

    fn lost_update(&self) -> LostUpdate {
        LostUpdate::New
    }

    /// What it knows ends with the process: the cases of a restart see the same process.
    fn again(&self) -> Box<dyn Registry> {
        Box::new(self.ours.clone())
    }
}

fn txt(prefix: &str, suffix: &str, wildcard: &str) -> Txt {
    let registry = |owner| {
        let (prefix, suffix, wildcard_replacement) = (prefix.to_owned(), suffix.to_owned(), wildcard.to_owned());
        let config = TxtConfig::new(owner).expect("an owner");
        TxtRegistry::new(TxtConfig { prefix, suffix, wildcard_replacement, ..config }).expect("affixes that work")
    };
    Txt { ours: registry("me"), theirs: registry("other") }
}

/// The same, set otherwise.
fn with(set: impl Fn(&mut TxtConfig)) -> Txt {
    let registry = |owner| {
        let mut config = TxtConfig::new(owner).expect("an owner");
        set(&mut config);
        TxtRegistry::new(config).expect("settings that work")
    };
    Txt { ours: registry("me"), theirs: registry("other") }
}

fn encrypt(config: &mut TxtConfig) {
    config.aes_key = Some("01234567890123456789012345678901".to_owned().into());
    config.encrypt = true;
}

fn migrate(config: &mut TxtConfig) {
    config.migrate_from = OwnerId::new("former");
}

macro_rules! suites {
    ($($name:ident: $harness:expr;)*) => {
        $(mod $name {
            async fn harness() -> Option<impl zonewright_conformance::registry::Harness> {
                Some($harness)
            }
            zonewright_conformance::registry_suite!(harness);
        })*
    };
}

suites! {
    configmap: super::ConfigMaps::new(zonewright_registry::configmap::LONGEST);
    configmap_in_shards: super::ConfigMaps::new(1_000);
    memory: super::Memory::new();
    noop: super::Noop(zonewright_registry::noop::NoopRegistry);
    plain: super::txt("", "", "");
    prefix: super::txt("txt-", "", "any");
    prefix_label: super::txt("own.", "", "");
    prefix_template: super::txt("x-%{record_type}.", "", "any");
    suffix: super::txt("", "-txt", "");
    encrypted: super::with(super::encrypt);
    migrating: super::with(super::migrate);
    suffix_template: super::txt("", "-.%{record_type}", "");
}
