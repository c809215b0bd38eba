//! The many objects of a large cluster: in, what becomes of them; out, changes of single objects.

use zonewright_core::{RecordKey, RecordType};

use super::World;
use crate::chance::Chance;
use crate::cluster::{Id, Spec};
use crate::names::{data, name};
use crate::step::{Crowd, OBJECTS};

/// Names that one object of a crowd asks for.
const EACH: usize = 4;

impl World {
    pub(super) fn crowd(&self, crowd: Crowd) {
        let cluster = &self.clusters[0];
        let members = self.setup.crowd.div_ceil(EACH);
        // Which of them go is the same every time.
        let mut chance = Chance::new(self.seed);
        for member in 0..members {
            let id = Id { kind: member % 2, number: OBJECTS + member };
            let drawn = chance.below(100);
            match crowd {
                Crowd::Vanish(share) if drawn < share => cluster.vanish(id),
                Crowd::Delete(share) if drawn < share => cluster.delete(id),
                Crowd::Vanish(_) | Crowd::Delete(_) => {}
                Crowd::Back => cluster.put(id, &self.member(member, 1)),
                Crowd::Move => cluster.put(id, &self.member(member, 2)),
            }
        }
    }

    fn member(&self, member: usize, host: usize) -> Spec {
        let numbers = (member * EACH..(member + 1) * EACH).filter(|number| *number < self.setup.crowd);
        let want = |number: usize| {
            let zone = self.setup.zones[number % self.setup.zones.len()];
            let key = RecordKey::simple(name(&format!("c{number}.{zone}")), RecordType::A);
            (key, vec![data(RecordType::A, &format!("192.0.1.{host}"))])
        };
        Spec { wants: numbers.map(want).collect(), ..Spec::default() }
    }
}
