//! Cuts many groups into calls, and a refused call into halves until the offender stands alone.
//!
//! A group is never split. For one bad group among n, at most 2 log2 n calls are made besides those that were needed anyway;
//! none where the reply names the offender. Where [`MOST_DENIED`] groups were not allowed and none was accepted, the rest is not
//! sent: nothing suggests that it would fare better. Nor is it after failures that lasted longer than what was read of the zone is
//! good for, where writes cannot state what they expect of the zone. And where it is not known what became of a group, no other one is
//! sent that meets it: its names have to be read first.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use zonewright_core::capability::{Batch, Capability, Preconditions};
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::cost::Cost;
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, Result};
use zonewright_core::interpret::Interpretation;
use zonewright_core::name::DnsName;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::zone::{Zone, ZoneId, ZoneKey};

use super::late::Grounds;
use super::retry::READ_HOLDS;
use crate::footprint::{names_of, touches};

/// So many updates in a row may be refused as not allowed before the zone counts as failing.
pub const MOST_DENIED: usize = 16;

/// One call of `apply` on this layer may become many on the provider.
pub struct Batcher {
    inner: Arc<dyn Provider>,
    /// When the last call in each zone ended, where calls have to keep a distance.
    ended: Mutex<HashMap<ZoneKey, Instant>>,
}

impl Batcher {
    /// The layer around a provider.
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, ended: Mutex::default() }
    }

    fn ended(&self) -> MutexGuard<'_, HashMap<ZoneKey, Instant>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the zone may be changed again: the pause holds between any two calls, whoever asked for them.
    async fn pause(&self, zone: &Zone, interval: Duration) {
        let ended = self.ended().get(&zone.key).copied();
        if let Some(ended) = ended {
            tokio::time::sleep_until(ended + interval).await;
        }
    }

    /// Carries groups out, in calls that the provider takes. What goes out long after its grounds were read goes out on new ones.
    pub(super) async fn send(&self, zone: &Zone, groups: &[Group], grounds: Option<&Grounds<'_>>) -> Vec<Outcome> {
        let batch = self.capability(Some(zone)).batch;
        let mut outcomes: Vec<Option<Outcome>> = groups.iter().map(|_| None).collect();
        // Positions to send together; halves of a refused call are put back on top.
        let mut waiting: Vec<Vec<usize>> = cut(groups, batch).into_iter().rev().map(Iterator::collect).collect();
        let mut denials = Denials::default();
        let preconditions = self.capability(Some(zone)).preconditions;
        let by_reading = preconditions.read_first();
        let grounds = grounds.filter(|_| by_reading || preconditions == Preconditions::Checked);
        let begun = Instant::now();
        // Why some group of the last call was not sent, or it is not known what became of it.
        let mut failure: Option<Error> = None;
        // Names of which it is not known what became of a change there, and why not.
        let mut unsure: Option<(BTreeSet<DnsName>, Error)> = None;
        while let Some(mut part) = waiting.pop() {
            let late = failure.as_ref().filter(|_| by_reading && begun.elapsed() > READ_HOLDS);
            if let Some(error) = denials.stop().or(late) {
                for at in part {
                    outcomes[at] = Some(Outcome::NotSent(error.clone()));
                }
                continue;
            }
            if let Some((names, error)) = &unsure {
                part.retain(|at| {
                    let meets = touches(&groups[*at], names);
                    if meets {
                        outcomes[*at] = Some(Outcome::NotSent(error.clone()));
                    }
                    !meets
                });
                if part.is_empty() {
                    continue;
                }
            }
            let results = if let Some(grounds) = grounds.filter(|grounds| grounds.are_old()) {
                let mut call = Vec::new();
                let ready = grounds.ready(&*self.inner, zone, groups, &part).await;
                for (at, ready) in std::mem::take(&mut part).into_iter().zip(ready) {
                    match ready {
                        Ok(group) => {
                            part.push(at);
                            call.push(group);
                        }
                        Err(outcome) => {
                            if let Outcome::NotSent(error) = &outcome {
                                failure = Some(error.clone());
                            }
                            outcomes[at] = Some(outcome);
                        }
                    }
                }
                if part.is_empty() {
                    continue;
                }
                self.call(zone, &call, batch.interval).await
            } else if let Some(call) = neighbours(groups, &part) {
                self.call(zone, call, batch.interval).await
            } else {
                let call: Vec<Group> = part.iter().map(|i| groups[*i].clone()).collect();
                self.call(zone, &call, batch.interval).await
            };
            failure = results.iter().find_map(|outcome| match outcome {
                Outcome::NotSent(error) | Outcome::Unknown(error) => Some(error.clone()),
                Outcome::Applied | Outcome::Refused { .. } => None,
            });
            let again = if part.len() > 1 { blamed_together(&results) } else { Vec::new() };
            let mut retry = Vec::new();
            for (at, result) in results.into_iter().enumerate() {
                if let Outcome::Unknown(error) = &result {
                    let (names, _) = unsure.get_or_insert_with(|| (BTreeSet::new(), error.clone()));
                    names.extend(names_of(&groups[part[at]]).cloned());
                }
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

    /// Carries out one range of groups; what was refused as a batch is left as [`Outcome::Refused`] with
    /// [`Blame::Batch`].
    async fn call(&self, zone: &Zone, groups: &[Group], interval: Duration) -> Vec<Outcome> {
        if !interval.is_zero() {
            self.pause(zone, interval).await;
        }
        let mut outcomes = self.inner.apply(zone, groups).await;
        if !interval.is_zero() {
            self.ended().insert(zone.key.clone(), Instant::now());
        }
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
    let (mut start, mut call) = (0, Cost::default());
    for (i, group) in groups.iter().enumerate() {
        let cost = batch.cost(group);
        if !batch.holds(call + cost) && i > start {
            ranges.push(start..i);
            (start, call) = (i, Cost::default());
        }
        call = call + cost;
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

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.inner.adjust(zone, sets).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.inner.served(zone).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.send(zone, groups, None).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let batch = |changes, size| Batch { size, ..Batch::of(changes) };
        assert_eq!(cut(&groups(5), batch(2, None)), [0..2, 2..4, 4..5]);
        assert_eq!(cut(&groups(5), batch(100, Some(20))), [0..2, 2..4, 4..5]);
        assert_eq!(cut(&groups(2), batch(100, Some(1))), [0..1, 1..2]);
        assert!(cut(&groups(0), batch(2, None)).is_empty());
        assert_eq!(cut(&groups(5), Batch { values: Some(2), ..batch(100, None) }), [0..2, 2..4, 4..5]);
    }
}
