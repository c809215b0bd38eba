//! The registry suite over each registry, and over the txt registry with each kind of affix.

use zonewright_conformance::registry::Harness;
use zonewright_core::registry::Registry;
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
}

struct Noop(NoopRegistry);

impl Harness for Noop {
    fn ours(&self) -> &dyn Registry {
        &self.0
    }

    fn theirs(&self) -> Option<&dyn Registry> {
        None
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
    noop: super::Noop(zonewright_registry::noop::NoopRegistry);
    plain: super::txt("", "", "");
    prefix: super::txt("txt-", "", "any");
    prefix_label: super::txt("own.", "", "");
    prefix_template: super::txt("x-%{record_type}.", "", "any");
    suffix: super::txt("", "-txt", "");
    suffix_template: super::txt("", "-.%{record_type}", "");
}
