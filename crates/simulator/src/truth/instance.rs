//! Whether what goes to an instance is meant for it, where two have zones of one name.
//!
//! In: a write, and what objects ask for. Out: a broken rule, where nothing but the other instance was asked for it.

use super::Truth;
use super::judge::Judged;
use crate::cluster::Sight;
use crate::names::is_record;
use crate::rules::Rule;

impl Truth {
    /// What is new in a zone is asked of its instance, by an object that names it, or none.
    pub(super) fn judge_instance(&mut self, step: &Judged<'_>, sight: &Sight) {
        let is_new = step.stood.is_none() && step.stands.is_some() && is_record(step.key);
        let twins = (0..self.zones.len()).any(|zone| !self.are_of_one_instance(zone, step.zone));
        if !(is_new && twins) {
            return;
        }
        let meant = !sight.asks_beside(step.key).is_empty();
        let everywhere = Sight { instance: None, ..sight.clone() };
        if !meant && everywhere.asks_beside(step.key).is_empty() {
            return;
        }
        let late = !meant && (self.puts_back(step) || sight.changed_within(&step.key.name, self.patience()));
        self.verdicts.note(Rule::Instance, !late);
        if !(meant || late) {
            let zone = self.zones[step.zone].zone.key.to_string();
            self.broken(Rule::Instance, format!("daemon {} wrote {} to {zone}", step.daemon, step.key));
        }
    }
}
