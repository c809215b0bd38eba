//! What stands at a name in a zone, by the view and by a server that is asked.

use std::collections::BTreeSet;

use tokio::time::timeout;
use zonewright_core::capability::Audit;
use zonewright_core::claim::Ownership;
use zonewright_core::explain::{Cause, Finding, PublishedSet};
use zonewright_core::provider::{Listing, Read};
use zonewright_core::record::{RecordKey, RecordSet};

use super::journal::{self, Written};
use super::zone::{Findings, NameInZone, PATIENCE};

impl NameInZone<'_> {
    /// What stands at the name, and whose it is.
    pub(super) fn standing(&self, out: &mut Findings) {
        let sets = self.handle.view().at(self.name);
        let shown = sets.iter().filter(|set| !self.instance.is_claim(&self.handle.zone, set));
        out.zone.published = shown.map(|set| self.published(set)).collect();
        if out.zone.published.is_empty() {
            out.zone.deleted = journal::deleted(&self.entries, &self.handle.label());
        }
    }

    fn published(&self, set: &RecordSet) -> PublishedSet {
        let (owner, resource) = match self.ownership(&set.key) {
            Ownership::Ours(claim) => ("ours".to_owned(), claim.and_then(|claim| claim.resource)),
            Ownership::Foreign(owner) => (owner.to_string(), None),
            Ownership::Disputed(owners) => {
                (owners.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), None)
            }
            Ownership::Unclaimed => ("nobody".to_owned(), None),
        };
        let written = self.written(&set.key);
        PublishedSet {
            record: set.to_string(),
            owner,
            resource: resource.map(|resource| resource.to_string()),
            claims: self.claim_names(&set.key),
            since: written.as_ref().map(|written| written.at.clone()),
            by: written.map(|written| written.by).unwrap_or_default(),
        }
    }

    pub(super) fn written(&self, key: &RecordKey) -> Option<Written> {
        journal::written(&self.entries, &self.handle.label(), key)
    }

    pub(super) fn ownership(&self, key: &RecordKey) -> Ownership {
        self.instance.ownership(&self.handle.zone, key)
    }

    pub(super) fn claim_names(&self, key: &RecordKey) -> Vec<String> {
        let names = self.instance.registry.claim_names(&self.handle.zone, key);
        names.into_iter().map(|name| name.to_string()).collect()
    }

    /// What a server answers now: the provider's own, where it is one that is asked by name, else those that the zone names.
    pub(super) async fn served(&self, out: &mut Findings) {
        if self.instance.provider.capability(Some(&self.handle.zone)).audit != Audit::Cheap {
            return self.ask_name_servers(out).await;
        }
        let names = BTreeSet::from([self.name.clone()]);
        let asked = self.instance.provider.records(&self.handle.zone, Read::Names(&names));
        let sets = match timeout(PATIENCE, asked).await {
            Ok(Ok(Listing::Names(sets) | Listing::Full { sets, .. })) => sets,
            Ok(Ok(_)) => return,
            Ok(Err(error)) => {
                out.zone.served = vec![format!("no answer: {}", error.chain())];
                return;
            }
            Err(_) => {
                out.zone.served = vec!["no answer within 3 seconds".to_owned()];
                return;
            }
        };
        let shown = sets.iter().filter(|set| set.key.name == *self.name);
        out.zone.served = shown.map(ToString::to_string).collect();
        let answers = |known: &RecordSet| sets.iter().any(|set| set.key == known.key && set.data == known.data);
        let known = self.handle.view().at(self.name);
        let ours = known.iter().filter(|set| self.ownership(&set.key).is_ours());
        let lost: Vec<String> = ours.filter(|set| !answers(set)).map(ToString::to_string).collect();
        if out.zone.served.is_empty() {
            out.zone.served.push("nothing stands at the name".to_owned());
        }
        if let Some(record) = lost.first().filter(|_| out.undone.is_empty() && !out.published.is_empty()) {
            let said = format!("its server answers: {}", out.zone.served.join("; "));
            let about = [
                ("name", self.name.to_string()),
                ("record", record.clone()),
                ("zone", self.handle.zone.name.to_string()),
                ("detail", said),
            ];
            out.undone.push(Finding::new(Cause::NotServed, about));
        }
    }
}
