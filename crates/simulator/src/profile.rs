//! The kinds of providers: each a capability, and what the model of the provider needs to know besides.

use std::time::Duration;

use zonewright_core::Ttl;
use zonewright_core::capability::{
    Atomicity, Audit, Batch, Capability, CnameRules, CreateMode, Preconditions, RoutingKind, RoutingSupport,
    TargetCount, TtlRange,
};

/// A provider as the model plays it.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its name in stories and on the command line.
    pub name: &'static str,
    /// What it says of itself.
    pub capability: Capability,
    /// Whether it answers a question for changes with changes; else with everything.
    pub delta: bool,
    /// How far a full listing may lag behind.
    pub lag: Duration,
    /// Whether a write needs several steps, since record and claim cannot be written in one, or a create may add to what
    /// stands.
    pub staged: bool,
    /// Whether there are no zones, but one pseudo-zone, the root.
    pub rootless: bool,
}

fn base(changes: usize) -> Capability {
    let ttl = TtlRange::any(Ttl::from_secs(300).unwrap_or(Ttl::ZERO));
    Capability::authoritative(changes, ttl)
}

fn seconds(n: u32) -> Ttl {
    Ttl::from_secs(n).unwrap_or(Ttl::ZERO)
}

fn batch(changes: usize, atomic: Atomicity) -> Batch {
    Batch { atomic, ..Batch::of(changes) }
}

impl Profile {
    /// The same where sets of one name and type can stand side by side, each with an identifier and a routing policy: of the
    /// kinds that list record sets, and can demand nothing of others than those that they change.
    pub(crate) fn with_set_ids(mut self) -> Self {
        if self.capability.audit == Audit::Listing && !self.is_guarded() && !self.capability.set_ids {
            self.capability.set_ids = true;
            self.capability.routing = RoutingSupport::PerSet(&[RoutingKind::Weighted]);
        }
        self
    }

    /// The same where all sets of a name and type have one kind of routing policy, if it knows set identifiers and can change several
    /// sets at once.
    pub(crate) fn with_one_kind(mut self) -> Self {
        self.capability.one_kind = self.capability.set_ids && !self.staged && !self.rootless;
        self
    }

    fn is_guarded(&self) -> bool {
        self.capability.preconditions == Preconditions::Any
    }
}

/// The same where a listing may lag behind a write.
fn lagging(profile: Profile) -> Profile {
    let lag = Duration::from_secs(20);
    Profile { lag, capability: Capability { settle: lag, ..profile.capability }, ..profile }
}

/// Every kind of provider.
pub fn profiles() -> Vec<Profile> {
    let plain = |name, capability| Profile {
        name,
        capability,
        delta: false,
        lag: Duration::ZERO,
        staged: false,
        rootless: false,
    };
    let update = Capability { ..base(8) };
    let small =
        Capability { targets: TargetCount::First, wildcards: false, batch: batch(2, Atomicity::Batch), ..base(2) };
    let listing = Capability { audit: Audit::Listing, ..base(6) };
    let changed = Capability {
        preconditions: Preconditions::Changed,
        batch: Batch { size: Some(900), ..batch(100, Atomicity::Batch) },
        ..listing.clone()
    };
    let none = Capability {
        preconditions: Preconditions::None,
        ttl: TtlRange { min: seconds(60), max: seconds(86_400), default: seconds(300) },
        ..listing.clone()
    };
    let stated = Capability {
        preconditions: Preconditions::Stated,
        cname: CnameRules { alone: false, flattened: false },
        set_ids: true,
        batch: batch(usize::MAX, Atomicity::Batch),
        ..listing.clone()
    };
    let tagged =
        Capability { preconditions: Preconditions::Checked, batch: batch(1, Atomicity::None), ..changed.clone() };
    let loose = Capability { create: CreateMode::Additive, batch: batch(1, Atomicity::None), ..none.clone() };
    let additive = Capability { create: CreateMode::Additive, batch: batch(20, Atomicity::Batch), ..none.clone() };
    vec![
        Profile { delta: true, ..plain("update", update.clone()) },
        plain("update-whole", update),
        Profile { delta: true, ..plain("first-target", small) },
        plain("listing", listing.clone()),
        lagging(plain("lagging", listing)),
        plain("changed", changed.clone()),
        lagging(plain("changed-lagging", changed)),
        plain("blind", none),
        Profile { rootless: true, ..plain("webhook", stated) },
        Profile { staged: true, ..plain("etag", tagged) },
        Profile { staged: true, ..plain("loose", loose) },
        Profile { staged: true, ..plain("additive", additive) },
    ]
}

/// A provider whose creates merely add, and that reads by itself what a write requires. It is drawn in place of every second one that does
/// not, so that the other histories stay what they were.
pub fn reading() -> Option<Profile> {
    let additive = profiles().into_iter().find(|profile| profile.name == "additive")?;
    let capability = Capability { preconditions: Preconditions::Read, ..additive.capability };
    Some(Profile { name: "reading", capability, ..additive })
}
