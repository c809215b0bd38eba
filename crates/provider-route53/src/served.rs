//! Whether changes that were accepted are answered by all servers by now.
//!
//! <https://docs.aws.amazon.com/Route53/latest/APIReference/API_GetChange.html>

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_sdk_route53::types::ChangeStatus;
use zonewright_core::zone::ZoneId;
use zonewright_core::{Result, Zone};

use crate::service::Service;

/// The last change of each zone that was accepted here and is not yet known to be served. Changes of a zone are served in their
/// order, so the last one speaks for all.
#[derive(Debug, Default)]
pub(crate) struct Served(Mutex<BTreeMap<ZoneId, String>>);

impl Served {
    /// Takes note of a change that was accepted, by the id that the service gave it.
    pub(crate) fn accepted(&self, zone: &ZoneId, change: &str) {
        self.waiting().insert(zone.clone(), change.to_owned());
    }

    /// Whether nothing waits in this zone any more. A question only while something does.
    ///
    /// # Errors
    /// The service does not answer.
    pub(crate) async fn ask(&self, service: &Service, zone: &Zone) -> Result<bool> {
        let Some(change) = self.waiting().get(&zone.key.zone).cloned() else { return Ok(true) };
        let id = change.trim_start_matches("/change/");
        let what = format!("change {id} of zone {} ({})", zone.name, zone.key.zone);
        let answer =
            service.read("read change", &what, |client| async move { client.get_change().id(id).send().await }).await?;
        let served = answer.change_info().is_some_and(|info| *info.status() == ChangeStatus::Insync);
        if served {
            let mut waiting = self.waiting();
            if waiting.get(&zone.key.zone) == Some(&change) {
                waiting.remove(&zone.key.zone);
            }
        }
        Ok(served)
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<ZoneId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
