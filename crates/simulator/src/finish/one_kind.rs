//! What stands in the end where all sets of a name and type have one kind of routing policy.
//!
//! In: what objects ask for at a name, under any identifier, and what stands there. Out: broken rules. Where nobody asks for what
//! excludes something else, each row is judged by itself; else one side has the name, and of that only what stands is judged.

use std::collections::BTreeSet;

use zonewright_core::record::SetId;
use zonewright_core::{DnsName, RecordSet};

use crate::cluster::{Ask, Sight};
use crate::names::Rows;
use crate::rules::Rule;
use crate::world::World;

/// Whether two requests cannot both be fulfilled, under whatever identifiers.
fn clash(rows: Rows, one: &Ask, other: &Ask) -> bool {
    let types = one.key.rtype.excludes(other.key.rtype) && one.key.set_id != other.key.set_id;
    types || rows.other_kind(&one.key, &other.key)
}

impl World {
    pub(super) fn room_converged(&self, daemon: usize, at: (usize, &Sight), name: &DnsName) {
        let (zone, sight) = at;
        let asks = sight.asks(name);
        let records = self.records().into_iter();
        let here: Vec<RecordSet> =
            records.filter(|(of, set)| *of == zone && set.key.name == *name).map(|(_, set)| set).collect();
        let foreign = here.iter().any(|set| !self.is_ours(daemon, zone, &set.key));
        // What bars one of the sets that are to come holds all that they would replace.
        if foreign || asks.iter().any(|ask| ask.has_policy || self.is_barred(daemon, zone, ask)) {
            for rule in [Rule::Wanted, Rule::Stands, Rule::Orphan] {
                self.truth().verdicts.note(rule, false);
            }
            return;
        }
        if !asks.iter().any(|one| asks.iter().any(|other| clash(sight.rows, one, other))) {
            let ids = asks.iter().map(|ask| &ask.key).chain(here.iter().map(|set| &set.key));
            let ids: BTreeSet<Option<SetId>> = ids.map(|key| key.set_id.clone()).collect();
            for id in ids {
                self.row_converged(daemon, at, name, id.as_ref());
            }
            return;
        }
        if !self.is_settled(daemon, name) {
            return;
        }
        for set in &here {
            let exact: Vec<Ask> = asks.iter().filter(|ask| ask.key == set.key).cloned().collect();
            self.wanted(daemon, zone, set, &exact, false);
        }
        self.truth().verdicts.note(Rule::Wanted, true);
        if here.is_empty() {
            let text = format!("daemon {daemon}: {} asks for {}, and nothing stands there", asks[0].label, asks[0].key);
            self.truth().broken(Rule::Wanted, text);
        }
    }
}
