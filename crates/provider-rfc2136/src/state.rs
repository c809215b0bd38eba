//! States of zones: what a view was read of, and when it is not enough that the SOA says nothing changed.
//!
//! A serial number alone says little: independent primaries count each for themselves, and a zone file that is edited by hand,
//! or restored, may come back under the number that it had. So a state is a server, a serial number and a digest of the rest of
//! the SOA record. What even that does not show is found by the first precondition that a server refuses without an
//! explanation, and else by a transfer of the whole zone once in a long while.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::DnsName;
use zonewright_core::change::{Group, Precondition};
use zonewright_core::provider::Token;

use crate::transfer::Transferred;
use crate::wire::Soa;

/// A refused precondition has a zone transferred as a whole at most once in this time; what is refused meanwhile waits for it.
const BETWEEN: Duration = Duration::from_mins(1);
/// More refusals than these are not kept one by one.
const MOST: usize = 64;
/// How far a period may be shorter or longer, so that zones and processes do not all transfer at once.
const JITTER: f64 = 0.1;

/// What a view was read of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// [`crate::server::Server::label`].
    pub(crate) server: String,
    pub(crate) soa: Soa,
}

impl State {
    /// The state as text: server, serial number, digest.
    pub(crate) fn token(&self) -> Token {
        Token(format!("{} {} {:016x}", self.server, self.soa.serial, self.soa.rest))
    }

    /// Reads [`State::token`] back; `None` for any other text.
    pub(crate) fn parse(Token(token): &Token) -> Option<Self> {
        let mut words = token.split(' ');
        let (server, serial, rest) = (words.next()?, words.next()?, words.next()?);
        let soa = Soa { serial: serial.parse().ok()?, rest: u64::from_str_radix(rest, 16).ok()? };
        words.next().is_none().then(|| Self { server: server.to_owned(), soa })
    }
}

/// Names of which a precondition was refused; a change of any of them explains it.
type Refused = BTreeSet<DnsName>;

/// What speaks against believing that nothing changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Doubts {
    /// Nothing explains it: the zone is transferred as a whole.
    whole: bool,
    refused: Vec<Refused>,
}

impl Doubts {
    /// Whether the zone is to be transferred as a whole in any case.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether this news, which follows on `known`, explains all that was refused.
    pub(crate) fn are_explained_by(&self, news: &Transferred, known: Soa) -> bool {
        match news {
            Transferred::Full { .. } => true,
            Transferred::Current(soa) => *soa == known && self.refused.is_empty(),
            Transferred::Steps { soa, steps } => {
                let records = steps.iter().flat_map(|step| step.removed.iter().chain(&step.added));
                let touched: BTreeSet<&DnsName> = records.map(|record| &record.name).collect();
                let explained = |names: &Refused| names.iter().any(|name| touched.contains(name));
                soa.rest == known.rest && self.refused.iter().all(explained)
            }
        }
    }
}

/// When zones are transferred as a whole.
#[derive(Debug)]
pub(crate) struct Transfers {
    /// `--rfc2136-full-transfer-interval`; zero is never.
    period: Duration,
    /// One entry for each configured zone that was read, at most.
    zones: Mutex<HashMap<DnsName, Zone>>,
}

#[derive(Debug, Default)]
struct Zone {
    /// When the period is over.
    due: Option<Instant>,
    /// Refusals before this moment wait for it.
    quiet: Option<Instant>,
    doubts: Doubts,
}

impl Transfers {
    pub(crate) fn new(period: Duration) -> Self {
        Self { period, zones: Mutex::default() }
    }

    fn zones(&self) -> MutexGuard<'_, HashMap<DnsName, Zone>> {
        self.zones.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What speaks against believing the SOA now.
    pub(crate) fn doubts(&self, zone: &DnsName) -> Doubts {
        let now = Instant::now();
        let mut zones = self.zones();
        let state = zones.entry(zone.clone()).or_default();
        if state.due.is_some_and(|due| due <= now) {
            return Doubts { whole: true, ..Doubts::default() };
        }
        if state.quiet.is_some_and(|until| now < until) { Doubts::default() } else { state.doubts.clone() }
    }

    /// A precondition of this group was refused: what was known of its names is not true any more, or never was.
    pub(crate) fn refused(&self, zone: &DnsName, group: &Group) {
        let mut zones = self.zones();
        let doubts = &mut zones.entry(zone.clone()).or_default().doubts;
        if doubts.refused.len() < MOST {
            doubts.refused.push(names_of(group));
        } else {
            doubts.whole = true;
        }
    }

    /// What was read after these doubts were asked for; `whole` says that it was all of the zone.
    pub(crate) fn read(&self, zone: &DnsName, settled: &Doubts, whole: bool) {
        let now = Instant::now();
        let mut zones = self.zones();
        let state = zones.entry(zone.clone()).or_default();
        if whole {
            let doubted = state.doubts != Doubts::default();
            *state = Zone {
                due: (!self.period.is_zero()).then(|| now + jittered(self.period)),
                quiet: doubted.then(|| now + BETWEEN),
                doubts: Doubts::default(),
            };
        } else if *settled == state.doubts {
            state.doubts = Doubts::default();
        }
    }
}

fn jittered(period: Duration) -> Duration {
    period.mul_f64(rand::random_range(1.0 - JITTER..=1.0 + JITTER))
}

/// The names that a group changes or rests on.
fn names_of(group: &Group) -> Refused {
    let required = group.requires.iter().map(|precondition| match precondition {
        Precondition::Exact(set) => &set.key.name,
        Precondition::Absent(key) => &key.name,
        Precondition::NameNotInUse(name) => name,
    });
    group.changes().map(|change| &change.key().name).chain(required).cloned().collect()
}

#[cfg(test)]
mod tests {
    use zonewright_core::change::{Change, Step};
    use zonewright_core::provider::{Delta, Record};

    use super::*;
    use crate::update::tests::set;

    const KNOWN: Soa = Soa { serial: 7, rest: 0xfeed };

    fn group(text: &str) -> Group {
        Group::of(Step::record(Change::Create { to: set(text) }, None), Vec::new())
    }

    fn zone() -> DnsName {
        DnsName::parse("z").unwrap()
    }

    fn steps(rest: u64, names: &[&str]) -> Transferred {
        let record = |text: &&str| {
            let set = set(&format!("{text} 60 A 192.0.2.1"));
            Record { name: set.key.name.clone(), ttl: set.ttl.unwrap(), data: set.data.as_records()[0].clone() }
        };
        let step = Delta { removed: Vec::new(), added: names.iter().map(record).collect() };
        Transferred::Steps { soa: Soa { serial: 8, rest }, steps: vec![step] }
    }

    #[test]
    fn states_are_written_and_read() {
        for server in ["192.0.2.1:53", "[2001:db8::1]:53", "ns.example:5353"] {
            let state = State { server: server.to_owned(), soa: KNOWN };
            assert_eq!(State::parse(&state.token()), Some(state));
        }
        for text in ["", "7", "192.0.2.1:53 7", "192.0.2.1:53 x 0", "192.0.2.1:53 7 0 more"] {
            assert_eq!(State::parse(&Token(text.to_owned())), None, "{text}");
        }
    }

    #[test]
    fn what_explains_a_refusal() {
        let refused = |names: &[&str]| Doubts {
            whole: false,
            refused: names.iter().map(|name| names_of(&group(&format!("{name} 60 A 192.0.2.1")))).collect(),
        };
        let current = |soa| Transferred::Current(soa);
        for (doubts, news, expected) in [
            (refused(&[]), current(KNOWN), true),
            (refused(&[]), current(Soa { serial: 6, ..KNOWN }), false),
            (refused(&[]), current(Soa { rest: 1, ..KNOWN }), false),
            (refused(&["a.z"]), current(KNOWN), false),
            (refused(&[]), steps(KNOWN.rest, &["b.z"]), true),
            (refused(&[]), steps(1, &["b.z"]), false),
            (refused(&["a.z"]), steps(KNOWN.rest, &["b.z"]), false),
            (refused(&["a.z"]), steps(KNOWN.rest, &["a.z", "b.z"]), true),
            (refused(&["a.z", "c.z"]), steps(KNOWN.rest, &["a.z", "b.z"]), false),
            (refused(&["a.z"]), Transferred::Full { soa: KNOWN, records: Vec::new() }, true),
        ] {
            assert_eq!(doubts.are_explained_by(&news, KNOWN), expected, "{doubts:?} {news:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_period_is_over_in_time_and_begins_with_each_transfer() {
        let transfers = Transfers::new(Duration::from_hours(24));
        assert!(!transfers.doubts(&zone()).is_whole(), "nothing was read yet");
        transfers.read(&zone(), &Doubts::default(), true);
        for _ in 0..3 {
            tokio::time::advance(Duration::from_hours(21)).await;
            assert!(!transfers.doubts(&zone()).is_whole());
            transfers.read(&zone(), &Doubts::default(), false);
            tokio::time::advance(Duration::from_hours(6)).await;
            let doubts = transfers.doubts(&zone());
            assert!(doubts.is_whole());
            transfers.read(&zone(), &doubts, true);
        }
        let never = Transfers::new(Duration::ZERO);
        never.read(&zone(), &Doubts::default(), true);
        tokio::time::advance(Duration::from_hours(24_000)).await;
        assert!(!never.doubts(&zone()).is_whole());
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_have_a_zone_transferred_once_a_minute() {
        let transfers = Transfers::new(Duration::ZERO);
        transfers.refused(&zone(), &group("a.z 60 A 192.0.2.1"));
        let doubts = transfers.doubts(&zone());
        assert!(!doubts.are_explained_by(&Transferred::Current(KNOWN), KNOWN));
        transfers.read(&zone(), &doubts, true);
        transfers.refused(&zone(), &group("a.z 60 A 192.0.2.1"));
        assert_eq!(transfers.doubts(&zone()), Doubts::default(), "too soon");
        tokio::time::advance(BETWEEN).await;
        let doubts = transfers.doubts(&zone());
        assert!(!doubts.are_explained_by(&Transferred::Current(KNOWN), KNOWN), "it was not forgotten");
        transfers.read(&zone(), &doubts, false);
        assert_eq!(transfers.doubts(&zone()), Doubts::default(), "news explained it");
        for n in 0..=MOST {
            transfers.refused(&zone(), &group(&format!("n{n}.z 60 A 192.0.2.1")));
        }
        assert!(transfers.doubts(&zone()).is_whole());
    }
}
