//! What processes wrote lately: where a write needs several steps, some of it may be taken back or put back.
//!
//! In: each write that was judged. Out: whether a later one only undoes what the same process, or another one of its owner, has done.

use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::capability::CreateMode;
use zonewright_core::{RData, RecordData, RecordKey, RecordSet};

use super::judge::{Judged, members};
use super::{Author, Truth};

/// How long it is remembered what a daemon added or took away.
pub(super) const LATELY: Duration = Duration::from_mins(2);

/// Remembers members for a while.
fn note<'a>(own: &mut Vec<(RData, Instant)>, members: impl Iterator<Item = &'a RData>) {
    own.retain(|(_, at)| at.elapsed() < LATELY);
    own.extend(members.map(|data| (data.clone(), Instant::now())));
}

impl Truth {
    /// Whether a write only takes back what the same daemon added lately: where a write needs several steps, a later one
    /// may fail. What stays there stays as it is, and nothing comes but what it took away in the same course.
    pub(super) fn takes_back(&self, step: &Judged<'_>) -> bool {
        let (stood, stands) = (members(step.stood), members(step.stands));
        let ttl = |set: &RecordSet| set.ttl;
        if step.stands.is_some_and(|stands| step.stood.map(ttl) != Some(stands.ttl)) {
            return false;
        }
        let at = (step.daemon, step.key.clone());
        let (added, removed) = (self.added.get(&at), self.removed.get(&at));
        let is_among = |own: Option<&Vec<(RData, Instant)>>, data: &RData| {
            own.is_some_and(|own| own.iter().any(|(was, _)| was == data))
        };
        let mut gone = stood.iter().filter(|data| !stands.contains(data)).peekable();
        let mut came = stands.iter().filter(|data| !stood.contains(data));
        self.profile.staged
            && gone.peek().is_some()
            && gone.all(|data| is_among(added, data))
            && came.all(|data| is_among(removed, data))
    }

    /// Whether processes under the daemon's owner wrote lately all that stood there: where a write needs several steps, one of
    /// them may put a record back while another one has its claim in hand. Where claims are in objects, one that was refused
    /// takes back what another one has announced in the same words, until that one confirms it.
    pub(super) fn is_of_our_owner(&self, step: &Judged<'_>) -> bool {
        let owner = &self.parties[step.daemon].owner;
        let of_owner = |data: &RData| {
            let mut added =
                self.added.iter().filter(|((who, key), _)| key == step.key && self.parties[*who].owner == *owner);
            added.any(|(_, own)| own.iter().any(|(was, _)| was == data))
        };
        let stood = members(step.stood);
        (self.profile.staged || self.objects.is_some()) && !stood.is_empty() && stood.iter().all(of_owner)
    }

    /// Whether a listing left out a record that processes of the daemon's owner wrote last, so that it is to be made anew.
    pub(super) fn looks_gone(&self, step: &Judged<'_>) -> bool {
        let owner = &self.parties[step.daemon].owner;
        let last = self.last.get(&(step.zone, step.key.clone()));
        let ours = last.is_some_and(|(by, _)| matches!(by, Author::Daemon(who) if self.parties[*who].owner == *owner));
        ours && self.left_out.contains(&(step.daemon, step.zone, step.key.name.clone()))
    }

    /// Whether several processes write under this owner where nothing holds a write together, or a row does not tell which of
    /// them opened it: they take intents away from each other, which leaves records that nobody claims. So do those of two clusters
    /// where claims are in objects: one narrows a claim to the record that it deletes, while the other changes that record.
    pub(super) fn shares_owner(&self, daemon: usize) -> bool {
        let own = &self.parties[daemon];
        let rows = self.objects.as_ref().is_some_and(super::Objects::are_rows);
        let sharing = || self.parties.iter().filter(|party| party.owner == own.owner);
        (self.profile.staged || rows) && sharing().count() > 1
            || self.objects.is_some() && sharing().any(|party| party.cluster != own.cluster)
    }

    /// Whether another process under the owner wrote the record lately, and still has to confirm its claim.
    pub(super) fn is_confirmed_by_another(&self, step: &Judged<'_>) -> bool {
        let owner = &self.parties[step.daemon].owner;
        let sharing = self.parties.iter().filter(|party| party.owner == *owner).count();
        (self.objects.is_some() || self.profile.staged)
            && sharing > 1
            && step.stood == step.stands
            && self.is_of_our_owner(step)
    }

    /// Whether a write only puts back what the same daemon took away lately, beside whatever stands there now.
    pub(super) fn puts_back(&self, step: &Judged<'_>) -> bool {
        let (stood, stands) = (members(step.stood), members(step.stands));
        let own = self.removed.get(&(step.daemon, step.key.clone()));
        let is_own = |data: &RData| own.is_some_and(|own| own.iter().any(|(was, _)| was == data));
        let mut came = stands.iter().filter(|data| !stood.contains(data)).peekable();
        self.profile.staged
            && stood.iter().all(|data| stands.contains(data))
            && came.peek().is_some()
            && came.all(is_own)
    }

    /// The shadow of a record set is from now on without what a daemon takes back.
    pub(super) fn lift_shadow(&mut self, step: &Judged<'_>) {
        let shadow = &mut self.zones[step.zone].shadow;
        let kept = members(step.stands);
        if let Some(was) = shadow.remove(step.key) {
            let left: Vec<RData> = was.data.as_records().iter().filter(|data| kept.contains(data)).cloned().collect();
            if !left.is_empty() {
                shadow.insert(step.key.clone(), RecordSet { data: RecordData::records(left), ..was });
            }
        }
    }

    /// The shadow of a record set is from now on with what a daemon puts back.
    pub(super) fn widen_shadow(&mut self, step: &Judged<'_>) {
        let shadow = &mut self.zones[step.zone].shadow;
        if let Some((was, stands)) = shadow.get_mut(step.key).zip(step.stands) {
            *was = stands.clone();
        }
    }

    /// The service refuses for good to take away what was added beside something foreign: it stays there, claimed by nobody.
    pub(crate) fn stays(&mut self, zone: usize, key: &RecordKey) {
        let content = &mut self.zones[zone];
        let additive = self.profile.capability.create == CreateMode::Additive;
        if let Some((was, stands)) = content.shadow.get_mut(key).zip(content.sets.get(key)).filter(|_| additive)
            && stands.data.contains(&was.data)
        {
            *was = stands.clone();
        }
    }

    /// Notes what a daemon added and took away.
    pub(super) fn note_members(&mut self, step: &Judged<'_>) {
        let (stood, stands) = (members(step.stood), members(step.stands));
        let own = (step.daemon, step.key.clone());
        note(self.added.entry(own.clone()).or_default(), stands.iter().filter(|data| !stood.contains(data)));
        note(self.removed.entry(own).or_default(), stood.iter().filter(|data| !stands.contains(data)));
    }
}
