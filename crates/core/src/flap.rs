//! Names that another writer keeps changing back.
//!
//! In come foreign changes (a record set or claim that was ours stands otherwise than we left it), repairs and the time; out
//! goes whether a name is fought over, by whom, and when it may be repaired again. What must hold: three foreign changes of
//! one name within ten minutes begin a fight; while it lasts nothing is deleted at the name and a repair goes at most once in
//! five minutes; an hour without a foreign change ends it. No other name is concerned.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::claim::OwnerId;
use crate::clock::Timestamp;
use crate::name::DnsName;

/// So many foreign changes ...
const CHANGES: usize = 3;
/// ... within this time begin a fight.
const WITHIN: Duration = Duration::from_mins(10);
/// What is seen within this time is one change.
const TOGETHER: Duration = Duration::from_secs(1);
/// Least time between two repairs of a name that is fought over.
const REPAIR: Duration = Duration::from_mins(5);
/// So long without a foreign change ends a fight.
const CALM: Duration = Duration::from_hours(1);

/// Who changed a name, as far as its claims show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suspect {
    /// The owner of a foreign claim that stands there.
    Owner(OwnerId),
    /// A claim under our own owner id that we did not write stands there.
    SameOwner(OwnerId),
    /// No claim but ours stands there.
    Unknown,
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(owner) => write!(f, "owner {owner}"),
            Self::SameOwner(owner) => write!(f, "another writer under the owner id {owner}"),
            Self::Unknown => f.write_str("an unknown writer"),
        }
    }
}

/// A name that is fought over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fight {
    /// When it began.
    pub since: Timestamp,
    /// The last foreign change.
    pub last: Timestamp,
    /// Who is on the other side, by the last change that shows it.
    pub suspect: Suspect,
    /// When the name may be repaired again.
    pub repair: Timestamp,
}

impl fmt::Display for Fight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} keeps changing it; nothing is deleted there, and it is repaired at most once in {}, until {} pass without \
             such a change",
            self.suspect,
            crate::duration::show(REPAIR),
            crate::duration::show(CALM)
        )
    }
}

/// What is remembered of one name.
#[derive(Debug, Clone, Default)]
struct Track {
    /// The last foreign changes, at most [`CHANGES`].
    changes: Vec<Timestamp>,
    /// When we last wrote the name, if that was after a foreign change.
    repaired: Option<Timestamp>,
    fight: Option<Fight>,
}

/// The names of one zone with their foreign changes.
#[derive(Debug, Clone, Default)]
pub struct ContestedNames {
    tracks: BTreeMap<DnsName, Track>,
}

impl ContestedNames {
    /// Notes a foreign change of `name`. Returns whether a fight begins with it.
    pub fn changed(&mut self, name: &DnsName, suspect: Suspect, now: Timestamp) -> bool {
        let track = self.tracks.entry(name.clone()).or_default();
        track.changes.retain(|at| at.plus(WITHIN) > now);
        // A record and its claim that change together are one change.
        if track.changes.last().is_none_or(|last| last.plus(TOGETHER) <= now) {
            track.changes.push(now);
        }
        if let Some(fight) = &mut track.fight {
            fight.last = now;
            if suspect != Suspect::Unknown {
                fight.suspect = suspect;
            }
            return false;
        }
        let begins = track.changes.len() >= CHANGES;
        if begins {
            let repair = track.repaired.map_or(now, |at| at.plus(REPAIR).max(now));
            track.fight = Some(Fight { since: now, last: now, suspect, repair });
        }
        begins
    }

    /// Notes that `name` was written by us; only a name that is fought over has to wait for the next time.
    pub fn repaired(&mut self, name: &DnsName, now: Timestamp) {
        let Some(track) = self.tracks.get_mut(name) else { return };
        track.repaired = Some(now);
        if let Some(fight) = &mut track.fight {
            fight.repair = now.plus(REPAIR);
        }
    }

    /// The fight over `name`, if there is one.
    pub fn fight(&self, name: &DnsName) -> Option<&Fight> {
        self.tracks.get(name)?.fight.as_ref()
    }

    /// Number of names of which anything is remembered.
    pub fn len(&self) -> usize {
        self.tracks.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }

    /// Every name that is fought over.
    pub fn fights(&self) -> impl Iterator<Item = (&DnsName, &Fight)> {
        self.tracks.iter().filter_map(|(name, track)| Some((name, track.fight.as_ref()?)))
    }

    /// Forgets what is too old to matter. Returns the names whose fight ended.
    pub fn calm(&mut self, now: Timestamp) -> Vec<DnsName> {
        let mut ended = Vec::new();
        for (name, track) in &mut self.tracks {
            track.changes.retain(|at| at.plus(WITHIN) > now);
            if track.fight.take_if(|fight| fight.last.plus(CALM) <= now).is_some() {
                ended.push(name.clone());
            }
        }
        self.tracks.retain(|_, track| track.fight.is_some() || !track.changes.is_empty());
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::name;

    /// One thing that happens at a minute.
    enum Event {
        /// A foreign change of `x`.
        Foreign,
        /// One of `y`.
        Other,
        /// Our repair of `x`.
        Repair,
    }

    use Event::{Foreign, Other, Repair};

    fn at(minute: i64) -> Timestamp {
        Timestamp(minute * 60_000)
    }

    /// Whether `x` is fought over at a minute after these events, and from which minute on it may be repaired.
    fn check(events: &[(i64, Event)], minute: i64, expected: Option<i64>) {
        let mut flaps = ContestedNames::default();
        let (x, y) = (name("x.example"), name("y.example"));
        for (minute, event) in events {
            flaps.calm(at(*minute));
            match event {
                Foreign => drop(flaps.changed(&x, Suspect::Unknown, at(*minute))),
                Other => drop(flaps.changed(&y, Suspect::Unknown, at(*minute))),
                Repair => flaps.repaired(&x, at(*minute)),
            }
        }
        flaps.calm(at(minute));
        assert_eq!(flaps.fight(&x).map(|fight| fight.repair), expected.map(at), "at minute {minute}");
    }

    #[test]
    fn three_changes_within_ten_minutes_begin_a_fight() {
        check(&[(0, Foreign), (1, Foreign)], 1, None);
        check(&[(0, Foreign), (1, Foreign), (9, Foreign)], 9, Some(9));
        check(&[(0, Foreign), (1, Foreign), (10, Foreign)], 10, None);
        check(&[(0, Foreign), (2, Foreign), (10, Foreign), (11, Foreign)], 11, Some(11));
        // A record and its claim.
        check(&[(0, Foreign), (1, Foreign), (1, Foreign)], 1, None);
        check(&[(0, Foreign), (6, Foreign), (12, Foreign), (18, Foreign)], 18, None);
        check(&[(0, Foreign), (1, Foreign), (2, Other)], 2, None);
        check(&[(0, Foreign), (1, Repair), (1, Foreign), (2, Repair)], 2, None);
    }

    #[test]
    fn a_repair_waits_for_five_minutes_after_the_last() {
        let fight = || vec![(0, Foreign), (1, Foreign), (2, Foreign)];
        let with = |more: Vec<(i64, Event)>| fight().into_iter().chain(more).collect::<Vec<_>>();
        check(&[(0, Foreign), (0, Repair), (1, Foreign), (1, Repair), (2, Foreign)], 2, Some(6));
        check(&[(0, Foreign), (0, Repair), (6, Foreign), (9, Foreign)], 9, Some(9));
        check(&with(vec![(2, Repair)]), 3, Some(7));
        check(&with(vec![(2, Repair), (3, Foreign)]), 3, Some(7));
        check(&with(vec![(2, Repair), (7, Repair)]), 8, Some(12));
    }

    #[test]
    fn an_hour_without_a_change_ends_it() {
        let fight = || vec![(0, Foreign), (1, Foreign), (2, Foreign)];
        check(&fight(), 61, Some(2));
        check(&fight(), 62, None);
        let again = || fight().into_iter().chain([(30, Foreign)]).collect::<Vec<_>>();
        check(&again(), 89, Some(2));
        check(&again(), 90, None);
        let after = fight().into_iter().chain([(62, Foreign)]).collect::<Vec<_>>();
        check(&after, 62, None);
    }

    #[test]
    fn the_suspect_is_the_last_one_that_is_known() {
        let mut flaps = ContestedNames::default();
        let (x, other) = (name("x.example"), Suspect::Owner(OwnerId::new("other").unwrap()));
        assert!(!flaps.changed(&x, Suspect::Unknown, at(0)));
        assert!(!flaps.changed(&x, Suspect::Unknown, at(1)));
        assert!(flaps.changed(&x, Suspect::Unknown, at(2)), "it begins once");
        assert!(!flaps.changed(&x, other.clone(), at(3)));
        assert!(!flaps.changed(&x, Suspect::Unknown, at(4)));
        assert_eq!(flaps.fight(&x).map(|fight| &fight.suspect), Some(&other));
        assert_eq!(flaps.fights().count(), 1);
        assert_eq!(flaps.calm(at(64)), [x], "its end is reported once");
        assert!(flaps.calm(at(65)).is_empty() && flaps.tracks.is_empty());
    }
}
