//! Writes into the status of DNSEndpoints which generation was read and what is wrong with it.
//!
//! In come the statuses that became due while objects were mapped; out go writes, one after the other. What must hold: a
//! status that cannot be written holds up nothing, and is tried again a few times.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use zonewright_cluster::{Cluster, WatchKey, WatchSpec};

use crate::kind::Kind;
use crate::source::K8sSource;
use crate::sources::crd::Status;
use crate::store::ObjectKey;

/// Attempts for one status.
const ATTEMPTS: u32 = 4;

/// Goes on until `ending` is over, and writes what is due by then.
pub(crate) async fn run(cluster: Cluster, source: Arc<K8sSource>, ending: impl Future<Output = ()>) {
    let row = Kind::DnsEndpoint.spec();
    let kind = WatchSpec::new(row.group, row.version, row.plural, row.name, row.namespaced);
    let mut ending = pin!(ending);
    let mut ended = false;
    while !ended {
        let due = tokio::select! {
            due = source.due_statuses() => due,
            () = &mut ending => {
                ended = true;
                source.take_statuses()
            }
        };
        for (key, status) in due {
            write(&cluster, &kind, &key, &status).await;
        }
    }
}

async fn write(cluster: &Cluster, kind: &WatchSpec, key: &ObjectKey, status: &Status) {
    let place = WatchKey { namespace: key.namespace.to_string(), name: key.name.to_string(), uid: String::new() };
    let fields = fields(status);
    for attempt in 1..=ATTEMPTS {
        let Err(error) = cluster.write_status(kind, &place, status.observed_generation, &fields).await else { return };
        if attempt == ATTEMPTS {
            tracing::warn!(object = %key, error = error.chain(), "the status could not be written");
        }
        sleep(Duration::from_secs(1) * attempt).await;
    }
}

/// `observedGeneration` is external-dns'. The condition is ours, and kept only where the resource definition has a place for
/// it.
fn fields(status: &Status) -> Value {
    let good = status.problems.is_empty();
    let message =
        if good { format!("{} record sets are asked for", status.endpoints) } else { status.problems.join("; ") };
    let condition = json!({
        "type": "Accepted",
        "status": if good { "True" } else { "False" },
        "reason": if good { "Valid" } else { "InvalidEndpoint" },
        "message": message,
        "observedGeneration": status.observed_generation,
    });
    json!({ "observedGeneration": status.observed_generation, "conditions": [condition] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_in_the_condition() {
        let status = |problems: &[&str]| Status {
            observed_generation: 3,
            is_due: true,
            endpoints: 2,
            problems: problems.iter().map(|problem| (*problem).to_owned()).collect(),
        };
        let good = fields(&status(&[]));
        assert_eq!(good["observedGeneration"], 3);
        assert_eq!(
            (&good["conditions"][0]["status"], &good["conditions"][0]["reason"]),
            (&json!("True"), &json!("Valid"))
        );
        let bad = fields(&status(&["a", "b"]));
        assert_eq!(bad["conditions"][0]["status"], "False");
        assert_eq!(bad["conditions"][0]["message"], "a; b");
    }
}
