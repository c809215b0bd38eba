//! Whether a removal may rest on what was known of the cluster.
//!
//! In: what a write took away, and what objects ask for. Out: a broken rule, unless the plan was on its way already when the
//! view changed, or what it took away came unseen.

use std::collections::BTreeSet;
use std::time::Duration;

use zonewright_core::{RecordData, RecordKey, RecordSet, RecordType};

use super::judge::Judged;
use super::{Right, Truth};
use crate::cluster::{Ask, Sight};
use crate::names::{ADDRESSES, is_record};
use crate::rules::Rule;

/// The longest time from a plan to its last write: three attempts of a call, each until its deadline, and the pauses between.
pub(super) const ON_ITS_WAY: Duration = Duration::from_secs(200);

impl Truth {
    /// The zone of the same instance that a record belongs to.
    fn home(&self, step: &Judged<'_>) -> usize {
        self.zone_of(self.zones[step.zone].instance(), &step.key.name)
    }

    /// How long a plan may have been on its way: no longer than since every daemon was at rest, and no longer than the
    /// attempts of one call take.
    pub(super) fn patience(&self) -> Duration {
        if self.calm { Duration::ZERO } else { self.rested.elapsed().min(ON_ITS_WAY) }
    }

    /// The same in a zone. A daemon that calls itself at rest does not speak of one that has left the list, where its last call may be on its way.
    fn patience_in(&self, zone: usize) -> Duration {
        if self.missing.contains(&zone) { ON_ITS_WAY } else { self.patience() }
    }

    /// An object that asks for another type now keeps what it had until the other one stands. Where nothing holds a write
    /// together, a CNAME has to wait until what it excludes is gone.
    /// `crossed` is whether somebody changed the name since it was listed.
    pub(super) fn judge_replacement(&mut self, step: &Judged<'_>, right: &Right, sight: &Sight, crossed: bool) {
        let key = step.key;
        let Right::One { resource: Some(resource), .. } = right else { return };
        let instead = sight.asks_instead(key, Some(resource));
        // A CNAME yields to what others ask for beside it, and where it alone would take the place, to what its own object does.
        let (own, others): (Vec<Ask>, Vec<Ask>) =
            sight.asks_beside(key).into_iter().partition(|ask| ask.label == *resource);
        let alone = instead.iter().all(|rtype| *rtype == RecordType::Cname || !ADDRESSES.contains(rtype));
        let beside = own.iter().any(|ask| !ADDRESSES.contains(&ask.key.rtype));
        let yields = instead.contains(&RecordType::Cname) && (!others.is_empty() || alone && beside);
        // Two clusters under one owner id speak of each other's objects.
        let sharing = self.parties.iter().filter(|party| party.owner == self.parties[step.daemon].owner).count() > 1;
        let waits = yields || sharing || self.profile.staged && instead.iter().any(|rtype| rtype.excludes(key.rtype));
        if !ADDRESSES.contains(&key.rtype) || !instead.iter().any(|rtype| ADDRESSES.contains(rtype)) || waits {
            return;
        }
        let rows = self.rows();
        let stands = |other: &RecordKey| ADDRESSES.contains(&other.rtype) && rows.same(other, key);
        let comes = self.zones[step.zone].sets.keys().any(|other| other != key && stands(other));
        // A delete demands nothing of the other types: somebody may just have taken what stood there.
        let excused = crossed || self.excused(step.daemon, step.zone, key);
        // What was written to the zone above, while this one was not listed, is replaced in the zone below.
        let elsewhere = self.home(step) != step.zone;
        // A CNAME may be on its way for which this had to go first, though its object asks for something else by now.
        let cleared = self.profile.staged && sight.asks_for_another_type(key, self.patience());
        // Or a plan, of the time in which the CNAME yielded to what was asked for beside it.
        let yielded = instead.contains(&RecordType::Cname) && sight.asked_otherwise(key, self.patience());
        let otherwise = cleared || yielded || sight.asked_for_no_address(key, resource, self.patience());
        let unknown = !comes && (elsewhere || excused || otherwise);
        self.verdicts.note(Rule::Replacement, !unknown);
        if !comes && !unknown {
            let text =
                format!("daemon {}: {key} of {resource} is gone, and nothing of {instead:?} stands", step.daemon);
            self.broken(Rule::Replacement, text);
        }
    }

    /// Who holds a record beside the one that goes, or held that one, or another one that goes with it.
    fn holders(&mut self, step: &Judged<'_>, label: Option<&str>) -> BTreeSet<String> {
        let rows = self.rows();
        let standing = self.zones[step.zone].sets.keys().filter(|key| rows.same(key, step.key) && is_record(key));
        let standing: Vec<RecordKey> = standing.cloned().collect();
        let of = |key: &RecordKey| self.right(step.zone, key).resource().map(str::to_owned);
        let gone = step.held.iter().filter(|(key, _)| rows.same(key, step.key)).map(|(_, label)| label.clone());
        standing.iter().filter_map(of).chain(gone).chain(label.map(str::to_owned)).collect()
    }

    /// Who asks for what a record held of which no claim says who holds it: the one that goes, one beside it, or one that goes with it.
    fn holders_by_content(&mut self, step: &Judged<'_>, asks: &[Ask]) -> BTreeSet<String> {
        let rows = self.rows();
        let standing = self.zones[step.zone].sets.values().filter(|set| rows.same(&set.key, step.key));
        let mut unlabelled: Vec<RecordSet> = standing.filter(|set| is_record(&set.key)).cloned().collect();
        unlabelled.retain(|set| self.right(step.zone, &set.key).resource().is_none());
        unlabelled.extend(step.unlabelled.iter().filter(|set| rows.same(&set.key, step.key)).cloned());
        let asks_for = |ask: &&Ask| {
            let data = RecordData::records(ask.data.clone());
            let held = |set: &RecordSet| set.key.rtype == ask.key.rtype && set.data == data;
            unlabelled.iter().any(held)
        };
        asks.iter().filter(asks_for).map(|ask| ask.label.clone()).collect()
    }

    pub(super) fn judge_evidence(&mut self, step: &Judged<'_>, right: &Right, sight: &Sight, replaced: bool) {
        let Some(stood) = step.stood.filter(|_| step.was_ours) else { return };
        if step.stands.is_some_and(|stands| stands.data.contains(&stood.data)) {
            return;
        }
        let label = right.resource();
        let here = self.home(step) == step.zone;
        let asks = if here { sight.asks_beside(step.key) } else { Vec::new() };
        // Where a view only looks empty, an approval accepts that, for what it showed.
        let accepts =
            |label: Option<&str>| sight.only_looks_empty(label) && self.accepts_doubt(step, right, sight, label);
        let accepted = accepts(label);
        let doubtful = asks.iter().any(|ask| sight.is_doubtful(Some(&ask.label)) && !accepts(Some(&ask.label)));
        let mut verdicts = vec![(Rule::Doubt, doubtful)];
        if step.stands.is_none() {
            let gone = asks.iter().all(|ask| Some(&*ask.label) != label);
            verdicts.push((Rule::Doubt, gone && !accepted && sight.is_doubtful(label)));
            let asked = asks.iter().any(|ask| ask.key == *step.key) && {
                let holders = self.holders(step, label);
                let of_kinds = holders.union(&self.holders_by_content(step, &asks)).cloned().collect();
                stays_asked_for(step, label, [&holders, &of_kinds], &asks, sight)
            };
            verdicts.push((Rule::AskedFor, asked));
            let grace = self.parties[step.daemon].grace.saturating_sub(Duration::from_secs(3));
            verdicts.push((Rule::Pending, sight.is_pending(&step.key.name, label, grace)));
            let retained = matches!(right, Right::One { policy: Some(policy), .. } if policy != "sync");
            // Whose object is still there, and asks for that name in the zone below, says itself what stays.
            let gone = gone && sight.asks_beside(step.key).iter().all(|ask| Some(&*ask.label) != label);
            verdicts.push((Rule::Retained, retained && gone && !replaced));
        }
        // What somebody put there unseen cannot be spared where nothing can be demanded; and what changed while the plan was on
        // its way was not known to it.
        let unknown = verdicts.iter().any(|(_, wrong)| *wrong)
            && (self.excused(step.daemon, step.zone, step.key)
                || sight.changed_within(&step.key.name, self.patience_in(step.zone)));
        for (rule, wrong) in verdicts {
            self.verdicts.note(rule, !(wrong && unknown));
            if wrong && !unknown {
                let text = format!("daemon {} took from {stood}, of {}", step.daemon, label.unwrap_or("nobody"));
                self.broken(rule, text);
            }
        }
    }
}

/// Whether a record that goes stays asked for, given that somebody asks for it; `label` is whose it was. The first of `holders` hold
/// anything there by a claim, the second also by what they ask for, where no claim names anybody: of two kinds of one type the name has
/// that of a holder. A CNAME yields to what is asked for beside it, and to what is kept for an object without targets, unless its
/// holder asks for nothing else. An address yields to a CNAME where its holder does not ask for an address any more: the holder of
/// the name may have changed to the CNAME.
fn stays_asked_for(
    step: &Judged<'_>,
    label: Option<&str>,
    [holders, of_kinds]: [&BTreeSet<String>; 2],
    asks: &[Ask],
    sight: &Sight,
) -> bool {
    let key = step.key;
    let (cnames, others): (Vec<&Ask>, Vec<&Ask>) = asks.iter().partition(|ask| ask.key.rtype == RecordType::Cname);
    let by_holder = |asks: &[&Ask]| asks.iter().any(|ask| Some(&*ask.label) == label);
    let pending = sight.pending().contains(&key.name);
    let yields = if key.rtype == RecordType::Cname {
        let held = others.iter().any(|ask| holders.contains(&ask.label));
        pending || !others.is_empty() && (held || !by_holder(&cnames))
    } else {
        !cnames.is_empty() && !by_holder(&others)
    };
    let other_kind = |ask: &&Ask| sight.rows.other_kind(&ask.key, key);
    let yields = yields || asks.iter().filter(other_kind).any(|ask| of_kinds.contains(&ask.label));
    !yields
}
