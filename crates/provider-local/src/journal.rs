//! The recent history of one zone: what went and came with each change.
//!
//! In: one delta for each committed change. Out: the deltas after a revision, or nothing once they were cut. What must
//! hold: revisions are only compared within one journal, since a zone may change on disk while nobody looks.

use std::collections::VecDeque;

use zonewright_core::provider::{Delta, Token};

/// Deltas by revision, the oldest cut first.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Distinguishes this journal's revisions from those of an earlier process.
    epoch: u64,
    /// Number of committed changes.
    revision: u64,
    /// Most records that are kept.
    limit: usize,
    deltas: VecDeque<Delta>,
    kept: usize,
}

impl Journal {
    /// An empty journal that keeps at most `limit` records.
    pub(crate) fn new(epoch: u64, limit: usize) -> Self {
        Self { epoch, revision: 0, limit, deltas: VecDeque::new(), kept: 0 }
    }

    /// Adds a change; one that changed nothing is no change.
    pub(crate) fn push(&mut self, delta: Delta) {
        if delta == Delta::default() {
            return;
        }
        self.revision += 1;
        self.kept += size(&delta);
        self.deltas.push_back(delta);
        while self.kept > self.limit {
            let Some(oldest) = self.deltas.pop_front() else { return };
            self.kept -= size(&oldest);
        }
    }

    /// Marks the present state.
    pub(crate) fn token(&self) -> Token {
        Token(format!("{:x}.{}", self.epoch, self.revision))
    }

    /// What changed after `token`; `None` if that is not known any more.
    pub(crate) fn since(&self, token: &Token) -> Option<Vec<Delta>> {
        let (epoch, revision) = token.0.split_once('.')?;
        if epoch != format!("{:x}", self.epoch) {
            return None;
        }
        let missing = usize::try_from(self.revision.checked_sub(revision.parse().ok()?)?).ok()?;
        let skipped = self.deltas.len().checked_sub(missing)?;
        Some(self.deltas.iter().skip(skipped).cloned().collect())
    }
}

fn size(delta: &Delta) -> usize {
    delta.removed.len() + delta.added.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::provider::Record;
    use zonewright_core::{DnsName, RData, RecordType, Ttl};

    fn delta(name: &str) -> Delta {
        let data = RData::parse(RecordType::A, "192.0.2.1").unwrap();
        let record = Record { name: DnsName::parse(name).unwrap(), ttl: Ttl::MAX, data };
        Delta { removed: vec![], added: vec![record] }
    }

    #[test]
    fn history_after_a_token() {
        let mut journal = Journal::new(7, 2);
        let start = journal.token();
        assert_eq!(journal.since(&start), Some(vec![]));
        journal.push(delta("a.test"));
        let one = journal.token();
        journal.push(Delta::default());
        assert_eq!(journal.token(), one, "nothing changed");
        journal.push(delta("b.test"));
        assert_eq!(journal.since(&start), Some(vec![delta("a.test"), delta("b.test")]));
        assert_eq!(journal.since(&one), Some(vec![delta("b.test")]));
        journal.push(delta("c.test"));
        assert_eq!(journal.since(&start), None, "cut");
        assert_eq!(journal.since(&one), Some(vec![delta("b.test"), delta("c.test")]));
    }

    #[test]
    fn foreign_tokens_are_not_understood() {
        let mut journal = Journal::new(7, 10);
        journal.push(delta("a.test"));
        for token in ["", "7", "7.", "7.2", "7.x", "8.1", "7.-1", "7.99999999999999999999999"] {
            assert_eq!(journal.since(&Token(token.to_owned())), None, "{token:?}");
        }
    }
}
