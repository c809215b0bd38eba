//! The contract of a registry: who owns which record, and how that is written down.
//!
//! It has two halves. A [`ClaimFormat`] says how a claim is written and read: pure over what was read, so that a plan with its
//! claims is a function of values. A [`ClaimStore`] keeps claims outside the zones (objects, a table): that is I/O, with
//! intents before a write and their end after it. A registry is both; one that keeps its claims as record sets of the zones
//! says [`KeptInZones`] and has no store to write.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use crate::change::{Group, Outcome};
use crate::claim::{Claim, OwnerId};
use crate::error::Result;
use crate::name::DnsName;
use crate::rdata::RData;
use crate::record::{RecordKey, RecordSet, SetId};
use crate::zone::{Zone, ZoneKey};

/// Read access to what the zones of one provider instance hold. Claims are looked up over all of them: external-dns may
/// have put the claim on an apex into the parent zone.
pub trait Published {
    /// The record set of `key`, with the zone that holds it; `near` is looked at first, then the other zones from the
    /// longest name down.
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)>;

    /// The zones whose apex is `name`, each with whether it was read completely.
    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)>;
}

/// What one zone holds, as far as it is known. Each call is short and waits for nothing.
pub trait Contents: Send + Sync {
    /// One record set.
    fn find(&self, key: &RecordKey) -> Option<RecordSet>;

    /// Shows every record set once, in the order of the names.
    fn each(&self, visit: &mut dyn FnMut(RecordSet));
}

/// Why a group was not prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// What is in the way, for the object's owner.
    pub reason: String,
}

/// What shall become of the claim on a record that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnershipChange {
    /// Nobody claims it: it becomes ours, for this resource.
    Take(Option<Arc<str>>),
    /// It is ours, and becomes this owner's; what the claim says besides stays.
    Give(OwnerId),
    /// It is ours, and becomes nobody's.
    Disown,
}

/// What in a claim set speaks for no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleClaims {
    /// Intents of writes that were not finished.
    Intents,
    /// Those, and claims whose record is gone. An object may still wait for that record: only an owner that leaves for good
    /// takes them away.
    Claims,
}

/// What others have done to claims that are kept outside the zones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalChanges {
    /// Names whose claims have changed: they are planned again.
    pub names: BTreeSet<DnsName>,
    /// Those of them where a claim of ours is gone or says something else, and we did not write that: foreign changes
    /// ([`crate::flap`]).
    pub contested: BTreeSet<DnsName>,
}

/// What an operator should know of a record set that holds a claim, or seems to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimAnomaly {
    /// It looks like the encrypted claim on this record, and does not open: the record counts as another owner's.
    Closed(RecordKey),
    /// It is ours, and none of the records that it may speak for stands.
    Orphan(Vec<RecordKey>),
}

/// Whether a record set of a zone holds claims, and so is no ordinary record: its text reads as one, and no object asked for it.
pub fn holds_claims(format: &dyn ClaimFormat, zone: &Zone, set: &RecordSet, published: &dyn Published) -> bool {
    format.is_claim(set) && !format.is_record(zone, set, published)
}

/// How a claim is written and read: the rules of one registry, applied to what was read. It decorates groups of changes and does
/// not wrap the provider. Nothing here waits for anything.
pub trait ClaimFormat: Send + Sync {
    /// Our owner id; `None` where no claims are kept and every record in scope counts as ours.
    fn owner(&self) -> Option<&OwnerId>;

    /// Whether a record set holds claims, and so is no ordinary record.
    fn is_claim(&self, set: &RecordSet) -> bool;

    /// Whether a record set whose text reads as a claim ([`ClaimFormat::is_claim`]) is an ordinary record all the same: an object
    /// asked for it, and it has a claim of its own. It gives nobody a right.
    fn is_record(&self, zone: &Zone, set: &RecordSet, published: &dyn Published) -> bool;

    /// The claims on `key`, which stands or shall stand in `zone`.
    fn claims(&self, zone: &Zone, key: &RecordKey, published: &dyn Published) -> Vec<Claim>;

    /// The set identifier of the item of a shared record set ([`crate::in_set`]) that this text is our claim on, if it is one.
    fn item_of(&self, text: &RData) -> Option<SetId>;

    /// The names whose record sets the claims on a record at `name` may stand at: what a targeted read must cover.
    fn claim_names(&self, zone: &Zone, key: &RecordKey) -> BTreeSet<DnsName>;

    /// The names whose records the claims at `claim` may be on: what is to be planned again where those have changed. None where
    /// claims stand outside of the zones.
    fn record_names(&self, _zone: &Zone, _claim: &DnsName) -> BTreeSet<DnsName> {
        BTreeSet::new()
    }

    /// Adds to each group what must happen to the claims of its records.
    ///
    /// # Errors
    /// Per group: why its records cannot be claimed (the claim's name would be too long, foreign text stands there).
    /// Such a group is not carried out.
    fn decorate(
        &self,
        zone: &Zone,
        groups: Vec<Group>,
        published: &dyn Published,
    ) -> Vec<Result<Group, (Group, Dropped)>>;

    /// The next step towards a claim on our record that stands where and how it would be written today, and nowhere else
    /// (former settings, the format of before 2022, a name in another zone). It changes no record. A step that takes claims
    /// away requires those that stay, and is sent only after they have been read back. `None` if nothing is to be done, or
    /// something is in the way.
    fn upgrade(&self, zone: &Zone, record: &RecordSet, published: &dyn Published) -> Option<Group>;

    /// Whether claims of ours may stand elsewhere than where they would be written today: former settings are given.
    fn is_moving(&self) -> bool {
        false
    }

    /// What is odd about a record set, if anything is.
    fn anomaly(&self, zone: &Zone, set: &RecordSet, published: &dyn Published) -> Option<ClaimAnomaly>;

    /// Whether a set of claims at the name of `key` goes in the group that creates `key` ([`Self::decorate`]): a CNAME stands
    /// alone, and all that the set says is ours and in a format that nobody writes today.
    fn makes_way(&self, _zone: &Zone, _set: &RecordSet, _key: &RecordKey, _published: &dyn Published) -> bool {
        false
    }

    /// A group that takes away from a claim set what is ours and speaks for no record. `None` if it holds nothing of the kind.
    fn collect_stale_claims(
        &self,
        zone: &Zone,
        set: &RecordSet,
        what: StaleClaims,
        published: &dyn Published,
    ) -> Option<Group>;

    /// A group that hands the claim on a standing record over, and changes no record; `None` if it is so already. It
    /// requires the record as it was read. Where claims are kept outside the zones it is one
    /// [`StoreEffect::Assign`](crate::change::StoreEffect::Assign), which is prepared and committed, and not sent.
    ///
    /// # Errors
    /// Why it cannot be: it is not ours to give, another owner claims it, something stands in the way.
    fn assign(
        &self,
        zone: &Zone,
        record: &RecordSet,
        change: &OwnershipChange,
        published: &dyn Published,
    ) -> Result<Option<Group>, Dropped>;
}

/// Where claims are kept outside the zones, in step with what happens in them.
#[async_trait]
pub trait ClaimStore: Send + Sync {
    /// Reads again what is kept.
    ///
    /// # Errors
    /// Whatever kept the claims from being read: then nothing is planned.
    async fn load(&self) -> Result<()>;

    /// Brings what is kept in step with a zone that was just read: intents of unanswered writes are confirmed or withdrawn,
    /// claims on records that are gone end. `changed` is false where the reading showed nothing new. Returns what others have
    /// done to claims in the zone since the last call. It is called between a reading and the next plan, never while groups of
    /// the zone are under way, and not in a dry run.
    ///
    /// # Errors
    /// Whatever kept it from being written: then nothing is planned in this zone.
    async fn resync(&self, zone: &Zone, contents: &dyn Contents, changed: bool) -> Result<ExternalChanges>;

    /// The keys with set identifiers of records of `zone` at these names that claims speak of. Pure over what was loaded.
    fn item_keys(&self, zone: &Zone, names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey>;

    /// Our claims on records of `zone` that stand in none: a group of one [`StoreEffect::End`](crate::change::StoreEffect::End)
    /// for each. They are prepared and committed, and nothing of them is sent. `published` must know all zones of the instance
    /// completely. Claims in the zones are found by [`ClaimFormat::collect_stale_claims`]. Pure over what was loaded.
    fn leftovers(&self, zone: &Zone, published: &dyn Published) -> Vec<Group>;

    /// How many groups it prefers to prepare at once, where writing down a few costs as much as writing down many; 0 where it
    /// does not matter.
    fn piece(&self) -> usize;

    /// Writes down what must stand before the groups are sent (intents, locks).
    ///
    /// # Errors
    /// Per group: why it must not be sent.
    async fn prepare(&self, zone: &Zone, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>>;

    /// Writes down what became of the groups; without groups, what earlier ones left unwritten.
    ///
    /// # Errors
    /// Whatever kept it from being written; the names are planned again.
    async fn commit(&self, zone: &Zone, groups: &[Group], outcomes: &[Outcome]) -> Result<()>;
}

/// Claims are record sets of the zones, or there are none: nothing is kept anywhere else, and the store is empty.
pub trait KeptInZones: ClaimFormat {}

#[async_trait]
impl<T: KeptInZones> ClaimStore for T {
    async fn load(&self) -> Result<()> {
        Ok(())
    }

    async fn resync(&self, _zone: &Zone, _contents: &dyn Contents, _changed: bool) -> Result<ExternalChanges> {
        Ok(ExternalChanges::default())
    }

    fn item_keys(&self, _zone: &Zone, _names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey> {
        BTreeSet::new()
    }

    fn leftovers(&self, _zone: &Zone, _published: &dyn Published) -> Vec<Group> {
        Vec::new()
    }

    fn piece(&self) -> usize {
        0
    }

    async fn prepare(&self, _zone: &Zone, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>> {
        groups.into_iter().map(Ok).collect()
    }

    async fn commit(&self, _zone: &Zone, _groups: &[Group], _outcomes: &[Outcome]) -> Result<()> {
        Ok(())
    }
}

/// Where ownership is kept: a format and a store. Whatever is both is a registry.
pub trait Registry: ClaimFormat + ClaimStore {}

impl<T: ClaimFormat + ClaimStore> Registry for T {}
