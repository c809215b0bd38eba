//! The story of a history: in, sentences about what happens; out, lines with the virtual time, and the zones before each step.

use zonewright_core::RecordSet;

use super::{Right, Truth};
use crate::names::speaks;

impl Truth {
    /// Adds a sentence to the story.
    pub(crate) fn tell(&mut self, sentence: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            let at = self.begun.elapsed();
            story.push(format!("    {:>9.3} s  {}", at.as_secs_f64(), plain(&sentence())));
        }
    }

    /// Tells the state before a step, and the step.
    pub(crate) fn tell_step(&mut self, number: usize, step: &crate::step::Step) {
        if self.story.is_none() {
            return;
        }
        let lines = self.lines();
        if let Some(story) = &mut self.story {
            story.extend(lines.into_iter().map(|line| format!("    | {}", line.trim_start())));
            story.push(format!("{number}. {step}"));
        }
    }

    /// The whole content, as lines.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for zone in 0..self.zones.len() {
            let sets: Vec<RecordSet> = self.zones[zone].sets.values().cloned().collect();
            for set in sets {
                let whose = if speaks(&set) {
                    String::new()
                } else {
                    match self.right(zone, &set.key) {
                        Right::Nobody => "   [nobody's]".to_owned(),
                        Right::One { owner, .. } => format!("   [{owner}'s]"),
                        Right::Several => "   [disputed]".to_owned(),
                    }
                };
                lines.push(format!("    {}{whose}", plain(&set.to_string())));
            }
        }
        lines
    }
}

/// A text in which claims are short.
fn plain(text: &str) -> String {
    let text = text.replace("\"heritage=zonewright-intent,zonewright/record=", "\"intent ");
    let text = text.replace("heritage=external-dns,external-dns/owner=", "claim of ");
    text.replace(",external-dns/resource=", " for ")
        .replace(",zonewright/claim=", " to ")
        .replace("external-dns/zonewright-", "")
}
