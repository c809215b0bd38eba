//! What happens: one step of somebody. How it is drawn is in `dice`, and how it is told in `words`.

mod dice;
mod words;

use zonewright_core::plan::Policy;
use zonewright_core::{DnsName, RData, RecordKey, RecordType};

use crate::cluster::{Id, Sees, Spec};
use crate::line::Mood;

pub(crate) use self::dice::{Dice, OBJECTS};

/// What a human does to one record or to what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ManualEdit {
    /// Puts a record there, or another one in its place.
    Write(RData),
    /// Adds a member to it.
    Add(RData),
    /// Takes it away.
    Remove,
    /// Takes its claim away.
    Disown,
    /// Writes another owner into its claim.
    Assign(&'static str),
    /// Takes the object out of its claim.
    Unlabel,
    /// Adds a text beside its claim.
    Remark,
    /// Adds a foreign claim beside it.
    Dispute,
    /// Damages its claim.
    Scribble,
    /// Puts its claim where external-dns wrote it before 2022: at a name without the type; and whether an AAAA record of somebody comes
    /// beside an A record in that very moment, of which such a claim says nothing.
    Age(bool),
}

/// What happens in the very moment in which an object changes the kind of its sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meanwhile {
    Nothing,
    /// A human takes its first record away.
    Robbed,
    /// And writes a text beside the claim that is left.
    Remarked,
    /// The other objects with sets at its names are gone from a new list.
    Alone,
    /// And so is it, and another object asks for its sets.
    Succeeded(Id),
}

/// The flags of a daemon that may differ at its next start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) sees: Sees,
    pub(crate) policy: Policy,
    /// Whether `n0.one.test` is excluded.
    pub(crate) narrow: bool,
    /// Whether claims stand at the other of two places.
    pub(crate) moved: bool,
}

impl Flags {
    pub(crate) fn of(policy: Policy) -> Self {
        Self { sees: Sees::ALL, policy, narrow: false, moved: false }
    }
}

/// A command of a person for the owner of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Adopt,
    Transfer(DnsName, &'static str),
    Release(DnsName),
    Drain(DnsName),
    /// What was done within so many seconds.
    Undo(u64),
}

/// Which hash somebody approves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// That of one of the plans that are held, by its number.
    One(usize),
    /// One that was held at some time, by its number among all of them.
    Former(usize),
    /// One that never was.
    Wrong,
}

/// What becomes of the many objects of a large cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crowd {
    /// So many in a hundred are gone from a new list.
    Vanish(usize),
    /// So many in a hundred are deleted.
    Delete(usize),
    /// All are there again.
    Back,
    /// All have other addresses.
    Move,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Put(usize, Id, Spec),
    Blank(usize, Id),
    /// What an object asks for with identifiers is weighted from now on, or no longer.
    Reweigh(usize, Id, Meanwhile),
    /// An object asks for one more set, weighted or not as they are, beside the first one of another object.
    Join(usize, Id, Id),
    /// An object asks for addresses of the other family.
    Turn(usize, Id),
    Delete(usize, Id),
    Vanish(usize, Id),
    LoseWatch(usize, usize),
    Empty(usize, usize, bool),
    Mend(usize, usize),
    Human(RecordKey, ManualEdit),
    PeerRequest(RecordKey, Option<RData>),
    PeerList,
    PeerApply,
    Restart(usize),
    Crash(usize),
    Clock(usize, i64),
    Approve(usize, Pick),
    Crowd(Crowd),
    LoseZone(usize),
    Flags(usize, Flags),
    State(usize, Mood),
    RefuseType(RecordType),
    Command(usize, Command),
    Refuse(DnsName),
    Relent,
    Wait(u64),
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// Whether the next step comes before the daemons are at rest.
    pub(crate) hasty: bool,
    /// Whether calls may fail.
    pub(crate) rough: bool,
    /// What faults and pauses are drawn from.
    pub(crate) nonce: u64,
}
