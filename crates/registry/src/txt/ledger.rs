//! Which claims the groups of one round use, so that no two get in each other's way.
//!
//! In: the groups as they came, then the claims that each of them would change or rely on, one group after the other. Out:
//! a refusal for the later of two groups that meet in one claim. The groups are carried out in any order and each may fail
//! alone, so none may rest on another.

use std::collections::BTreeMap;

use zonewright_core::change::Group;
use zonewright_core::{DnsName, RecordKey, RecordType};

/// The claims that one group uses.
pub(super) struct Entry<'a> {
    /// Those that it changes.
    pub(super) changes: Vec<&'a RecordKey>,
    /// Those that have to stay as they are.
    pub(super) relies: Vec<&'a RecordKey>,
}

/// The first group that uses each record set: its position and name.
type Users = BTreeMap<RecordKey, (usize, DnsName)>;

/// Who uses what in this round.
pub(super) struct ClaimLedger {
    changed: Users,
    relied: Users,
}

impl ClaimLedger {
    /// Begins with what the groups change by themselves.
    pub(super) fn of(groups: &[Group]) -> Self {
        let mut changed = Users::new();
        for (index, group) in groups.iter().enumerate() {
            for change in group.changes() {
                changed.entry(change.key().clone()).or_insert_with(|| (index, group.name.clone()));
            }
        }
        Self { changed, relied: Users::new() }
    }

    /// Enters the claims of the group at `index`, unless another group is in the way.
    ///
    /// # Errors
    /// A sentence that names the claim and the other group.
    pub(super) fn admit(&mut self, index: usize, name: &DnsName, entry: Entry<'_>) -> Result<(), String> {
        for key in &entry.changes {
            check(&self.changed, index, key)?;
            check(&self.relied, index, key)?;
            // Beside a CNAME that comes in the same round some servers drop the claim without a word.
            check(&self.changed, index, &RecordKey { rtype: RecordType::Cname, ..(*key).clone() })?;
        }
        entry.relies.iter().try_for_each(|key| check(&self.changed, index, key))?;
        let user = || (index, name.clone());
        self.changed.extend(entry.changes.into_iter().map(|key| (key.clone(), user())));
        for key in entry.relies {
            self.relied.entry(key.clone()).or_insert_with(user);
        }
        Ok(())
    }
}

fn check(users: &Users, index: usize, key: &RecordKey) -> Result<(), String> {
    match users.get(key) {
        Some((other, name)) if *other != index => Err(format!(
            "its ownership record cannot be written: {key} is in use by the change of {name} in the same round"
        )),
        _ => Ok(()),
    }
}
