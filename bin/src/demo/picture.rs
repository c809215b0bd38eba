//! What there is to see, as plain values: both ways of showing it draw from here.

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) rtype: String,
    pub(super) ttl: String,
    pub(super) data: String,
    pub(super) by: String,
    /// When it changed last, in milliseconds since 1970; 0 is long ago.
    pub(super) changed: i64,
}

/// Changes that follow each other within this time, in milliseconds, are one.
const TOGETHER: i64 = 1_000;

/// Rows in the order of the screen: what changed last first; what changed together, by name.
pub(super) fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| std::cmp::Reverse(row.changed));
    let together = |later: &Row, earlier: &Row| later.changed - earlier.changed < TOGETHER;
    for at_once in rows.chunk_by_mut(together) {
        at_once.sort_by(|a, b| (&a.name, &a.rtype).cmp(&(&b.name, &b.rtype)));
    }
    rows
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) text: String,
    pub(super) failed: bool,
}

impl Event {
    /// The name that it changed: the word after the sign.
    pub(super) fn name(&self) -> &str {
        self.text.split(' ').nth(1).unwrap_or_default()
    }
}

/// Deletes that wait for a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) hash: String,
    pub(super) deletes: usize,
    pub(super) reason: String,
}

/// One change of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) time: String,
    pub(super) outcome: String,
    pub(super) plan: String,
    pub(super) change: String,
}

/// An undo that can be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) hash: String,
    pub(super) lines: Vec<String>,
}

/// Everything on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Picture {
    /// What to type and what to edit.
    pub(super) hints: Vec<String>,
    /// As [`in_order`] has them.
    pub(super) rows: Vec<Row>,
    /// The records that say whose the others are.
    pub(super) claims: Vec<Row>,
    /// The newest first.
    pub(super) events: Vec<Event>,
    pub(super) held: Vec<Held>,
    /// What is wrong with the manifests, and what was reported to objects.
    pub(super) notes: Vec<String>,
}

impl Picture {
    /// Held plans and notes, as lines.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        let held = self.held.iter().map(|Held { deletes, reason, .. }| format!("{deletes} deletes are held: {reason}"));
        held.chain(self.notes.iter().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_last_is_first_and_what_changed_together_is_by_name() {
        let row = |name: &str, changed| Row {
            name: name.to_owned(),
            rtype: "A".to_owned(),
            ttl: String::new(),
            data: String::new(),
            by: String::new(),
            changed,
        };
        let rows =
            vec![row("old", 0), row("z", 9_000), row("b", 5_010), row("a", 5_900), row("c", 5_000), row("d", 4_000)];
        let names: Vec<String> = in_order(rows).into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["z", "a", "b", "c", "d", "old"]);
    }
}
