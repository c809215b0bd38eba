//! What Gardener waits for after it asked for something: the object as it is read, held against what was asked.
//!
//! Written from the contract, as data in and decision out: the acceptance of any implementation.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

/// How long Gardener waits.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

/// The annotation with the moment of a request.
pub(super) const TIMESTAMP: &str = "gardener.cloud/timestamp";
/// The annotation with what is asked for.
pub(super) const OPERATION: &str = "gardener.cloud/operation";

/// Why an object is not what was waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wait {
    /// It may come.
    Pending(String),
    /// It says that it failed, with these codes.
    Failed(Vec<String>, String),
}

/// Whether an object answers the request that was made with this timestamp.
pub(super) fn accepted(object: &Value, asked: &str) -> Result<(), Wait> {
    let pending = |why: String| Err(Wait::Pending(why));
    let annotations = &object["metadata"]["annotations"];
    if annotations[TIMESTAMP] != asked {
        return pending(format!("the timestamp is {}, not {asked}", annotations[TIMESTAMP]));
    }
    let status = &object["status"];
    if !status["lastError"].is_null() {
        let error = &status["lastError"];
        let codes = error["codes"].as_array().into_iter().flatten();
        let codes = codes.filter_map(|code| code.as_str().map(str::to_owned)).collect();
        return Err(Wait::Failed(codes, error["description"].as_str().unwrap_or_default().to_owned()));
    }
    let (observed, generation) = (&status["observedGeneration"], &object["metadata"]["generation"]);
    if observed != generation {
        return pending(format!("generation {observed} of {generation} was observed"));
    }
    if !annotations[OPERATION].is_null() {
        return pending(format!("the operation {} is still asked for", annotations[OPERATION]));
    }
    let last = &status["lastOperation"];
    if last.is_null() {
        return pending("there was no operation".to_owned());
    }
    if last["state"] != "Succeeded" {
        return pending(format!("the last operation is {}", last["state"]));
    }
    let (Some(asked), Some(done)) = (time(asked), last["lastUpdateTime"].as_str().and_then(time)) else {
        return pending("a time cannot be read".to_owned());
    };
    if asked.as_second() > done.as_second() {
        return pending(format!("the last operation was at {done}, before {asked}"));
    }
    Ok(())
}

fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Now, as Gardener writes it: with fractions of a second.
pub(super) fn now() -> String {
    Timestamp::now().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({
            "metadata": { "generation": 2, "annotations": { TIMESTAMP: "2026-01-31T12:00:00.999999999Z" } },
            "status": {
                "observedGeneration": 2,
                "lastOperation": { "state": "Succeeded", "lastUpdateTime": "2026-01-31T12:00:00Z" },
            },
        })
    }

    const ASKED: &str = "2026-01-31T12:00:00.999999999Z";

    #[test]
    fn each_condition_counts() {
        assert_eq!(accepted(&object(), ASKED), Ok(()), "whole seconds are compared");
        let with = |path: &[&str], value: Value| {
            let mut object = object();
            let place = path.iter().fold(&mut object, |place, key| &mut place[*key]);
            *place = value;
            accepted(&object, ASKED)
        };
        assert!(with(&["metadata", "annotations", TIMESTAMP], json!("2026-01-31T11:00:00Z")).is_err());
        assert!(with(&["metadata", "generation"], json!(3)).is_err());
        assert!(with(&["metadata", "annotations", OPERATION], json!("")).is_err());
        assert!(with(&["status", "lastOperation"], Value::Null).is_err());
        assert!(with(&["status", "lastOperation", "state"], json!("Processing")).is_err());
        assert!(with(&["status", "lastOperation", "lastUpdateTime"], json!("2026-01-31T11:59:59Z")).is_err());
        let failed = with(&["status", "lastError"], json!({ "description": "no", "codes": ["ERR_X"] }));
        assert_eq!(failed, Err(Wait::Failed(vec!["ERR_X".to_owned()], "no".to_owned())));
    }

    /// Of several things that are not as they should be the first one counts, in Gardener's own order.
    #[test]
    fn conditions_are_looked_at_in_gardeners_order() {
        let mut object = json!({
            "metadata": { "generation": 2, "annotations": { OPERATION: "reconcile", TIMESTAMP: "2026-01-31T11:00:00Z" } },
            "status": { "lastError": { "description": "no" }, "observedGeneration": 1 },
        });
        let mut said = |path: &str, value: Value| {
            if !path.is_empty() {
                *object.pointer_mut(path).expect("a place") = value;
            }
            match accepted(&object, ASKED) {
                Ok(()) => "accepted".to_owned(),
                Err(Wait::Failed(..)) => "failed".to_owned(),
                Err(Wait::Pending(why)) => why.split(' ').take(3).collect::<Vec<_>>().join(" "),
            }
        };
        assert_eq!(said("", Value::Null), "the timestamp is");
        let annotations = json!({ OPERATION: "reconcile", TIMESTAMP: ASKED });
        assert_eq!(said("/metadata/annotations", annotations), "failed");
        assert_eq!(said("/status", json!({ "observedGeneration": 1 })), "generation 1 of");
        assert_eq!(said("/status", json!({ "observedGeneration": 2 })), "the operation \"reconcile\"");
        assert_eq!(said("/metadata/annotations", json!({ TIMESTAMP: ASKED })), "there was no");
        let last = |state: &str, at: &str| json!({ "observedGeneration": 2, "lastOperation": { "state": state, "lastUpdateTime": at } });
        assert_eq!(said("/status", last("Error", "2026-01-31T11:00:00Z")), "the last operation");
        assert_eq!(said("/status", last("Succeeded", "2026-01-31T11:00:00Z")), "the last operation");
        assert_eq!(said("/status", last("Succeeded", "2026-01-31T12:00:00Z")), "accepted");
    }
}
