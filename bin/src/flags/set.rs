//! All flags that one command knows, each with what it belongs to.
//!
//! In come the tables of this program and the entries of the catalogue; out comes one row for each name. A flag
//! that several things declare (`--tls-ca`) is one row with several owners.

use std::collections::BTreeMap;

use zonewright_core::catalog::{FlagKind, FlagSpec};

use super::owner::FlagOwner;
use super::selection::{Selection, sources_here};
use super::table::{CORE, WEBHOOK_SERVER};
use super::{peer, sources};
use crate::catalog::{self, Catalog};

impl FlagOwner {
    /// Whether the flag belongs to something that was chosen.
    pub(super) fn is_selected(&self, selection: &Selection) -> bool {
        match self {
            Self::Core => true,
            Self::Sources(names) => selection.sources.iter().any(|s| names.contains(&s.as_str())),
            Self::Registries(names) => names.contains(&selection.registry.as_str()),
            Self::Providers(names) => names.contains(&selection.provider.as_str()),
            Self::Provider(entry) => entry.answers_to(&selection.provider),
            Self::Registry(entry) => entry.name == selection.registry,
            Self::Server => selection.webhook_server,
        }
    }

    /// Whether what the flag belongs to can be chosen at all in this build.
    fn is_here(&self, catalog: &Catalog) -> bool {
        match self {
            Self::Core | Self::Provider(_) | Self::Registry(_) => true,
            Self::Server => cfg!(feature = "webhook-server"),
            Self::Sources(names) => names.iter().any(|name| sources_here().contains(name)),
            Self::Registries(names) => names.iter().any(|name| catalog.registry(name).is_some()),
            Self::Providers(names) => names.iter().any(|name| catalog.provider(name).is_some()),
        }
    }
}

/// A flag with its heading and owners.
#[derive(Debug, Clone)]
pub(super) struct FlagRow {
    /// The flag.
    pub(super) spec: FlagSpec,
    /// Heading in the help text.
    pub(super) heading: String,
    /// What it belongs to; at least one.
    pub(super) owners: Vec<FlagOwner>,
    /// Whether the short help shows it: something in this build reads it.
    pub(super) shown: bool,
}

impl FlagRow {
    /// Whether the flag belongs to something that was chosen.
    pub(super) fn is_selected(&self, selection: &Selection) -> bool {
        self.owners.iter().any(|owner| owner.is_selected(selection))
    }
}

/// The flags of one command, in the order of the help text.
#[derive(Debug, Clone, Default)]
pub(super) struct FlagSet {
    rows: Vec<FlagRow>,
    index: BTreeMap<&'static str, usize>,
}

impl FlagSet {
    /// The flags of the daemon: those of external-dns, ours, and those of every provider in the catalogue.
    pub(super) fn daemon(catalog: &Catalog) -> Self {
        let mut set = Self::default();
        for group in CORE.iter().chain(sources::FLAGS) {
            set.add(group.heading, group.owner, group.flags, group.owner.is_here(catalog));
        }
        for entry in catalog.registries() {
            set.add(&format!("Registry {}", entry.name), FlagOwner::Registry(*entry), entry.flags, true);
        }
        for entry in catalog.providers() {
            set.add(&format!("Provider {}", entry.name), FlagOwner::Provider(*entry), entry.flags, true);
        }
        set.add("Webhook server", FlagOwner::Server, WEBHOOK_SERVER, FlagOwner::Server.is_here(catalog));
        for group in peer::FLAGS {
            set.add(group.heading, group.owner, group.flags, group.owner.is_here(catalog));
        }
        let in_tree = |table: &[catalog::InTree]| table.iter().flat_map(|one| one.names).copied().collect::<Vec<_>>();
        set.accept("provider", in_tree(catalog::PROVIDERS).into_iter().chain(catalog.provider_names()));
        set.accept("registry", in_tree(catalog::REGISTRIES).into_iter().chain(catalog.registry_names()));
        set
    }

    /// The flags of the daemon, and those of a command that works on the same zones.
    pub(super) fn with(mut self, flags: &'static [FlagSpec]) -> Self {
        self.add("Command", FlagOwner::Core, flags, true);
        self
    }

    /// The flags of the extension controller of Gardener: its own, those of claims as TXT records, and those of every provider
    /// that it serves.
    pub(super) fn gardener(catalog: &Catalog, flags: &'static [FlagSpec]) -> Self {
        let mut set = Self::small(flags);
        for entry in catalog.registries().iter().filter(|entry| entry.name == "txt") {
            set.add(&format!("Registry {}", entry.name), FlagOwner::Registry(*entry), entry.flags, true);
        }
        for entry in catalog.providers() {
            set.add(&format!("Provider {}", entry.name), FlagOwner::Provider(*entry), entry.flags, true);
        }
        set
    }

    /// The flags of a command that has only a few.
    pub(super) fn small(flags: &'static [FlagSpec]) -> Self {
        let mut set = Self::default();
        set.add("Options", FlagOwner::Core, flags, true);
        set
    }

    /// Every row, in the order of the help text.
    pub(super) fn rows(&self) -> &[FlagRow] {
        &self.rows
    }

    /// The row of a flag by its long name.
    pub(super) fn row(&self, name: &str) -> Option<&FlagRow> {
        self.index.get(name).and_then(|at| self.rows.get(*at))
    }

    /// The row of a switch by its long name or by `no-` and its long name, and which of the two it was.
    pub(super) fn switch(&self, name: &str) -> Option<(&FlagRow, bool)> {
        let on = self.row(name).map(|row| (row, true));
        let off = || name.strip_prefix("no-").and_then(|name| self.row(name)).map(|row| (row, false));
        on.or_else(off).filter(|(row, _)| row.spec.kind == FlagKind::Bool)
    }

    fn add(&mut self, heading: &str, owner: FlagOwner, flags: &[FlagSpec], shown: bool) {
        for spec in flags {
            if let Some(row) = self.index.get(spec.name).and_then(|at| self.rows.get_mut(*at)) {
                row.owners.push(owner);
                row.shown |= shown;
            } else {
                self.index.insert(spec.name, self.rows.len());
                self.rows.push(FlagRow { spec: *spec, heading: heading.to_owned(), owners: vec![owner], shown });
            }
        }
    }

    /// Lets a flag with a choice of words take these words, too.
    fn accept(&mut self, flag: &str, words: impl Iterator<Item = &'static str>) {
        let Some(row) = self.index.get(flag).and_then(|at| self.rows.get_mut(*at)) else { return };
        let FlagKind::Choice(known) = row.spec.kind else { return };
        let mut all: Vec<&'static str> = known.iter().copied().chain(words).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() > known.len() {
            // A table lives as long as the process, and there is one for each start.
            row.spec.kind = FlagKind::Choice(all.leak());
        }
    }
}
