//! What stands at the names of groups, read so that they may be written by it.
//!
//! In: groups, in their order. Out: what stands at the names of the first of them, of as many as can be read and sent while the reading is
//! good. What must hold: a reading is as old as the first of its requests, and has all names of each group that it is for. Those of
//! the first group are read whatever time they take, so that a change of any size goes on, part by part.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::change::Group;
use zonewright_core::{DnsName, ErrorKind, Result};
use zonewright_http::Share;

use crate::apply;
use crate::records::{Groups, Records, families, of_names};

/// How long what was read is good enough to write by: the service compares nothing. What has to wait for longer goes back unsent, and its
/// names are read again before it.
pub(crate) const READ_HOLDS: Duration = Duration::from_secs(3);

/// How old a reading should be at most when its batch gets its turn.
const IN_TIME: Duration = Duration::from_millis(2_500);

/// The whole zone is read in place of the names if that costs so many requests at most: with more of them it would be too old.
const WHOLE_AT_MOST: u64 = 10;

/// What stands at the names of some groups.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) standing: Groups,
    /// Of so many groups, from the first one on.
    pub(crate) groups: usize,
    /// When the first of it was asked for, after the wait for its turn.
    pub(crate) since: Instant,
}

impl Reading {
    /// Whether it will be too old when something more was asked that takes so long.
    pub(crate) fn is_old_after(&self, step: Duration) -> bool {
        self.since.elapsed() + step > IN_TIME
    }
}

impl Records<'_> {
    /// Reads the names of the first of these groups, of at least one. `total` is the number of the zone's records, as far as it is known;
    /// `step` is how long the names of one group took of late, which is noted in it. The first request has this share.
    ///
    /// # Errors
    /// One of the answers is not whole.
    pub(crate) async fn first_of(
        &self,
        groups: &[&Group],
        total: Option<u64>,
        step: &mut Duration,
        share: Share,
    ) -> Result<Reading> {
        self.reading(groups, total, step, share, Some(IN_TIME)).await
    }

    /// The same of all of these groups, before what else waits.
    ///
    /// # Errors
    /// One of the answers is not whole.
    pub(crate) async fn all_of(&self, groups: &[&Group], total: Option<u64>, step: &mut Duration) -> Result<Reading> {
        self.reading(groups, total, step, Share::Next, None).await
    }

    async fn reading(
        &self,
        groups: &[&Group],
        total: Option<u64>,
        step: &mut Duration,
        share: Share,
        limit: Option<Duration>,
    ) -> Result<Reading> {
        let all = apply::names(groups.iter().copied());
        let families = families(&all, &self.zone.name);
        let mut share = share;
        if self.cost_of_whole(total, families.len()).is_some_and(|cost| cost <= WHOLE_AT_MOST) {
            match self.whole(share).await {
                Ok((standing, since)) if since.elapsed() < IN_TIME => {
                    return Ok(Reading { standing: of_names(standing, &all), groups: groups.len(), since });
                }
                Err(error) if error.kind != ErrorKind::Conflict => return Err(error),
                // Its pages moved while they were read, or came too slowly.
                _ => share = Share::Next,
            }
        }
        let of: BTreeMap<&DnsName, usize> =
            families.iter().enumerate().flat_map(|(at, family)| family.iter().map(move |name| (*name, at))).collect();
        let (mut standing, mut since, mut asked_for) = (Groups::new(), None, BTreeSet::new());
        let mut before: Option<&DnsName> = None;
        for (count, group) in groups.iter().enumerate() {
            // The batch takes as long as another group: about a turn. What belongs to one name goes together.
            let is_over = |since: Instant| limit.is_some_and(|limit| since.elapsed() + *step * 2 > limit);
            if before != Some(&group.name)
                && let Some(since) = since.filter(|since| is_over(*since))
            {
                return Ok(Reading { standing, groups: count, since });
            }
            before = Some(&group.name);
            let (begun, so_far) = (Instant::now(), asked_for.len());
            for name in apply::names([*group]) {
                let Some(at) = of.get(&name).filter(|at| asked_for.insert(**at)) else { continue };
                let Some(family) = families.get(*at) else { continue };
                let (found, asked) = self.family(family, share).await?;
                standing.extend(of_names(found, &all));
                since.get_or_insert(asked);
                share = Share::Next;
            }
            if asked_for.len() == so_far {
                continue;
            }
            // The wait for the first turn is not of it. A slow answer is forgotten by and by.
            let (begun, known) = match since {
                Some(since) if since > begun => (since, *step),
                _ => (begun, *step / 2),
            };
            *step = begun.elapsed().max(known);
        }
        Ok(Reading { standing, groups: groups.len(), since: since.unwrap_or_else(Instant::now) })
    }
}
