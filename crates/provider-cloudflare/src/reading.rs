//! What stands at the names of groups, read so that they may be written by it.
//!
//! In: groups, in their order. Out: what stands at the names of the first of them, of as many as can be read and sent while the reading is
//! good. What must hold: a reading is as old as the first of its requests, and has all names of each group that it is for. It is good
//! for [`READ_HOLDS`]. The names of the first group are read whatever time they take, and where that is much, a reading of them alone is
//! good for as long as their requests need: so a change of any size goes on, part by part, at any pace.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::change::Group;
use zonewright_core::{DnsName, ErrorKind, Result, turn};
use zonewright_http::Share;

use crate::apply;
use crate::asked::Asked;
use crate::families::Families;
use crate::records::{Groups, Records, of_names};

/// How long what was read is good enough to write by: the service compares nothing. What has to wait for longer goes back unsent, and its
/// names are read again before it.
const READ_HOLDS: Duration = Duration::from_secs(3);

/// The names of one group cannot be read in parts: what was read of them alone is good for so many times what their requests need, with
/// their turns and answers, where that is more. The rest is for those who may go first too.
const NEEDS: u32 = 2;

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
    since: Instant,
    /// How long it is good, from then on.
    holds: Duration,
}

impl Reading {
    /// Whether it will be too old when something more was asked that takes so long.
    pub(crate) fn is_old_after(&self, step: Duration) -> bool {
        self.since.elapsed() + step > IN_TIME
    }

    /// How long it is good from now on.
    pub(crate) fn rest(&self) -> Duration {
        self.holds.saturating_sub(self.since.elapsed())
    }
}

/// What the readings of one call have shown, for the next ones.
#[derive(Debug, Default)]
pub(crate) struct PastReadings {
    /// How long the names of one group took of late.
    pub(crate) step: Duration,
    /// More records end as one of these names than fit on a page.
    large: BTreeSet<DnsName>,
    /// The pages of the whole zone took too long.
    whole_is_slow: bool,
}

/// What was read so far by names.
#[derive(Debug)]
struct Found {
    standing: Groups,
    /// Positions of the families that were read.
    families: BTreeSet<usize>,
    /// The requests for what is in it.
    asked: Option<Asked>,
    /// Of the next request.
    share: Share,
}

/// The first groups, those of one name: they go together.
pub(crate) fn of_first_name<'a, 'g>(groups: &'a [&'g Group]) -> &'a [&'g Group] {
    let name = groups.first().map(|group| &group.name);
    let count = groups.iter().take_while(|group| Some(&group.name) == name).count();
    groups.get(..count).unwrap_or(groups)
}

impl Records<'_> {
    /// Reads the names of the first of these groups, of at least one. `total` is the number of the zone's records, as far as it is known;
    /// what this reading shows is noted in `past`. The first request has this share.
    ///
    /// # Errors
    /// One of the answers is not whole.
    pub(crate) async fn first_of(
        &self,
        groups: &[&Group],
        total: Option<u64>,
        past: &mut PastReadings,
        share: Share,
    ) -> Result<Reading> {
        self.reading(groups, total, past, share, Some(IN_TIME)).await
    }

    /// The same of all of these groups, before what else waits.
    ///
    /// # Errors
    /// One of the answers is not whole.
    pub(crate) async fn all_of(
        &self,
        groups: &[&Group],
        total: Option<u64>,
        past: &mut PastReadings,
    ) -> Result<Reading> {
        self.reading(groups, total, past, Share::Next, None).await
    }

    async fn reading(
        &self,
        groups: &[&Group],
        total: Option<u64>,
        past: &mut PastReadings,
        share: Share,
        limit: Option<Duration>,
    ) -> Result<Reading> {
        let all = apply::names(groups.iter().copied());
        let mut families = Families::new(&all, |name| *name == self.zone.name || past.large.contains(name));
        let (mut share, mut by_names) = (share, past.whole_is_slow);
        loop {
            let cost = self.cost_of_whole(total, families.len());
            if !by_names && cost.is_some_and(|cost| cost <= WHOLE_AT_MOST) {
                match self.whole(share).await {
                    Ok((standing, Asked { since, .. })) if self.is_in_time(since) => {
                        let standing = of_names(standing, &all);
                        return Ok(Reading { standing, groups: groups.len(), since, holds: READ_HOLDS });
                    }
                    Ok(_) => past.whole_is_slow = true,
                    // Its pages moved while they were read.
                    Err(error) if error.kind == ErrorKind::Conflict => {}
                    Err(error) => return Err(error),
                }
                (share, by_names) = (Share::Next, true);
            }
            if let Some(reading) = self.by_names(groups, &mut families, past, share, limit).await? {
                return Ok(reading);
            }
            share = Share::Next;
        }
    }

    /// Whether a batch goes in time by what was asked for since then. It may have to wait for a turn of others before its own.
    fn is_in_time(&self, since: Instant) -> bool {
        since.elapsed() < IN_TIME.min(READ_HOLDS.saturating_sub(self.turn * 2))
    }

    /// Reads names family by family, group by group. Nothing where a family turned out to be more than one before anything was read: it may
    /// be cheaper now to read the whole zone.
    async fn by_names(
        &self,
        groups: &[&Group],
        families: &mut Families<'_>,
        past: &mut PastReadings,
        share: Share,
        limit: Option<Duration>,
    ) -> Result<Option<Reading>> {
        let mut found = Found { standing: Groups::new(), families: BTreeSet::new(), asked: None, share };
        let mut before: Option<&DnsName> = None;
        for (count, group) in groups.iter().enumerate() {
            // The batch takes as long as another group: about a turn. What belongs to one name goes together.
            let is_over = |since: Instant| limit.is_some_and(|limit| since.elapsed() + past.step * 2 > limit);
            if before != Some(&group.name) && found.asked.is_some_and(|asked| is_over(asked.since)) {
                return Ok(Some(self.read_of(groups.get(..count).unwrap_or(groups), found)));
            }
            before = Some(&group.name);
            let (begun, so_far) = (Instant::now(), found.families.len());
            for name in apply::names([*group]) {
                if !self.read_name(&name, families, past, &mut found).await? {
                    return Ok(None);
                }
            }
            if found.families.len() == so_far {
                continue;
            }
            // The wait for the first turn is not of it. A slow answer is forgotten by and by, here and from part to part.
            let (begun, known) = match found.asked {
                Some(Asked { since, .. }) if since > begun => (since, past.step),
                _ => (begun, past.step / 2),
            };
            past.step = begun.elapsed().max(known);
        }
        Ok(Some(self.read_of(groups, found)))
    }

    /// Reads what stands at a name, with the rest of its family. False where nothing was read before, and its family is too large for a
    /// page.
    async fn read_name(
        &self,
        name: &DnsName,
        families: &mut Families<'_>,
        past: &mut PastReadings,
        found: &mut Found,
    ) -> Result<bool> {
        while let Some(position) = families.position(name).filter(|position| !found.families.contains(position)) {
            let Some(family) = families.at(position) else { break };
            let answer = self.family(family, found.share).await?;
            // Many names that take long to answer for are no silence.
            turn::progress();
            found.share = Share::Next;
            if let Some((records, asked)) = answer {
                found.standing.extend(of_names(records, families.names));
                found.families.insert(position);
                found.asked = Some(found.asked.map_or(asked, |first| first.and(asked)));
                continue;
            }
            // What that page showed is not used: it makes nothing older.
            past.large.extend(families.split(position).cloned());
            if found.asked.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What was read of all names of these groups.
    fn read_of(&self, groups: &[&Group], found: Found) -> Reading {
        let is_alone = of_first_name(groups).len() == groups.len();
        let needs = found.asked.filter(|_| is_alone).map(|asked| asked.needs(self.turn).saturating_mul(NEEDS));
        Reading {
            standing: found.standing,
            groups: groups.len(),
            since: found.asked.map_or_else(Instant::now, |asked| asked.since),
            holds: READ_HOLDS.max(needs.unwrap_or_default()),
        }
    }
}
