//! The templates that the flags give (`--fqdn-template` and its kin). What they make of an object is gathered in `map::templates`.

use std::sync::Arc;

use zonewright_core::catalog::Settings as Flags;
use zonewright_core::{Error, ErrorKind};
use zonewright_template::{Input, ObjectKind as TypedKind, Shape, Template};

use crate::options::SourceKind;

/// The templates of the flags.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    pub(crate) fqdn: Option<Arc<Template>>,
    pub(crate) target: Option<Arc<Template>>,
    pub(crate) fqdn_target: Option<Arc<Template>>,
}

impl Templates {
    /// Reads the three flags.
    ///
    /// # Errors
    /// A configuration error that names flag, value and position.
    pub fn from_settings(flags: &Flags) -> Result<Self, Error> {
        let read = |flag: &str| {
            let template = Template::parse(flag, flags.list(flag));
            let bad = |problem| Error::new(ErrorKind::Configuration, "read the source flags", format!("--{problem}"));
            template.map(|template| template.map(Arc::new)).map_err(|problem| bad(problem.to_string()))
        };
        Ok(Self {
            fqdn: read("fqdn-template")?,
            target: read("target-template")?,
            fqdn_target: read("fqdn-target-template")?,
        })
    }

    /// Whether any of the three flags is set.
    pub fn is_configured(&self) -> bool {
        self.fqdn.is_some() || self.target.is_some() || self.fqdn_target.is_some()
    }

    /// Whether `--fqdn-template` or `--fqdn-target-template` is set: where the source's own names step back.
    pub fn gives_names(&self) -> bool {
        self.fqdn.is_some() || self.fqdn_target.is_some()
    }

    /// The names that `--fqdn-template` gives for a pod; none, and a line in the log, where it fails.
    pub(crate) fn domains(&self, pod: &serde_json::Value) -> Vec<String> {
        let Some(template) = &self.fqdn else { return Vec::new() };
        let shape = Shape::Typed(TypedKind::Pod);
        let names = template.names(Input {
            object: pod,
            shape,
            source: Some(SourceKind::Fake.as_str()),
            sources: SourceKind::WORDS,
        });
        names.map_err(|failure| tracing::error!("rendering fqdn template: --{failure}")).unwrap_or_default()
    }
}

impl PartialEq for Templates {
    fn eq(&self, other: &Self) -> bool {
        let texts = |all: &Self| {
            [&all.fqdn, &all.target, &all.fqdn_target].map(|one| one.as_ref().map(|one| one.text().to_owned()))
        };
        texts(self) == texts(other)
    }
}

impl Eq for Templates {}
