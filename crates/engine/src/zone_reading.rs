//! What a worker reads of its zone, and who is to be planned again for it.

use std::collections::BTreeSet;

use tokio::time::Instant;
use tracing::{debug, info};
use zonewright_core::capability::Audit;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::name::DnsName;
use zonewright_core::provider::{Listing, Read};
use zonewright_core::record::RecordKey;
use zonewright_core::registry::ExternalChanges;
use zonewright_core::turn;
use zonewright_core::view::Changed;

use crate::contested;
use crate::journal::owner_of;
use crate::listing_under_way::{Listed, ListingUnderWay};
use crate::worker::Worker;

/// More names are not looked up one by one.
const MOST_LOOKED_UP: usize = 200;

impl Worker {
    /// Reads the zone: completely at first, then what changed. Returns whether that went well.
    pub(crate) async fn read_zone(&mut self) -> bool {
        if let Err(problem) = self.instance.registry.load().await {
            self.failed(problem);
            return false;
        }
        let token = { self.handle.view().token().cloned() };
        let complete = self.handle.view().is_complete();
        let read = match token.filter(|_| complete) {
            Some(token) => {
                let began = Instant::now();
                let since = self.instance.provider.records(&self.handle.zone, Read::Since(&token));
                let (listing, took) = turn::timed(since).await;
                listing.map(|listing| Listed { listing, began, took })
            }
            None => self.list().await,
        };
        match read {
            Ok(listed) => {
                // A transfer shows where it ends, and an answer without news is one about the whole zone.
                let whole = !matches!(listed.listing, Listing::Full { .. });
                let news = self.took(listed, complete).await;
                // Names that are read next are known as they were before: what a registry missed there would be no finding.
                let unsure = !self.reads.to_read().is_empty();
                (whole || self.look_up_missing().await) && (unsure || self.resync(news).await)
            }
            Err(problem) => {
                self.failed(problem);
                false
            }
        }
    }

    /// Lists the zone, page by page; goes on where an earlier attempt stopped.
    async fn list(&mut self) -> Result<Listed> {
        let mut listing = self.reads.listing.take().unwrap_or_else(ListingUnderWay::begin);
        let gauge = self.context.metrics.listing.get_or_create(&self.label()).clone();
        let read = loop {
            if self.cancel.is_cancelled() {
                break Err(Error::new(ErrorKind::Unavailable, "list records", "the process stops"));
            }
            let before = listing.pages();
            match listing.turn(&*self.instance.provider, &self.handle.zone, &gauge).await {
                Ok(Some(whole)) => {
                    self.reads.pages = before + 1;
                    break Ok(whole);
                }
                Ok(None) => {
                    let began = listing.began();
                    self.serve_early(&mut listing.early, began).await;
                }
                Err(problem) => {
                    // What was read stays: the next attempt asks for the page that failed.
                    self.reads.listing = Some(listing);
                    break Err(problem);
                }
            }
        };
        if read.is_ok() {
            gauge.set(0);
        }
        read
    }

    /// Looks up by name what is claimed outside the zone and a listing does not show: one that lacks its end says nothing of it,
    /// and a claim on a record that stands must not end. Returns whether that went well. Where very much is missing, the
    /// registry doubts the listing as a whole.
    async fn look_up_missing(&mut self) -> bool {
        let instance = self.instance.clone();
        let cheap = instance.provider.capability(Some(&self.handle.zone)).audit == Audit::Cheap;
        if cheap || self.context.config.dry_run {
            return true;
        }
        let missing = instance.registry.leftovers(&self.handle.zone, &*self.instance);
        let names: BTreeSet<DnsName> = missing.into_iter().map(|group| group.name).collect();
        if names.is_empty() || names.len() > MOST_LOOKED_UP {
            return true;
        }
        match self.read_names(&names).await {
            Ok(found) => {
                if !found.is_empty() {
                    info!(zone = %self.handle.title, names = found.len(), "the listing lacked records that stand");
                    self.handle.inbox.put_back(found.into_keys().map(|name| (name, Instant::now())));
                }
                true
            }
            Err(problem) => {
                self.failed(problem);
                false
            }
        }
    }

    /// Lets the registry bring what it keeps outside the zone in step with the view. Returns whether that went well.
    async fn resync(&mut self, changed: bool) -> bool {
        if self.context.config.dry_run {
            return true;
        }
        match self.instance.registry.resync(&self.handle.zone, &*self.handle, changed).await {
            Ok(ExternalChanges { names, contested }) => {
                contested::note_claims(self, &contested);
                if !names.is_empty() {
                    info!(zone = %self.handle.title, names = names.len(), "claims were changed by others");
                    self.recount().await;
                    self.handle.inbox.put_back(names.into_iter().map(|name| (name, Instant::now())));
                }
                true
            }
            Err(problem) => {
                self.failed(problem);
                false
            }
        }
    }

    /// Takes a listing over. Returns whether it may show something new.
    async fn took(&mut self, listed: Listed, audit: bool) -> bool {
        let Listed { listing, began, took } = listed;
        let full = matches!(listing, Listing::Full { .. });
        let capability = self.capability();
        let listing = self.instance.named(listing, &self.handle.zone);
        let changed = self.handle.view_mut().take(listing, None, began, capability.settle);
        self.handle.status().listed = true;
        let free = match capability.audit {
            Audit::Cheap => began,
            Audit::Listing => self.instance.audits.book(self.reads.pages, capability.audit_pace),
        };
        let period = self.reads.audited(capability.audit, took, free, &self.context.config);
        self.context.metrics.audit_period.get_or_create(&self.label()).set(period.as_secs_f64());
        if full {
            self.recount().await;
            self.context.state.zone(&self.handle.label(), |_| ());
            let (zone, sets, owned) = (&self.handle.title, self.handle.view().len(), self.claims.owned);
            let audit_every = zonewright_core::duration::show(period);
            if audit {
                debug!(%zone, record_sets = sets, owned, audit_every, "zone read");
            } else {
                info!(%zone, record_sets = sets, owned, audit_every, "zone read");
            }
        }
        if !full {
            self.recount_changed(&changed).await;
        }
        let news = full || !changed.is_empty();
        if !audit {
            self.wake_above();
        }
        if audit && !changed.is_empty() {
            info!(zone = %self.handle.title, names = changed.len(), "the zone was changed by others");
            let names: Vec<DnsName> = changed.keys().cloned().collect();
            self.wake_neighbours(changed.keys());
            contested::note(self, changed);
            self.handle
                .inbox
                .put_back(names.into_iter().flat_map(|name| self.concerned(name)).map(|n| (n, Instant::now())));
        }
        self.publish_owned();
        news
    }

    /// The names to plan again after `name` changed: itself, and where it holds claims, all that we want or own.
    fn concerned(&self, name: DnsName) -> BTreeSet<DnsName> {
        let registry = &self.instance.registry;
        let claims = self.handle.view().at(&name).iter().any(|set| registry.is_claim(set));
        if claims || self.handle.view().at(&name).is_empty() { self.all_names() } else { BTreeSet::from([name]) }
    }

    /// Names that were read hold something else than was known: records that they may be claims on are planned again. No later listing
    /// shows that anything has changed.
    pub(crate) fn wake_claimed(&self, changed: &Changed) {
        if changed.is_empty() {
            return;
        }
        let (registry, zone) = (&self.instance.registry, &self.handle.zone);
        let names = changed.keys().flat_map(|name| registry.record_names(zone, name));
        self.handle.inbox.again(names.filter(|name| name.is_within(&zone.name)));
        self.wake_neighbours(changed.keys());
    }

    /// These names have changed, by somebody or by a write of ours. Claims on the apex of another zone may stand in this one, and give no
    /// right there while that zone has none of its own: where they changed, that apex is planned again. The other way round, so is the
    /// name of our apex in the zones above.
    pub(crate) fn wake_neighbours<'n>(&self, changed: impl Iterator<Item = &'n DnsName>) {
        let (instance, zone) = (&self.instance, &self.handle.zone);
        if instance.has_one_zone() {
            return;
        }
        let of = |name: &DnsName| instance.registry.record_names(zone, name).into_iter().chain([name.clone()]);
        let names: BTreeSet<DnsName> = changed.flat_map(of).collect();
        if names.contains(&zone.name) {
            self.wake_above();
        }
        for handle in instance.others_named(&zone.key, &names) {
            handle.inbox.again([handle.zone.name.clone()]);
        }
    }

    /// Whose the records at our apex's name are in the zones above depends on what stands here: it is planned again there.
    fn wake_above(&self) {
        let apex = &self.handle.zone.name;
        for handle in self
            .instance
            .zone_handles()
            .iter()
            .filter(|handle| handle.zone.name != *apex && apex.is_within(&handle.zone.name))
        {
            handle.inbox.again([apex.clone()]);
        }
    }

    /// Reads the names of which it is not known what stands there. Returns whether that went well.
    pub(crate) async fn read_unsure(&mut self) -> bool {
        let names = self.reads.to_read().clone();
        if names.is_empty() {
            return true;
        }
        match self.read_names(&names).await {
            Ok(changed) => {
                contested::note(self, changed);
                self.reads.sure();
                self.settle_journal(&names).await;
                // What was found open since is read next.
                self.read_what_is_open();
                self.resync(true).await
            }
            Err(problem) => {
                self.failed(problem);
                false
            }
        }
    }

    /// Has the names read of what an earlier process, or a command, left open in the journal.
    pub(crate) fn read_what_is_open(&mut self) {
        self.reads.doubt(self.context.journal_writer.open_names(&self.handle.zone));
    }

    /// Closes what was open in the journal, now that these names have been read.
    async fn settle_journal(&self, read: &BTreeSet<DnsName>) {
        let registry = &self.instance.registry;
        let owner = |key: &RecordKey| owner_of(&self.ownership(key), registry.owner());
        let stands = |key: &RecordKey| self.handle.view().find(key);
        let is_read = |name: &DnsName| read.contains(name);
        let entries = self.context.journal_writer.settle(&self.handle.zone, is_read, stands, owner).await;
        if entries > 0 {
            info!(zone = %self.handle.title, entries, "unsettled entries of the journal were settled by a reading");
        }
    }
}
