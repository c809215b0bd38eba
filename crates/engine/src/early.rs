//! Names that are served while their zone is being listed for the first time.
//!
//! In: a listing under way, and the names that wait. Out: records that are created or updated, each after a reading of its name that
//! covers every place where its claims may stand. What must hold: all of it takes at most a fifth of the time, so that the listing goes
//! on, and what was asked for before waits for the first seconds of the listing; nothing is deleted, since that rests on the whole view; a name is planned again with all the others when the view is there.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::Result;
use zonewright_core::name::DnsName;
use zonewright_core::provider::Read;
use zonewright_core::record::RecordKey;

use crate::early_names::EarlyNames;
use crate::round;
use crate::worker::Worker;

impl Worker {
    /// Serves a few names between two pages of the first listing.
    pub(crate) async fn serve_early(&mut self, early: &mut EarlyNames, began: Instant) {
        let first = !self.handle.view().is_complete() && self.context.has_started();
        // What a former process left open is read first, and that is done with the whole view.
        if !first || early.is_spent(began) || self.context.journal_writer.has_found(&self.handle.label()) {
            return;
        }
        let waiting = self.handle.inbox.asked_after(early.taken());
        {
            let desired_state = self.context.desired_state();
            let created = |endpoint: &Endpoint| endpoint.origin.created;
            early.fill(waiting, |name| {
                desired_state.table.at(name).endpoints.iter().filter_map(|endpoint| created(endpoint)).max()
            });
        }
        let names = early.take(began);
        if names.is_empty() {
            return;
        }
        let now = Instant::now();
        let served = match self.read_early(&names).await {
            Ok(()) => round::early(self, names.iter().map(|name| (name.clone(), now)).collect()).await,
            Err(problem) => Err(problem),
        };
        early.spend(now.elapsed());
        match served {
            Ok(true) => info!(zone = %self.handle.title, names = names.len(), "served before the zone is listed"),
            Ok(false) => {}
            Err(problem) => warn!(zone = %self.handle.title, error = problem.chain(), "names wait for the listing"),
        }
    }

    /// Reads names, with every name where the registry would look for claims on their records, in each zone of the instance that holds
    /// any of them and is not read completely.
    async fn read_early(&mut self, names: &BTreeSet<DnsName>) -> Result<()> {
        let managed = &self.context.config.managed;
        let keys = names.iter().flat_map(|name| managed.iter().map(|rtype| RecordKey::simple(name.clone(), *rtype)));
        let mut places: BTreeSet<DnsName> = names.clone();
        places.extend(keys.flat_map(|key| self.instance.registry.claim_names(&self.handle.zone, &key)));
        for handle in self.instance.zone_handles() {
            let here: BTreeSet<DnsName> =
                places.iter().filter(|name| name.is_within(&handle.zone.name)).cloned().collect();
            if here.is_empty() || handle.view().is_complete() {
                continue;
            }
            let began = Instant::now();
            let listing = self.instance.provider.records(&handle.zone, Read::Names(&here)).await?;
            let listing = self.instance.named(listing, &handle.zone);
            handle.view_mut().take(listing, Some(&here), began, Duration::ZERO);
        }
        Ok(())
    }
}
