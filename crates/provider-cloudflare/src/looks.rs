//! What zones had beside their records at the last look.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use zonewright_core::Zone;
use zonewright_core::zone::ZoneId;

use crate::beside::Beside;
use crate::client::Service;
use crate::config::Defaults;

/// How long a look is good for comparing. What is taken away is looked at anew, however young the last look is.
const GOOD: Duration = Duration::from_mins(1);

/// The last look at each zone.
#[derive(Debug, Default)]
pub(crate) struct Looks(Mutex<HashMap<ZoneId, Look>>);

#[derive(Debug)]
struct Look {
    beside: Arc<Beside>,
    /// When it began; nothing where it was incomplete, or something of ours was changed since.
    at: Option<Instant>,
}

impl Looks {
    /// What the zone has, asked for anew.
    pub(crate) async fn anew(&self, service: &Service, zone: &Zone, defaults: &Defaults) -> Arc<Beside> {
        let (begun, former) = (Instant::now(), self.last(zone));
        let beside = Arc::new(Beside::read(service, zone, defaults, former.as_deref()).await);
        let at = beside.is_complete().then_some(begun);
        self.lock().insert(zone.key.zone.clone(), Look { beside: beside.clone(), at });
        beside
    }

    /// What the zone had at a look that is still good, if there was one.
    pub(crate) fn recent(&self, zone: &Zone) -> Option<Arc<Beside>> {
        let looks = self.lock();
        let look = looks.get(&zone.key.zone)?;
        look.at.is_some_and(|at| at.elapsed() < GOOD).then(|| look.beside.clone())
    }

    /// What the zone had at the last look, if there was one.
    pub(crate) fn last(&self, zone: &Zone) -> Option<Arc<Beside>> {
        self.lock().get(&zone.key.zone).map(|look| look.beside.clone())
    }

    /// Something of the zone is changed: the last look is not good any more.
    pub(crate) fn changed(&self, zone: &Zone) {
        if let Some(look) = self.lock().get_mut(&zone.key.zone) {
            look.at = None;
        }
    }

    /// Forgets the zones that are no longer there.
    pub(crate) fn retain(&self, is_there: impl Fn(&ZoneId) -> bool) {
        self.lock().retain(|id, _| is_there(id));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ZoneId, Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
