//! The registry suite, over one table for both owners.

use std::sync::{Mutex, PoisonError};

use zonewright_conformance::registry::{Harness, LostUpdate};
use zonewright_core::registry::Registry;
use zonewright_fakes::dynamodb::DynamoDb;
use zonewright_registry_dynamodb::DynamoRegistry;

use crate::support::{registry, service};

struct Pair {
    ours: DynamoRegistry,
    theirs: DynamoRegistry,
    /// Of our owner, not used yet.
    spare: Mutex<Vec<DynamoRegistry>>,
    _service: DynamoDb,
}

impl Harness for Pair {
    fn ours(&self) -> &dyn Registry {
        &self.ours
    }

    fn theirs(&self) -> Option<&dyn Registry> {
        Some(&self.theirs)
    }

    fn lost_update(&self) -> LostUpdate {
        LostUpdate::Former
    }

    fn again(&self) -> Box<dyn Registry> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Box::new(spare.expect("no case starts more often than there are spares"))
    }
}

/// The most restarts of a case: three for each kind of record.
const RESTARTS: usize = 60;

async fn harness() -> Option<Pair> {
    let service = service();
    let mut spare = Vec::new();
    for _ in 0..RESTARTS {
        spare.push(registry(&service, "me").await);
    }
    let (ours, theirs) = (registry(&service, "me").await, registry(&service, "other").await);
    Some(Pair { ours, theirs, spare: Mutex::new(spare), _service: service })
}

zonewright_conformance::registry_suite!(harness);
