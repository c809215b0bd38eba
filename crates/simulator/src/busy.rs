//! A large zone with an unresting human beside a daemon.
//!
//! In: a seed, how many foreign records there are, and for how many seconds. Out: the foreign part of the zone as its authors
//! left it, and as it stands; both must be equal, byte for byte.

use std::time::Duration;

use zonewright_core::{RData, RecordKey, RecordSet, RecordType};

use crate::chance::{Chance, mix};
use crate::cluster::{Id, Spec};
use crate::names::{Sets, data, name, set};
use crate::setup::{Company, Scope, Setup};
use crate::step::{Action, Step};
use crate::truth::{Author, Violation};
use crate::world::World;

/// How it went.
#[derive(Debug, Clone, Default)]
pub struct Busy {
    /// Edits of foreign records.
    pub edits: u64,
    /// Writes of the daemon.
    pub writes: u64,
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// The foreign records as their authors left them, as lines.
    pub foreign_before: Vec<String>,
    /// The foreign records as they stand.
    pub foreign_after: Vec<String>,
}

/// Plays so many seconds in a zone of so many foreign records.
pub fn busy_zone(seed: u64, foreign: usize, seconds: u64) -> Busy {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O needs nothing that can fail");
    runtime.block_on(play(seed, foreign, seconds))
}

fn setup(chance: &mut Chance) -> Setup {
    let scope = Scope { profile: Some("update".to_owned()), ..Scope::default() };
    loop {
        let setup = Setup::draw(chance, &scope);
        if setup.company == Company::Solo && setup.zones.len() == 1 {
            return setup;
        }
    }
}

fn foreign_key(number: usize) -> RecordKey {
    let rtype = match number % 10 {
        0 => RecordType::Mx,
        1 => RecordType::Txt,
        2 => RecordType::Cname,
        3 | 4 => RecordType::Aaaa,
        _ => RecordType::A,
    };
    RecordKey::simple(name(&format!("f{number}.one.test")), rtype)
}

fn content(chance: &mut Chance, rtype: RecordType) -> RData {
    let n = chance.below(200);
    match rtype {
        RecordType::A => data(rtype, &format!("203.0.113.{n}")),
        RecordType::Aaaa => data(rtype, &format!("2001:db8:ff::{n:x}")),
        RecordType::Cname => data(rtype, &format!("t{n}.foreign.test")),
        RecordType::Mx => data(rtype, &format!("{n} mail.foreign.test")),
        _ => data(RecordType::Txt, &format!("\"text {n}\"")),
    }
}

async fn play(seed: u64, foreign: usize, seconds: u64) -> Busy {
    let mut chance = Chance::new(seed);
    let setup = setup(&mut chance);
    let mut world = World::new(&setup, seed, false);
    let mut left = Sets::new();
    let keys: Vec<RecordKey> = (0..foreign).map(foreign_key).collect();
    let first: Vec<(RecordKey, Option<RecordSet>)> =
        keys.iter().map(|key| (key.clone(), Some(set(key, [content(&mut chance, key.rtype)])))).collect();
    left.extend(first.iter().filter_map(|(key, set)| Some((key.clone(), set.clone()?))));
    world.truth().foreign(Author::Human, 0, &first);
    world.start_all().await;
    world.rest().await;
    let (mut edits, mut elapsed) = (0, 0);
    while elapsed < seconds && !world.is_broken() {
        let pause = 1 + chance.below(6) as u64;
        elapsed += pause;
        let number = chance.below(foreign);
        let key = keys[number].clone();
        // Names that objects ask for are never free, or they would be the daemon's to take.
        let goes = number >= foreign / 2 && chance.percent(20);
        let to = (!goes).then(|| set(&key, [content(&mut chance, key.rtype)]));
        if left.get(&key) != to.as_ref() {
            world.truth().edit(Author::Human, 0, &[(key.clone(), to.clone())]);
            match to {
                Some(set) => left.insert(key, set),
                None => left.remove(&key),
            };
            edits += 1;
        }
        let action = request(&mut chance, foreign);
        let rough = chance.percent(10);
        world.step(&Step { action, hasty: chance.percent(30), rough, nonce: mix(seed, elapsed) }).await;
        tokio::time::sleep(Duration::from_secs(pause)).await;
    }
    world.set_weather(0, false);
    world.rest().await;
    let truth = world.truth();
    let shown = |sets: &Sets| keys.iter().filter_map(|key| Some(sets.get(key)?.to_string())).collect();
    Busy {
        edits,
        writes: truth.writes,
        violation: truth.violation.clone(),
        foreign_before: shown(&left),
        foreign_after: shown(&truth.zones[0].sets),
    }
}

/// An object asks for a name of its own, or for one that is taken.
fn request(chance: &mut Chance, foreign: usize) -> Action {
    let id = Id { kind: 0, number: chance.below(40) };
    if chance.percent(15) {
        return Action::Delete(0, id);
    }
    let at = if chance.percent(25) {
        format!("f{}.one.test", chance.below(foreign / 2))
    } else {
        format!("n{}.one.test", id.number)
    };
    let target = data(RecordType::A, &format!("192.0.2.{}", chance.below(200)));
    let wants = vec![(RecordKey::simple(name(&at), RecordType::A), vec![target])];
    Action::Put(0, id, Spec { wants, ..Spec::default() })
}
