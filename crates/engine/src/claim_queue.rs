//! The claims of a zone that are on their way to where today's settings put them, by name.

use std::collections::BTreeMap;

use zonewright_core::name::DnsName;
use zonewright_core::plan::NamePlan;
use zonewright_core::record::RecordKey;

type ByName = BTreeMap<DnsName, Vec<RecordKey>>;

/// The claims of a zone that are to be moved.
#[derive(Debug, Default)]
pub(crate) struct ClaimQueue {
    /// To be looked at in this pass over the zone.
    due: ByName,
    /// Moved a step, to be looked at in the next pass.
    next: ByName,
    /// Not moved now: the policy forbids it, something is in the way, or the name is planned again first.
    left: ByName,
    /// The steps since the move began; `None` while there is none.
    steps: Option<usize>,
    /// What is in the way of one of those left.
    hindrance: Option<String>,
    /// What was reported of that last.
    reported: Option<String>,
}

impl ClaimQueue {
    /// Takes over what the plans of `names` found.
    pub(crate) fn found(&mut self, names: &[DnsName], plans: &[NamePlan]) {
        for name in names {
            self.due.remove(name);
            self.next.remove(name);
            self.left.remove(name);
        }
        for plan in plans {
            plan.upgrades.iter().for_each(|key| put(&mut self.due, key.clone()));
            plan.unmoved.iter().for_each(|key| put(&mut self.left, key.clone()));
        }
    }

    /// How many names there is something to do about now.
    pub(crate) fn due(&self) -> usize {
        self.due.len() + self.next.len()
    }

    /// Number of names, with those that are not moved now.
    pub(crate) fn len(&self) -> usize {
        self.due() + self.left.len()
    }

    /// Takes the keys of the next names, about so many.
    pub(crate) fn take(&mut self, most: usize) -> Vec<RecordKey> {
        if self.due.is_empty() {
            self.due = std::mem::take(&mut self.next);
        }
        let mut keys = Vec::new();
        while keys.len() < most
            && let Some((_, some)) = self.due.pop_first()
        {
            keys.extend(some);
        }
        keys
    }

    /// Number of claims.
    pub(crate) fn count(&self) -> usize {
        [&self.due, &self.next, &self.left].into_iter().flat_map(BTreeMap::values).map(Vec::len).sum()
    }

    /// A claim that is to be looked at in the next pass.
    pub(crate) fn later(&mut self, key: RecordKey) {
        put(&mut self.next, key);
    }

    /// A claim that is not moved now.
    pub(crate) fn leave(&mut self, key: RecordKey) {
        put(&mut self.left, key);
    }

    /// Of the claims that are not moved now, those are forgotten whose records are gone.
    pub(crate) fn retain_left(&mut self, stands: impl Fn(&RecordKey) -> bool) {
        self.left.retain(|_, keys| {
            keys.retain(&stands);
            !keys.is_empty()
        });
    }

    /// Notes what is in the way of one of those left, where that is not known of another.
    pub(crate) fn hinder(&mut self, why: impl FnOnce() -> Option<String>) {
        if self.hindrance.is_none() {
            self.hindrance = why();
        }
    }

    /// So many groups are about to be sent. Returns the number of claims to move, where the move begins with them.
    pub(crate) fn begin_step(&mut self, groups: usize) -> Option<usize> {
        if groups == 0 {
            return None;
        }
        let begins = self.steps.is_none().then(|| self.count() + groups);
        *self.steps.get_or_insert(0) += groups;
        begins
    }

    /// They were sent. Returns what there is to say, if nothing is left to do now.
    pub(crate) fn end_step(&mut self) -> MoveEnd {
        if self.due() > 0 {
            return MoveEnd::default();
        }
        let hindrance = self.hindrance.take().filter(|why| self.reported.as_ref() != Some(why));
        if hindrance.is_some() {
            self.reported.clone_from(&hindrance);
        }
        MoveEnd { steps: self.steps.take(), left: self.left.values().map(Vec::len).sum(), hindrance }
    }
}

/// What there is to say of a move of claims that is over.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MoveEnd {
    /// The steps that it took; `None` where there was none.
    pub(crate) steps: Option<usize>,
    /// Number of claims that are not moved.
    pub(crate) left: usize,
    /// What is in the way of one of them, if that was not reported before.
    pub(crate) hindrance: Option<String>,
}

fn put(keys: &mut ByName, key: RecordKey) {
    let some = keys.entry(key.name.clone()).or_default();
    if !some.contains(&key) {
        some.push(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::testing::set;

    #[test]
    fn a_move_goes_name_by_name_and_says_once_what_is_in_the_way() {
        let [a, b] = ["a.example A 192.0.2.1", "b.example A 192.0.2.1"].map(|text| set(text).key);
        let mut queue = ClaimQueue::default();
        queue.later(a.clone());
        queue.later(b.clone());
        assert_eq!(queue.take(1), std::slice::from_ref(&a), "the next pass begins where nothing is due");
        assert_eq!(queue.begin_step(1), Some(2));
        assert_eq!(queue.end_step(), MoveEnd::default(), "the other is still due");
        assert_eq!(queue.take(9), std::slice::from_ref(&b));
        assert_eq!(queue.begin_step(1), None, "the move goes on");
        queue.leave(a.clone());
        queue.hinder(|| Some("no room".to_owned()));
        let end = MoveEnd { steps: Some(2), left: 1, hindrance: Some("no room".to_owned()) };
        assert_eq!(queue.end_step(), end);
        queue.hinder(|| Some("no room".to_owned()));
        assert_eq!(queue.end_step(), MoveEnd { steps: None, left: 1, hindrance: None });
        queue.retain_left(|key| *key != a);
        assert_eq!((queue.len(), queue.count()), (0, 0));
    }
}
