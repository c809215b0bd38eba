//! Names and targets that templates make of whole objects (`--fqdn-template` and its kin).
//!
//! In come an object as the API server gave it and what has been asked for already; out come further names and endpoints.
//! What must hold: a template that fails costs only what it would have given, is told on the object, and lets nothing go
//! that is published for the object.

use zonewright_core::DnsName;

use crate::map::Mapping;

/// The templates of the flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Templates {}

impl Templates {
    /// Whether any of the three flags is set.
    pub fn is_configured(&self) -> bool {
        false
    }

    /// Whether `--fqdn-template` or `--fqdn-target-template` is set: where the source's own names step back.
    pub fn gives_names(&self) -> bool {
        false
    }
}

impl Mapping<'_> {
    /// The names that `--fqdn-template` gives, if it is its turn: nothing was asked for yet, or templates add to it.
    pub(crate) fn template_names(&mut self) -> Vec<DnsName> {
        Vec::new()
    }

    /// Asks for the pairs of name and target that `--fqdn-target-template` gives, if it is its turn. They have no settings
    /// and no label.
    pub(crate) fn publish_template_pairs(&mut self) {}

    /// For sources whose objects state no targets that templates could use: asks for the pairs of
    /// `--fqdn-target-template`, then for the names of `--fqdn-template` at the targets of `--target-template`. `label`:
    /// whether the endpoints carry the object's label and TTL, else neither.
    pub(crate) fn apply_templates(&mut self, _label: bool) {}
}
