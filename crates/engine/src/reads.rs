//! When a zone is read: its audits, the names of which nothing is sure, and its pauses after failures.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::capability::Audit;
use zonewright_core::name::DnsName;
use zonewright_core::view::Changed;

use crate::config::Config;
use crate::listing_under_way::ListingUnderWay;
use crate::said::Said;

/// The pause of what is not tried again: longer than any process that makes one pass lives.
pub(crate) const NEVER: Duration = Duration::from_hours(24 * 365);

/// What a worker knows of the reading of its zone.
#[derive(Debug)]
pub(crate) struct Reads {
    /// Names of which it is not known what stands there: they are read before anything else.
    unsure: BTreeSet<DnsName>,
    /// Those of them where a write of ours may have been carried out: what is found there is no foreign change.
    doubtful: BTreeSet<DnsName>,
    /// How many records such writes may have made.
    perhaps_made: usize,
    audit_due: Instant,
    /// A listing that stopped at a page.
    pub(crate) listing: Option<ListingUnderWay>,
    /// Pages of the last listing.
    pub(crate) pages: usize,
    /// How long the last listing took.
    listing_took: Option<Duration>,
    /// Until when the zone pauses.
    resume: Option<Instant>,
    /// Within the pause, when to look whether it may end earlier.
    pub(crate) wake: Option<Instant>,
    /// Failures since something went well.
    pub(crate) failures: u32,
    /// Those of them that the metric of failed rounds counts.
    pub(crate) soft_errors: i64,
    /// The failure that was logged.
    pub(crate) said: Said,
    /// The zone is being read: a failure now leaves it unread.
    pub(crate) reading: bool,
    /// Names for which it was reported that the zone does not work, since it last did.
    pub(crate) reported: BTreeSet<DnsName>,
}

impl Reads {
    /// Nothing was read.
    pub(crate) fn new() -> Self {
        Self {
            unsure: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            perhaps_made: 0,
            audit_due: Instant::now(),
            listing: None,
            pages: 0,
            listing_took: None,
            resume: None,
            wake: None,
            failures: 0,
            soft_errors: 0,
            said: Said::default(),
            reading: false,
            reported: BTreeSet::new(),
        }
    }

    /// Names of which nothing is sure any more.
    pub(crate) fn unsure(&mut self, names: impl IntoIterator<Item = DnsName>) {
        self.unsure.extend(names);
    }

    /// Names where a write of ours may or may not have been carried out.
    pub(crate) fn doubt(&mut self, names: BTreeSet<DnsName>) {
        self.unsure.extend(names.iter().cloned());
        self.doubtful.extend(names);
    }

    /// A write of ours may have made so many records. Returns how many all such writes may have made that were not read since.
    pub(crate) fn may_have_made(&mut self, records: usize) -> usize {
        self.perhaps_made += records;
        self.perhaps_made
    }

    /// The names that have to be read before anything else.
    pub(crate) fn to_read(&self) -> &BTreeSet<DnsName> {
        &self.unsure
    }

    /// They have been read.
    pub(crate) fn sure(&mut self) {
        self.unsure.clear();
        self.doubtful.clear();
        self.perhaps_made = 0;
    }

    /// Whether what is found at a name may be a write of ours.
    pub(crate) fn is_doubtful(&self, name: &DnsName) -> bool {
        self.doubtful.contains(name)
    }

    /// Drops what may be a write of ours from what a reading found changed.
    pub(crate) fn foreign(&self, mut changed: Changed) -> Changed {
        changed.retain(|name, _| !self.doubtful.contains(name));
        changed
    }

    pub(crate) fn is_audit_due(&self) -> bool {
        Instant::now() >= self.audit_due
    }

    pub(crate) fn audit_due(&self) -> Instant {
        self.audit_due
    }

    /// What is known of the zone is old.
    pub(crate) fn audit_now(&mut self) {
        self.audit_due = Instant::now();
    }

    /// The zone was read in so much time. Returns the time until the next audit, which is not before the audits of the instance's other
    /// zones leave room for it, at `free`.
    pub(crate) fn audited(&mut self, audit: Audit, took: Duration, free: Instant, config: &Config) -> Duration {
        let period = match audit {
            Audit::Cheap => config.interval,
            Audit::Listing => {
                // One call that stood still says nothing of how long a listing takes: the shorter of the last two counts,
                // and nothing is known after the first.
                let typical = self.listing_took.replace(took).map_or(Duration::ZERO, |former| former.min(took));
                config.interval.max(config.cache_time).max(typical * 10)
            }
        };
        let period = period.max(Duration::from_secs(1)).max(free.saturating_duration_since(Instant::now()));
        self.audit_due = Instant::now() + period;
        period
    }

    /// The zone pauses; `None` is for good. The next turn begins with an audit.
    pub(crate) fn pause(&mut self, pause: Option<Duration>) {
        self.resume = Some(Instant::now() + pause.unwrap_or(NEVER));
        self.audit_now();
    }

    /// The pause that is in force, until when.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        self.resume
    }

    /// The pause is over. Returns until when it would have lasted, if it is cut short.
    pub(crate) fn resume(&mut self) -> Option<Instant> {
        self.resume.take().filter(|at| Instant::now() < *at)
    }

    /// An attempt within a pause does not make it longer.
    pub(crate) fn keep_pause(&mut self, pause: Option<Instant>) {
        if pause.is_some() && self.resume.is_some() {
            self.resume = pause;
        }
    }

    /// Numbers of names of each table.
    pub(crate) fn sizes(&self) -> [(&'static str, usize); 3] {
        [("unsure", self.unsure.len()), ("doubtful", self.doubtful.len()), ("reported_names", self.reported.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_listing_is_made_seldom_and_one_that_stood_still_counts_for_nothing() {
        let config =
            Config { interval: Duration::from_mins(1), cache_time: Duration::from_mins(2), ..Config::default() };
        let mut reads = Reads::new();
        let free = Instant::now();
        let mut period = |audit, secs| reads.audited(audit, Duration::from_secs(secs), free, &config).as_secs();
        assert_eq!(period(Audit::Cheap, 600), 60);
        assert_eq!(period(Audit::Listing, 600), 120, "the first one says nothing");
        assert_eq!(period(Audit::Listing, 20), 200);
        assert_eq!(period(Audit::Listing, 600), 200, "the shorter of two");
        assert_eq!(period(Audit::Listing, 600), 6_000);
        assert!(!reads.is_audit_due());
        let room = Instant::now() + Duration::from_secs(500);
        assert_eq!(reads.audited(Audit::Cheap, Duration::ZERO, room, &config).as_secs(), 500, "other zones go first");
        reads.audit_now();
        assert!(reads.is_audit_due());
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_within_a_pause_does_not_make_it_longer() {
        let mut reads = Reads::new();
        reads.pause(Some(Duration::from_secs(10)));
        let first = reads.paused_until();
        let cut = reads.resume();
        assert_eq!(cut, first);
        reads.pause(Some(Duration::from_mins(1)));
        reads.keep_pause(cut);
        assert_eq!(reads.paused_until(), first);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(reads.resume(), None, "it is over");
        reads.keep_pause(None);
        assert_eq!(reads.paused_until(), None);
    }
}
