//! Whether changes that were accepted are sent to all servers by now.
//!
//! <https://cloud.google.com/dns/docs/reference/rest/v1/changes/get>

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zonewright_core::zone::ZoneId;
use zonewright_core::{Result, Zone};
use zonewright_http::Request;

use crate::client::Service;
use crate::operation::READ_CHANGE;
use crate::wire;

/// The last change of each zone that was accepted here and is not yet known to be served. Changes of a zone are served in their
/// order, so the last one speaks for all.
#[derive(Debug, Default)]
pub(crate) struct Served(Mutex<BTreeMap<ZoneId, String>>);

impl Served {
    /// Takes note of a change that was accepted.
    pub(crate) fn accepted(&self, zone: &ZoneId, change: wire::Change) {
        let mut waiting = self.waiting();
        if change.status == "done" {
            waiting.remove(zone);
        } else {
            waiting.insert(zone.clone(), change.id);
        }
    }

    /// Forgets the zones that are no longer there.
    pub(crate) fn retain(&self, is_there: impl Fn(&ZoneId) -> bool) {
        self.waiting().retain(|zone, _| is_there(zone));
    }

    /// Whether nothing waits in this zone any more. A question only while something does.
    ///
    /// # Errors
    /// The service does not answer.
    pub(crate) async fn ask(&self, service: &Service, zone: &Zone) -> Result<bool> {
        let Some(id) = self.waiting().get(&zone.key.zone).cloned() else { return Ok(true) };
        let request = Request::get("/projects/{project}/managedZones/{zone}/changes/{change}");
        let request = request.set("zone", &zone.key.zone).set("change", &id);
        let change: wire::Change = service.ask(READ_CHANGE, request).await?;
        let served = change.status == "done";
        if served {
            let mut waiting = self.waiting();
            if waiting.get(&zone.key.zone) == Some(&id) {
                waiting.remove(&zone.key.zone);
            }
        }
        Ok(served)
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<ZoneId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
