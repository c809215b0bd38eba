//! How much a round or a pass changed, for metrics and for people.

use std::fmt;
use std::ops::{AddAssign, SubAssign};

use zonewright_core::change::{Change, Group};

/// Number of record sets that were changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Record sets that were not there before.
    pub created: usize,
    /// Record sets with another content or TTL than before.
    pub updated: usize,
    /// Record sets that are gone.
    pub deleted: usize,
    /// Claims that were changed without their record.
    pub claims: usize,
}

impl Changes {
    /// What a group changes.
    pub(crate) fn of(group: &Group) -> Self {
        let mut changes = Self::default();
        for step in group.records() {
            match step.change {
                Change::Create { .. } => changes.created += 1,
                Change::Update { .. } => changes.updated += 1,
                Change::Delete { .. } => changes.deleted += 1,
            }
        }
        changes.claims = usize::from(changes == Self::default());
        changes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Changes {
    fn add_assign(&mut self, other: Self) {
        self.created += other.created;
        self.updated += other.updated;
        self.deleted += other.deleted;
        self.claims += other.claims;
    }
}

impl SubAssign for Changes {
    fn sub_assign(&mut self, other: Self) {
        self.created -= other.created;
        self.updated -= other.updated;
        self.deleted -= other.deleted;
        self.claims -= other.claims;
    }
}

/// Numbers of a pass, or of a round in one zone, for people: `3 created, 0 updated, 1 deleted, 2 held, 1 refused, 4 left alone`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numbers {
    /// What was sent; in a dry run, what would have been.
    pub changes: Changes,
    /// Deletes that wait for an approval, or for evidence.
    pub held: usize,
    /// Names that were refused, or could not be written, and are tried again later.
    pub refused: usize,
    /// Record sets that are wanted or ours and stay as they are for another reason, which is reported to the object.
    pub left_alone: usize,
    /// Whether nothing was sent since this is a dry run.
    pub dry_run: bool,
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { changes, held, refused, left_alone, dry_run } = self;
        let Changes { created, updated, deleted, claims } = changes;
        if *dry_run {
            f.write_str("dry run, nothing was sent: ")?;
        }
        write!(f, "{created} created, {updated} updated, {deleted} deleted, ")?;
        write!(f, "{held} held, {refused} refused, {left_alone} left alone")?;
        if *claims > 0 {
            write!(f, ", {claims} claims changed")?;
        }
        Ok(())
    }
}
