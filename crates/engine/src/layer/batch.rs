//! Cuts many groups into calls, and a refused call into halves until the offender stands alone.
//!
//! A group is never split. For one bad group among n, at most 2 log2 n calls are made besides those that were needed anyway;
//! none where the reply names the offender. Where [`MOST_DENIED`] groups were not allowed and none was accepted, the rest is not
//! sent: nothing suggests that it would fare better.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use zonewright_core::capability::{Batch, Capability};
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::error::{Error, Result};
use zonewright_core::provider::{Adjusted, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::zone::{Zone, ZoneId};

/// So many updates in a row may be refused as not allowed before it is taken for the trouble of the zone.
pub const MOST_DENIED: usize = 16;

/// One call of `apply` on this layer may become many on the provider.
pub struct Batcher {
    inner: Arc<dyn Provider>,
}

impl Batcher {
    /// Around `inner`.
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner }
    }

    /// Carries out one range of groups; what was refused as a batch is left as [`Outcome::Refused`] with
    /// [`Blame::Batch`].
    async fn call(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let mut outcomes = self.inner.apply(zone, groups).await;
        // A provider that forgets a group must not make it look done.
        outcomes.resize_with(groups.len(), || {
            let error = zonewright_core::error::Error::new(
                zonewright_core::error::ErrorKind::Protocol,
                "apply changes",
                "the provider gave no outcome",
            );
            Outcome::Unknown(error)
        });
        outcomes
    }
}

impl std::fmt::Debug for Batcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Batcher")
    }
}

/// Cuts groups into ranges that fit one call; a group that is too large alone is a range of its own.
fn cut(groups: &[Group], batch: Batch) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut changes, mut size) = (0, 0, 0);
    for (i, group) in groups.iter().enumerate() {
        let (more_changes, more_size) = (group.steps.len(), if batch.size.is_some() { group.size() } else { 0 });
        let full = changes + more_changes > batch.changes || batch.size.is_some_and(|limit| size + more_size > limit);
        if full && i > start {
            ranges.push(start..i);
            (start, changes, size) = (i, 0, 0);
        }
        changes += more_changes;
        size += more_size;
    }
    if start < groups.len() {
        ranges.push(start..groups.len());
    }
    ranges
}

/// The groups at these rising positions, where they lie side by side: they need not be copied then.
fn neighbours<'a>(groups: &'a [Group], positions: &[usize]) -> Option<&'a [Group]> {
    let (first, last) = (*positions.first()?, *positions.last()?);
    groups.get(first..=last).filter(|between| between.len() == positions.len())
}

/// The groups of a call that were refused only because they came together.
fn blamed_together(outcomes: &[Outcome]) -> Vec<usize> {
    let together = |o: &Outcome| matches!(o, Outcome::Refused { blame: Blame::Batch, .. });
    outcomes.iter().enumerate().filter(|(_, o)| together(o)).map(|(i, _)| i).collect()
}

/// What was not allowed in one call of this layer.
#[derive(Debug, Default)]
struct Denials {
    count: usize,
    accepted: bool,
    last: Option<Error>,
}

impl Denials {
    fn count(&mut self, outcome: &Outcome) {
        self.accepted |= matches!(outcome, Outcome::Applied);
        if outcome.is_denied() {
            self.count += 1;
            self.last = outcome.error().cloned();
        }
    }

    /// Why nothing more is sent, if it is not.
    fn stop(&self) -> Option<&Error> {
        self.last.as_ref().filter(|_| !self.accepted && self.count >= MOST_DENIED)
    }
}

#[async_trait]
impl Provider for Batcher {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.inner.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.inner.zones().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.inner.zone(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.inner.records(zone, read).await
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Result<Vec<Adjusted>> {
        self.inner.adjust(zone, sets).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let batch = self.capability(Some(zone)).batch;
        let mut outcomes: Vec<Option<Outcome>> = groups.iter().map(|_| None).collect();
        // Positions to send together; halves of a refused call are put back on top.
        let mut waiting: Vec<Vec<usize>> = cut(groups, batch).into_iter().rev().map(Iterator::collect).collect();
        let mut first = true;
        let mut denials = Denials::default();
        while let Some(part) = waiting.pop() {
            if let Some(error) = denials.stop() {
                for at in part {
                    outcomes[at] = Some(Outcome::NotSent(error.clone()));
                }
                continue;
            }
            if !std::mem::take(&mut first) && !batch.interval.is_zero() {
                tokio::time::sleep(batch.interval).await;
            }
            let results = if let Some(call) = neighbours(groups, &part) {
                self.call(zone, call).await
            } else {
                let call: Vec<Group> = part.iter().map(|i| groups[*i].clone()).collect();
                self.call(zone, &call).await
            };
            let again = if part.len() > 1 { blamed_together(&results) } else { Vec::new() };
            let mut retry = Vec::new();
            for (at, result) in results.into_iter().enumerate() {
                if again.contains(&at) {
                    retry.push(part[at]);
                } else {
                    denials.count(&result);
                    outcomes[part[at]] = Some(result);
                }
            }
            if retry.len() == part.len() {
                let half = retry.split_off(retry.len() / 2);
                waiting.push(half);
            }
            if !retry.is_empty() {
                waiting.push(retry);
            }
        }
        outcomes.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use zonewright_core::capability::Atomicity;
    use zonewright_core::change::{Change, Step};
    use zonewright_core::testing::set;

    fn groups(count: usize) -> Vec<Group> {
        (0..count)
            .map(|i| {
                let to = set(&format!("n{i}.example A 192.0.2.1"));
                Group::of(Step::record(Change::Create { to }, None), vec![])
            })
            .collect()
    }

    #[test]
    fn cuts_by_changes_and_by_size() {
        let batch = |changes, size| Batch { changes, size, interval: Duration::ZERO, atomic: Atomicity::Batch };
        assert_eq!(cut(&groups(5), batch(2, None)), [0..2, 2..4, 4..5]);
        assert_eq!(cut(&groups(5), batch(100, Some(20))), [0..2, 2..4, 4..5]);
        assert_eq!(cut(&groups(2), batch(100, Some(1))), [0..1, 1..2]);
        assert!(cut(&groups(0), batch(2, None)).is_empty());
    }
}
