//! The inverse of a stretch of the journal, folded per record key.
//!
//! In: entries of one zone, the newest first, each with what became of it; then what stands there now. Out: groups of
//! changes that lead from there to what stood before the oldest entry. What must hold: nothing is touched but what is
//! exactly as we left it; what was changed together (a record and its claim, a record and what took its place) goes back
//! together or not at all. Where another writer changed a record between two entries, it goes back to what they made of it:
//! what lies before is no longer ours to bring back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use zonewright_core::change::{Change, Group, Precondition, Role, Step};
use zonewright_core::endpoint::ObjectRef;
use zonewright_core::intent::{Announced, Intent};
use zonewright_core::name::DnsName;
use zonewright_core::rdata::{RData, Txt};
use zonewright_core::record::{RecordData, RecordKey, RecordSet};

use super::entry::{Entry, EntryResult, EntryStep};
use super::handover::{Handover, line};
use super::terms::ClaimTerms;
use super::transfer::OwnershipTransfer;

/// What became of one key over the stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Whether it is a claim.
    pub claim: bool,
    /// What we left there.
    pub left: Option<RecordSet>,
    /// What stood there before.
    pub before: Option<RecordSet>,
    /// What its claim said when we left it.
    pub terms_left: ClaimTerms,
    /// What its claim said before.
    pub terms_before: ClaimTerms,
}

/// Keys that go back together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// Each key with what became of it.
    pub spans: BTreeMap<RecordKey, Span>,
    /// Records whose claims changed hands, and what these said.
    pub handed: BTreeMap<RecordKey, OwnershipTransfer>,
    /// The names that the entries were about.
    pub names: BTreeSet<DnsName>,
    /// The objects behind them.
    pub objects: BTreeSet<ObjectRef>,
    /// A change by another writer lies before the oldest entry that counts: it is what comes back.
    pub cut: bool,
    /// An entry of which it is not known what became of it: nothing is done before it is.
    pub open: bool,
}

/// Why something cannot go back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoRefusal {
    /// Something else stands there than what we left.
    Changed {
        /// The key.
        key: RecordKey,
        /// What stands there.
        stands: Option<Box<RecordSet>>,
    },
    /// What stood there before stands there already.
    Back,
    /// It is not known yet what became of the last change.
    Open,
    /// What stands there is not ours any more.
    NotOurs(String),
    /// The name or type is not looked after here any more.
    OutOfScope,
    /// A record and the claim on it, which is kept elsewhere, have both changed: they go back one after the other.
    Both(RecordKey),
    /// The policy does not allow it.
    Policy(&'static str),
    /// No such zone is served now.
    NoZone(String),
}

impl fmt::Display for UndoRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { key, stands: None } => write!(f, "changed since by another writer: {key} is gone"),
            Self::Changed { stands: Some(set), .. } => write!(f, "changed since by another writer: {set} stands there"),
            Self::Back => f.write_str("it is as it was before already"),
            Self::Open => f.write_str("it is not known yet what became of the last change; try again in a minute"),
            Self::NotOurs(who) => write!(f, "it is not ours: {who}"),
            Self::OutOfScope => f.write_str("the name or its record type is outside the filters now"),
            Self::Both(key) => write!(
                f,
                "{key} and the owner of its claim have both changed, and the registry keeps the claim elsewhere: undo the plans \
                 one by one, the newest first (zonewright undo --plan HASH)"
            ),
            Self::Policy(what) => write!(f, "the policy allows no {what}"),
            Self::NoZone(zone) => write!(f, "zone {zone} is not served now"),
        }
    }
}

/// Takes in entries, the newest first.
#[derive(Debug, Default)]
pub struct Fold {
    groups: Vec<Folded>,
    /// Where each key is.
    places: BTreeMap<RecordKey, usize>,
    /// What the oldest entry so far found at each key.
    found: BTreeMap<RecordKey, Option<RecordSet>>,
    /// Keys whose older entries do not count.
    cut: BTreeSet<RecordKey>,
}

impl Fold {
    /// Takes in the next older entry.
    pub fn take(&mut self, entry: &Entry, verdict: Option<EntryResult>) {
        let applied = match verdict {
            Some(EntryResult::Applied) => true,
            None | Some(EntryResult::Unknown) => false,
            // Nothing of it stood; what did is for the entries around it to fit.
            Some(
                EntryResult::Refused | EntryResult::NotSent | EntryResult::NotApplied | EntryResult::SomethingElse,
            ) => return,
        };
        let steps: Vec<(&RecordKey, &EntryStep)> =
            entry.steps.iter().filter_map(|step| Some((step.key()?, step))).collect();
        let keys: Vec<&RecordKey> =
            steps.iter().map(|(key, _)| *key).chain(entry.handed.iter().map(|one| &one.key)).collect();
        let fits = steps.iter().all(|(key, step)| self.follows(key, step.to.as_ref()))
            && entry.handed.iter().all(|one| self.hands_on(one));
        if keys.iter().any(|key| self.cut.contains(*key)) || !fits {
            self.cut(&keys);
            return;
        }
        let at = self.place(&keys);
        let Some(group) = self.groups.get_mut(at) else { return };
        group.open |= !applied;
        group.names.insert(entry.name.clone());
        group.objects.extend(entry.objects.iter().cloned());
        for (key, step) in steps {
            let span = group.spans.entry(key.clone()).or_insert_with(|| Span {
                claim: step.claim,
                left: step.to.clone(),
                before: None,
                terms_left: step.has.clone(),
                terms_before: ClaimTerms::default(),
            });
            span.before.clone_from(&step.from);
            span.terms_before = step.had.clone();
            self.found.insert(key.clone(), step.from.clone());
        }
        for one in &entry.handed {
            let passed = group.handed.entry(one.key.clone()).or_insert_with(|| OwnershipTransfer {
                record: one.record.clone(),
                left: one.has.clone(),
                before: ClaimTerms::default(),
                bare: entry.steps.is_empty(),
                latest: !group.spans.contains_key(&one.key),
            });
            passed.before = one.had.clone();
            self.found.insert(one.key.clone(), one.record.clone());
        }
    }

    /// Whether what was left at a key is what the next newer entry found there.
    fn follows(&self, key: &RecordKey, left: Option<&RecordSet>) -> bool {
        self.found.get(key).is_none_or(|found| meets(left, found.as_ref()))
    }

    /// Whether a claim was found by the next newer entry as this one left it.
    fn hands_on(&self, one: &Handover) -> bool {
        let newer = self.places.get(&one.key).and_then(|at| self.groups.get(*at)?.handed.get(&one.key));
        self.follows(&one.key, one.record.as_ref()) && newer.is_none_or(|newer| newer.before.owner == one.has.owner)
    }

    fn cut(&mut self, keys: &[&RecordKey]) {
        for key in keys {
            self.cut.insert((*key).clone());
            if let Some(group) = self.places.get(*key).and_then(|at| self.groups.get_mut(*at)) {
                group.cut = true;
            }
        }
    }

    /// The group of the keys: a new one, or all that they are in, joined.
    fn place(&mut self, keys: &[&RecordKey]) -> usize {
        let known: BTreeSet<usize> = keys.iter().filter_map(|key| self.places.get(*key).copied()).collect();
        let mut known = known.into_iter();
        let at = known.next().unwrap_or_else(|| {
            self.groups.push(Folded::default());
            self.groups.len() - 1
        });
        for other in known {
            let joined = self.groups.get_mut(other).map(std::mem::take).unwrap_or_default();
            for key in joined.spans.keys().chain(joined.handed.keys()) {
                self.places.insert(key.clone(), at);
            }
            if let Some(group) = self.groups.get_mut(at) {
                group.spans.extend(joined.spans);
                group.handed.extend(joined.handed);
                group.names.extend(joined.names);
                group.objects.extend(joined.objects);
                group.cut |= joined.cut;
                group.open |= joined.open;
            }
        }
        for key in keys {
            self.places.insert((*key).clone(), at);
        }
        at
    }

    /// Whatever does not stand as it stood before, ordered by name.
    pub fn finish(self) -> Vec<Folded> {
        let moved = |group: &Folded| {
            group.spans.values().any(|span| span.left != span.before) || group.passed().next().is_some()
        };
        let mut groups: Vec<Folded> = self.groups.into_iter().filter(moved).collect();
        groups.sort_by(|a, b| (a.name(), a.key()).cmp(&(b.name(), b.key())));
        groups
    }
}

/// Whether what is found is what was left: the TTL may have been left to the provider.
pub(super) fn meets(left: Option<&RecordSet>, found: Option<&RecordSet>) -> bool {
    match (left, found) {
        (None, None) => true,
        (Some(left), Some(found)) => left.is_met_by(found),
        _ => false,
    }
}

impl Folded {
    /// The first key, of a record if there is one.
    pub fn key(&self) -> Option<&RecordKey> {
        self.records().map(|(key, _)| key).chain(self.handed.keys()).chain(self.spans.keys()).next()
    }

    /// The records whose claims belong to another owner now than before.
    pub fn passed(&self) -> impl Iterator<Item = (&RecordKey, &OwnershipTransfer)> {
        self.handed.iter().filter(|(_, passed)| passed.left.owner != passed.before.owner)
    }

    /// What an undo does with those claims, as people read it.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.passed().map(|(key, passed)| line(key, &passed.left, &passed.before))
    }

    /// The name that the group is about: that of its first record, else of its first claim.
    pub fn name(&self) -> Option<&DnsName> {
        self.records().map(|(key, _)| &key.name).next().or_else(|| self.names.first())
    }

    /// The records, without their claims.
    pub fn records(&self) -> impl Iterator<Item = (&RecordKey, &Span)> {
        self.spans.iter().filter(|(_, span)| !span.claim)
    }

    /// The group that brings back what stood before; `stands` gives what stands there now.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn inverse(&self, stands: impl Fn(&RecordKey) -> Option<RecordSet>) -> Result<Group, UndoRefusal> {
        if self.open {
            return Err(UndoRefusal::Open);
        }
        let restored = |span: &Span| if span.claim { self.finished(span, &stands) } else { span.before.clone() };
        let mut now: Vec<(&RecordKey, &Span, Option<RecordSet>, Option<RecordSet>)> =
            self.spans.iter().map(|(key, span)| (key, span, restored(span), stands(key))).collect();
        // What people look at comes first.
        now.sort_by_key(|(_, span, ..)| span.claim);
        if !now.is_empty() && now.iter().all(|(_, _, before, stands)| meets(before.as_ref(), stands.as_ref())) {
            return Err(UndoRefusal::Back);
        }
        let (mut steps, mut stored, mut requires) = (Vec::new(), Vec::new(), Vec::new());
        for (key, span, before, stands) in now {
            if !meets(span.left.as_ref(), stands.as_ref()) {
                return Err(UndoRefusal::Changed { key: key.clone(), stands: stands.map(Box::new) });
            }
            match (stands, before) {
                (None, None) => requires.push(Precondition::Absent(key.clone())),
                (Some(from), Some(to)) if to.is_met_by(&from) => requires.push(Precondition::Exact(from)),
                (from, to) => steps.extend(change(from, to).map(|change| span.step(change))),
            }
        }
        self.hand_back(&stands, &mut stored, &mut requires)?;
        // What goes makes room for what comes.
        steps.sort_by_key(|step| matches!(step.change, Change::Create { .. }));
        let Some(name) = self.name().cloned() else { return Err(UndoRefusal::Back) };
        Ok(Group { name, steps, stored, requires, objects: self.objects.iter().cloned().collect() })
    }

    /// The claims of a span as they stood, without a write half done: an intent comes back as the claim that it announced where its record
    /// stands, or comes back with it; else it spoke for nothing, and does not.
    fn finished(&self, span: &Span, stands: impl Fn(&RecordKey) -> Option<RecordSet>) -> Option<RecordSet> {
        let before = span.before.clone()?;
        let record = |announced: &Announced| {
            let (name, rtype, set_id) = (announced.name.clone(), announced.rtype, before.key.set_id.clone());
            let key = RecordKey { name, rtype, set_id };
            self.spans.get(&key).map_or_else(|| stands(&key), |span| span.before.clone())
        };
        let speaks = |intent: &Intent| intent.records.iter().filter_map(record).any(|record| intent.covers(&record));
        let member = |data: &RData| match Intent::of(data) {
            Some(intent) => speaks(&intent).then(|| RData::Txt(Txt::from_text(&intent.claim))),
            None => Some(data.clone()),
        };
        let members: Vec<RData> = before.data.as_records().iter().filter_map(member).collect();
        (!members.is_empty()).then(|| RecordSet { data: RecordData::records(members), ..before })
    }
}

fn change(from: Option<RecordSet>, to: Option<RecordSet>) -> Option<Change> {
    EntryStep { claim: false, from, to, had: ClaimTerms::default(), has: ClaimTerms::default() }.change()
}

impl Span {
    fn step(&self, change: Change) -> Step {
        let terms = if change.to().is_some() { &self.terms_before } else { &self.terms_left };
        Step {
            role: if self.claim { Role::Claim } else { Role::Record },
            resource: terms.resource.clone(),
            labels: terms.labels.clone(),
            held: change.from().and_then(|_| self.terms_left.claim()),
            owner: self.terms_before.owner.clone().filter(|_| change.to().is_some()),
            change,
        }
    }
}
