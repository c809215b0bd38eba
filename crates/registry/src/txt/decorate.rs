//! What must happen to claims when records change.
//!
//! In: groups of record changes and a [`View`] of what is published. Out: the same groups with the changes of their claims,
//! or the sentence that says why a group cannot be carried out. What holds of every group that comes out: a record that it
//! leaves standing has a claim of ours at the place of today, every claim that it relies on is a precondition with the
//! exact text that was read, no right is left without a record unless another record needs it or it stands in another
//! zone, and no two groups change one claim or rest on one that the other changes.
//!
//! An old-format claim stays as long as the record lives, as external-dns leaves it, unless `--txt-move-old-format` is given
//! (`upgrade`). It goes with the last record that
//! has no typed claim of its own. When several such records go in one round, each in its own group, the old claim
//! stays behind: a group must not rest on the success of another.

mod room;

use std::collections::BTreeSet;

use zonewright_core::change::{Change, Group, Precondition, Role, Step};
use zonewright_core::claim::{Claim, ClaimRank, Ownership, judge};
use zonewright_core::name::NameError;
use zonewright_core::registry::Dropped;
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType};

use super::former::rival;
use super::intents::is_void;
use super::ledger::{ClaimLedger, Entry};
use super::record::own_keys;
use super::rewrite::{foreign_members, rewritten};
use super::value::Heritage;
use super::view::{Format, Site, View, places, text_key};

pub(super) fn decorate(view: &View<'_>, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>> {
    let mut ledger = ClaimLedger::of(&groups);
    let decorated = groups.into_iter().enumerate().map(|(index, group)| {
        let draft =
            Draft::of(view, &group).and_then(|draft| ledger.admit(index, &group.name, draft.entry()).map(|()| draft));
        match draft {
            Ok(draft) => Ok(draft.add_to(group)),
            Err(reason) => Err((group, Dropped { reason })),
        }
    });
    decorated.collect()
}

/// Whether a set of claims goes when a CNAME comes to its name.
pub(super) fn makes_way(view: &View<'_>, set: &RecordSet, key: &RecordKey) -> bool {
    key.rtype == RecordType::Cname
        && foreign_members(view.rules, set).is_empty()
        && Draft::empty(view).in_the_way(key).any(|site| site.set.key == set.key)
}

/// What is added to one group.
pub(super) struct Draft<'a> {
    pub(super) view: &'a View<'a>,
    /// Keys of the records that the group takes away.
    gone: BTreeSet<RecordKey>,
    /// Claims that must be out of the way before a record can stand at their name.
    before: Vec<Change>,
    after: Vec<Change>,
    pub(super) requires: Vec<RecordSet>,
    /// Where nothing may stand, for a claim there would speak against the one that the group relies on.
    absent: Vec<RecordKey>,
    /// Where nothing may come in the same round, for a new claim would read as a record.
    kept_free: Vec<RecordKey>,
    /// Whether claims that say the right thing in the other form are rewritten although their record stays.
    pub(super) reforms: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn empty(view: &'a View<'a>) -> Self {
        Self {
            view,
            gone: BTreeSet::new(),
            before: Vec::new(),
            after: Vec::new(),
            requires: Vec::new(),
            absent: Vec::new(),
            kept_free: Vec::new(),
            reforms: false,
        }
    }

    fn of(view: &'a View<'a>, group: &Group) -> Result<Self, String> {
        let gone = |step: &Step| matches!(step.change, Change::Delete { .. }).then(|| step.change.key().clone());
        let mut draft = Self { gone: group.records().filter_map(gone).collect(), ..Self::empty(view) };
        for step in group.records() {
            match &step.change {
                Change::Create { to } => draft.create(step, to)?,
                Change::Update { from, to } => draft.update(step, from, to)?,
                Change::Delete { from } => draft.delete(&from.key)?,
            }
        }
        draft.settle(group)?;
        Ok(draft)
    }

    fn create(&mut self, step: &Step, to: &RecordSet) -> Result<(), String> {
        let key = &to.key;
        self.check_own_place(key)?;
        self.check_alone(key)?;
        let claims = self.view.claims(key);
        let heritage = self.heritage(step);
        match judge(&claims, Some(&self.view.rules.owner)) {
            Ownership::Ours(Some(claim)) if self.view.is_at_home(key, &claim) => {
                self.keep(None, to, &heritage, &claim)?;
            }
            Ownership::Ours(_) | Ownership::Unclaimed => {
                self.require_former(key);
                self.place(to, &heritage)?;
            }
            _ if self.is_overruled(key, &claims) => self.place(to, &heritage)?,
            other => return Err(self.not_ours(key, &other, &claims)),
        }
        if key.rtype == RecordType::Cname {
            self.free_name(key)?;
            self.check_name(key)?;
        }
        Ok(())
    }

    fn update(&mut self, step: &Step, from: &RecordSet, to: &RecordSet) -> Result<(), String> {
        self.require_void(&to.key);
        let claims = self.view.claims(&to.key);
        let heritage = self.heritage(step);
        match judge(&claims, Some(&self.view.rules.owner)) {
            Ownership::Ours(Some(claim)) => self.claim(Some(from), to, &heritage, &claim),
            other => Err(self.not_ours(&to.key, &other, &claims)),
        }
    }

    fn delete(&mut self, key: &RecordKey) -> Result<(), String> {
        let claims = self.view.claims(key);
        let ownership = judge(&claims, Some(&self.view.rules.owner));
        if !ownership.is_ours() {
            return Err(self.not_ours(key, &ownership, &claims));
        }
        if ownership.claim().is_some_and(|claim| claim.rank == ClaimRank::Old) {
            self.require_place(key);
        }
        self.require_void(key);
        for site in self.own_sites(key) {
            self.withdraw_claim(key, site)?;
        }
        Ok(())
    }

    /// What may be our claims on `key` in this zone. Those in other zones cannot be part of the batch.
    pub(super) fn own_sites(&self, key: &RecordKey) -> impl Iterator<Item = Site> + use<> {
        let (zone, owner) = (self.view.zone.key.clone(), self.view.rules.owner.clone());
        self.view.all_sites(key).into_iter().filter(move |site| site.zone == zone && site.is_of(&owner))
    }

    /// The sets of the zone with a claim of ours on the record, those among them in which others claim it, too.
    pub(super) fn shared_sites(&self, key: &RecordKey) -> impl Iterator<Item = Site> + use<> {
        let (zone, owner) = (self.view.zone.key.clone(), self.view.rules.owner.clone());
        let holds_ours = move |site: &Site| site.claims.iter().any(|claim| claim.owner == owner);
        self.view.all_sites(key).into_iter().filter(move |site| site.zone == zone && holds_ours(site))
    }

    /// A CNAME stands alone, so an old-format claim of ours at its very name has to go first.
    fn free_name(&mut self, key: &RecordKey) -> Result<(), String> {
        for site in self.in_the_way(key) {
            self.withdraw_claim(key, site)?;
        }
        Ok(())
    }

    fn in_the_way(&self, key: &RecordKey) -> impl Iterator<Item = Site> + use<> {
        let name = key.name.clone();
        self.own_sites(key).filter(move |site| site.format == Format::Old && site.set.key.name == name)
    }

    /// Withdraws our member of a set of claims, unless another record needs it.
    pub(super) fn withdraw_claim(&mut self, key: &RecordKey, site: Site) -> Result<(), String> {
        let others = self.view.reliant(key, site.format, &site.set.key.name, &self.gone);
        // A claim that may be only this record's would make the other ours once this one is gone.
        let relies = |other: &RecordKey| rival(self.view, other, site.format, &site.set.key.name).is_none();
        if others.iter().any(relies) {
            self.requires.push(site.set);
            return Ok(());
        }
        if site.format == Format::Old {
            self.requires.extend(self.view.instead_of_old(key, &site.set.key.name, &self.gone));
        }
        let rest = foreign_members(self.view.rules, &site.set);
        let change = if rest.is_empty() {
            Change::Delete { from: site.set }
        } else {
            let to = RecordSet { data: RecordData::records(rest), ..site.set.clone() };
            Change::Update { from: site.set, to }
        };
        self.push(key, change)
    }

    /// Claims a record that is ours by `claim`: there if it stands where it belongs, else with a new claim.
    pub(super) fn claim(
        &mut self,
        from: Option<&RecordSet>,
        to: &RecordSet,
        heritage: &Heritage,
        claim: &Claim,
    ) -> Result<(), String> {
        if self.view.is_at_home(&to.key, claim) {
            return self.keep(from, to, heritage, claim);
        }
        self.require(claim);
        self.place(to, heritage)
    }

    /// Our claim stands where it belongs: it stays if it is what it should be, else it is rewritten.
    fn keep(
        &mut self,
        from: Option<&RecordSet>,
        to: &RecordSet,
        heritage: &Heritage,
        claim: &Claim,
    ) -> Result<(), String> {
        let Some((_, standing)) = &claim.site else { return Ok(()) };
        let text = || self.text(&to.key, heritage);
        let formed = self.reforms || from.is_some();
        if let Some(next) = rewritten(self.view.rules, standing, (from, to), formed, text, heritage)? {
            return self.push(&to.key, Change::Update { from: standing.clone(), to: next });
        }
        self.requires.push(standing.clone());
        Ok(())
    }

    /// Puts a new claim where claims are written today.
    pub(super) fn place(&mut self, to: &RecordSet, heritage: &Heritage) -> Result<(), String> {
        let key = &to.key;
        let target = self.target(key)?;
        self.check_free(key, &target)?;
        self.check_foreign(key, &target)?;
        if let Some(other) = rival(self.view, key, Format::Current, &target) {
            return Err(room::shared(key, &target, &other));
        }
        let claim = RecordSet {
            key: text_key(&target, key.set_id.as_ref()),
            ttl: None,
            data: RecordData::records([self.text(key, heritage)?]),
            routing: to.routing.clone(),
            options: to.options.clone(),
        };
        self.check_readings(key, &claim)?;
        if !self.view.rules.earlier.is_empty() {
            self.kept_free.extend(own_keys(self.view, &self.view.zone.key, &claim));
        }
        // A write that came to nothing leaves its intent there.
        let change = match self.view.text_at(&target, key.set_id.as_ref()) {
            Some(from) => Change::Update { to: RecordSet { ttl: from.ttl, ..claim }, from },
            None => Change::Create { to: claim },
        };
        self.push(key, change)
    }

    /// Demands that a claim stands as it was read, where that can be demanded in this zone.
    fn require(&mut self, claim: &Claim) {
        let here = claim.site.iter().filter(|(zone, _)| *zone == self.view.zone.key);
        self.requires.extend(here.map(|(_, set)| set.clone()));
    }

    /// Demands that the place of today is as it was read: what somebody writes there speaks before an old-format claim.
    fn require_place(&mut self, key: &RecordKey) {
        let Ok(target) = self.view.rules.target(self.view.zone, key) else { return };
        match self.view.text_at(&target, key.set_id.as_ref()) {
            Some(text) => self.requires.push(text),
            None if target.is_within(&self.view.zone.name) => self.absent.push(text_key(&target, key.set_id.as_ref())),
            None => {}
        }
    }

    /// Demands that claims of ours where former settings put them are as they were read: what somebody writes beside them speaks
    /// against today's.
    fn require_former(&mut self, key: &RecordKey) {
        let former = self.own_sites(key).filter(|site| site.format == Format::Former);
        self.requires.extend(former.map(|site| site.set));
    }

    /// Demands that intents of ours where former settings put the claim are as they were read, though they speak for nothing by now: who makes
    /// a claim of one speaks against today's.
    fn require_void(&mut self, key: &RecordKey) {
        if self.view.rules.earlier.is_empty() {
            return;
        }
        let places =
            places(self.view.rules, self.view.zone, key).into_iter().filter(|place| place.format == Format::Former);
        let standing = places.filter_map(|place| self.view.text_at(&place.name, key.set_id.as_ref()));
        let void: Vec<RecordSet> = standing.filter(|set| is_void(self.view, set)).collect();
        self.requires.extend(void);
    }

    pub(super) fn push(&mut self, key: &RecordKey, change: Change) -> Result<(), String> {
        let same = self.changes().find(|other| other.key() == change.key());
        match same {
            Some(same) if *same == change => {}
            Some(_) => return Err(format!("{key}: its ownership record {} would change twice at once", change.key())),
            None if change.key().name == key.name => self.before.push(change),
            None => self.after.push(change),
        }
        Ok(())
    }

    fn heritage(&self, step: &Step) -> Heritage {
        Heritage::new(&self.view.rules.owner, step.resource.as_ref(), &step.labels)
    }

    pub(super) fn text(&self, key: &RecordKey, heritage: &Heritage) -> Result<RData, String> {
        self.view.rules.codec.write(key, heritage).map(RData::Txt).map_err(|bad| {
            format!(
                "the labels of {key} cannot be written into an ownership record ({}); expected no comma in a label and \
                 no quote at the end",
                bad.text
            )
        })
    }

    fn target(&self, key: &RecordKey) -> Result<DnsName, String> {
        let rules = self.view.rules;
        rules.target(self.view.zone, key).map_err(|error| {
            let mut shorten = rules.affixes.flags(&key.name);
            shorten.push("the host name");
            let problem = match &error {
                NameError::LongLabel { label, .. } => {
                    format!("needs the label {label:?} of {} octets, and 63 is the limit", label.len())
                }
                NameError::Long(name) => format!("needs the name {name}, and 253 characters is the limit"),
                other => return format!("the ownership record of {key} cannot be named: {other}"),
            };
            format!("the ownership record of {key} {problem}; shorten {}", shorten.join(" or "))
        })
    }

    /// Whether all that speaks against us are old-format claims at a name that we hold by today's: leftovers of another
    /// owner, which external-dns never removes.
    fn is_overruled(&self, key: &RecordKey, claims: &[Claim]) -> bool {
        claims.iter().all(|claim| claim.rank == ClaimRank::Old) && self.view.holds_name(key, &self.view.rules.owner)
    }

    pub(super) fn not_ours(&self, key: &RecordKey, ownership: &Ownership, claims: &[Claim]) -> String {
        let at = |owner: &_| {
            let by_owner = claims.iter().filter(|claim| claim.owner == *owner);
            let names: Vec<_> = by_owner.filter_map(|claim| Some(claim.site.as_ref()?.1.key.name.as_str())).collect();
            format!("{owner:?} at {}", names.join(", "), owner = owner.as_str())
        };
        match ownership {
            Ownership::Foreign(owner) => format!("{key} belongs to another owner: {}", at(owner)),
            Ownership::Disputed(owners) => {
                let all: Vec<String> = owners.iter().map(at).collect();
                format!(
                    "{key} is claimed by several owners: {}; it is left alone until one claim is removed",
                    all.join("; ")
                )
            }
            Ownership::Unclaimed | Ownership::Ours(_) => {
                format!("{key} has no ownership record of {:?}", self.view.rules.owner.as_str())
            }
        }
    }

    fn changes(&self) -> impl Iterator<Item = &Change> {
        self.before.iter().chain(&self.after)
    }

    /// Leaves to the group the claims that it changes itself, and drops what is required twice.
    fn settle(&mut self, group: &Group) -> Result<(), String> {
        let own = |key: &RecordKey| group.steps.iter().find(|step| step.change.key() == key);
        if let Some(step) = self.changes().filter_map(|change| own(change.key())).find(|step| step.role == Role::Record)
        {
            return Err(format!("{} stands where an ownership record of the same change belongs", step.change.key()));
        }
        self.before.retain(|change| own(change.key()).is_none());
        self.after.retain(|change| own(change.key()).is_none());
        let changed: BTreeSet<RecordKey> = self.changes().chain(group.changes()).map(|c| c.key().clone()).collect();
        let mut seen = BTreeSet::new();
        self.requires.retain(|set| !changed.contains(&set.key) && seen.insert(set.key.clone()));
        self.absent.retain(|key| !changed.contains(key) && seen.insert(key.clone()));
        Ok(())
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            changes: self.changes().map(Change::key).collect(),
            relies: self.requires.iter().map(|set| &set.key).chain(&self.absent).chain(&self.kept_free).collect(),
        }
    }

    pub(super) fn add_to(self, group: Group) -> Group {
        let before = self.before.into_iter().map(Step::claim);
        let after = self.after.into_iter().map(Step::claim);
        let steps = before.chain(group.steps).chain(after).collect();
        let mut requires = group.requires;
        requires.extend(self.requires.into_iter().map(Precondition::Exact));
        requires.extend(self.absent.into_iter().map(Precondition::Absent));
        Group { steps, requires, ..group }
    }
}
