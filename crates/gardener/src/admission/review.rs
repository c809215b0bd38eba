//! One AdmissionReview (admission.k8s.io/v1) and its answer.
//!
//! Data in, decision out. What cannot be read as a review of a DNSRecord is an error of the call, which the webhook configuration's
//! `failurePolicy` decides on; a DNSRecord that cannot be read is refused.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::validate::{FieldError, LISTED, UncheckedSpec, sentence, spec_errors};

/// The API version of reviews.
const VERSION: &str = "admission.k8s.io/v1";
/// The kind of reviews.
const KIND: &str = "AdmissionReview";
/// What this webhook is about.
const GROUP: &str = "extensions.gardener.cloud";
const RESOURCE: &str = "dnsrecords";

/// Why a request is no review of a DNSRecord.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableReview {
    /// It is no JSON, or not of this form.
    #[error("the body is no AdmissionReview: {0}")]
    Form(#[from] serde_json::Error),
    /// Another version or kind.
    #[error("expected an AdmissionReview of admission.k8s.io/v1, found {kind:?} of {version:?}")]
    Kind {
        /// The API version that was sent.
        version: String,
        /// The kind that was sent.
        kind: String,
    },
    /// A review without its request.
    #[error("the AdmissionReview has no request")]
    Empty,
    /// The webhook configuration names other resources.
    #[error("this webhook is about dnsrecords.extensions.gardener.cloud, and was asked about {0}")]
    Resource(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Review {
    api_version: String,
    kind: String,
    request: Option<Request>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Request {
    uid: String,
    resource: Resource,
    sub_resource: String,
    operation: String,
    object: Value,
    old_object: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Resource {
    group: String,
    resource: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Object {
    metadata: Metadata,
    spec: UncheckedSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    namespace: String,
    deletion_timestamp: Option<String>,
}

/// The answer to a review.
///
/// # Errors
/// It is no review of a DNSRecord.
pub fn review(body: &[u8]) -> Result<Value, UnreadableReview> {
    let review: Review = serde_json::from_slice(body)?;
    if review.api_version != VERSION || review.kind != KIND {
        return Err(UnreadableReview::Kind { version: review.api_version, kind: review.kind });
    }
    let request = review.request.ok_or(UnreadableReview::Empty)?;
    let Resource { group, resource } = &request.resource;
    if group != GROUP || resource != RESOURCE {
        return Err(UnreadableReview::Resource(format!("{resource}.{group}")));
    }
    let errors = verdict(&request);
    Ok(answer(&request, &errors))
}

/// What is wrong with what is asked for. Deletes, and parts of an object such as its status, are not ours to judge.
fn verdict(request: &Request) -> Vec<FieldError> {
    let (new, old) = match (request.operation.as_str(), request.sub_resource.as_str()) {
        ("CREATE", "") => (read(&request.object), Ok(None)),
        ("UPDATE", "") => (read(&request.object), read(&request.old_object).map(Some)),
        _ => return Vec::new(),
    };
    match (new, old) {
        (Err(error), _) => vec![error],
        // An old object that nobody can read is held against no rule.
        (Ok(new), Err(_)) => errors_of(&new, None),
        (Ok(new), Ok(old)) => errors_of(&new, old.as_ref()),
    }
}

fn errors_of(new: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, value) in [("metadata.name", &new.metadata.name), ("metadata.namespace", &new.metadata.namespace)] {
        if value.is_empty() {
            errors.push(FieldError::required(field, "it is expected of every DNSRecord"));
        }
    }
    let deleting = new.metadata.deletion_timestamp.is_some();
    errors.extend(spec_errors(&new.spec, old.map(|old| &old.spec), deleting));
    errors
}

fn read(object: &Value) -> Result<Object, FieldError> {
    Object::deserialize(object).map_err(|error| {
        let form = format!("it has another form than a DNSRecord: {error}");
        FieldError { field: "spec".to_owned(), problem: crate::validate::Problem::Invalid, value: None, expected: form }
    })
}

fn answer(request: &Request, errors: &[FieldError]) -> Value {
    let mut response = json!({ "uid": request.uid, "allowed": errors.is_empty() });
    if !errors.is_empty() {
        response["status"] = refusal(request, errors);
    }
    json!({ "apiVersion": VERSION, "kind": KIND, "response": response })
}

/// A `Status` (meta/v1) as the API server itself answers for an invalid object.
fn refusal(request: &Request, errors: &[FieldError]) -> Value {
    let name = request.object["metadata"]["name"].as_str().unwrap_or_default();
    let causes: Vec<Value> = errors
        .iter()
        .take(LISTED)
        .map(|error| json!({ "reason": error.problem.cause(), "message": error.message(), "field": error.field }))
        .collect();
    json!({
        "status": "Failure",
        "message": format!("DNSRecord {name:?} is invalid: {}", sentence(errors)),
        "reason": "Invalid",
        "code": 422,
        "details": { "name": name, "group": GROUP, "kind": "DNSRecord", "causes": causes },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Value {
        json!({
            "metadata": { "name": "api", "namespace": "shoot--a" },
            "spec": {
                "type": "aws-route53", "secretRef": { "name": "dns" }, "name": "api.example.com", "recordType": "A",
                "values": ["192.0.2.1"],
            },
        })
    }

    fn ask(operation: &str, object: &Value, old: &Value) -> Value {
        let review = json!({
            "apiVersion": VERSION,
            "kind": KIND,
            "request": {
                "uid": "u-1",
                "resource": { "group": GROUP, "version": "v1alpha1", "resource": RESOURCE },
                "operation": operation,
                "object": object,
                "oldObject": old,
            },
        });
        review
    }

    /// The answer's response.
    fn said(asked: &Value) -> Value {
        let answer = review(asked.to_string().as_bytes()).unwrap();
        assert_eq!((&answer["apiVersion"], &answer["kind"]), (&json!(VERSION), &json!(KIND)));
        assert_eq!(answer["response"]["uid"], "u-1");
        answer["response"].clone()
    }

    #[test]
    fn a_good_object_is_let_in() {
        for asked in [
            ask("CREATE", &object(), &Value::Null),
            ask("UPDATE", &object(), &object()),
            ask("DELETE", &Value::Null, &object()),
            ask("DELETE", &Value::Null, &Value::Null),
        ] {
            assert_eq!(said(&asked), json!({ "uid": "u-1", "allowed": true }), "{asked}");
        }
    }

    #[test]
    fn a_bad_one_is_refused_with_each_field() {
        let mut bad = object();
        bad["spec"]["values"] = json!(["192.0.2.1", "2001:db8::1"]);
        bad["spec"]["ttl"] = json!(-1);
        let said = said(&ask("CREATE", &bad, &Value::Null));
        assert_eq!(said["allowed"], false);
        let status = &said["status"];
        assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
        let expected = "DNSRecord \"api\" is invalid: spec.values[1]: Invalid value: \"2001:db8::1\": an IPv4 address is \
                        expected; IPv6 addresses belong in AAAA records; spec.ttl: Invalid value: \"-1\": seconds from 0 to \
                        2147483647 are expected";
        assert_eq!(status["message"], expected);
        let causes = &status["details"]["causes"];
        assert_eq!(
            (&causes[0]["field"], &causes[0]["reason"]),
            (&json!("spec.values[1]"), &json!("FieldValueInvalid"))
        );
    }

    #[test]
    fn an_empty_object_has_no_name_and_no_namespace() {
        let said = said(&ask("CREATE", &json!({}), &Value::Null));
        let fields: Vec<&Value> =
            said["status"]["details"]["causes"].as_array().unwrap().iter().map(|cause| &cause["field"]).collect();
        let expected = [
            "metadata.name",
            "metadata.namespace",
            "spec.type",
            "spec.secretRef.name",
            "spec.name",
            "spec.recordType",
            "spec.values",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn an_update_is_held_against_what_was() {
        let mut new = object();
        new["spec"]["name"] = json!("b.example.com");
        assert_eq!(said(&ask("UPDATE", &new, &object()))["allowed"], false);
        new["metadata"]["deletionTimestamp"] = json!("2026-01-31T12:00:00Z");
        let refused = said(&ask("UPDATE", &new, &object()));
        let message = refused["status"]["message"].as_str().unwrap();
        assert!(message.contains("spec: Forbidden"), "{message}");
        // Its finalizer may go.
        let mut going = object();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-31T12:00:00Z");
        assert_eq!(said(&ask("UPDATE", &going, &object()))["allowed"], true);
    }

    #[test]
    fn the_status_is_not_looked_at() {
        let mut asked = ask("UPDATE", &json!({}), &json!({}));
        asked["request"]["subResource"] = json!("status");
        assert_eq!(said(&asked)["allowed"], true);
    }

    #[test]
    fn an_object_of_another_form_is_refused() {
        for (field, value) in [("values", json!("192.0.2.1")), ("ttl", json!("60")), ("name", json!(5))] {
            let mut bad = object();
            bad["spec"][field] = value;
            let said = said(&ask("CREATE", &bad, &Value::Null));
            assert!(said["status"]["message"].as_str().unwrap().contains("another form"), "{said}");
        }
    }

    #[test]
    fn many_errors_are_counted() {
        let mut bad = object();
        bad["spec"]["values"] = json!(vec!["x"; 500]);
        let said = said(&ask("CREATE", &bad, &Value::Null));
        let message = said["status"]["message"].as_str().unwrap();
        assert!(message.ends_with("; and 490 more") && message.len() < 2000, "{message}");
        assert_eq!(said["status"]["details"]["causes"].as_array().unwrap().len(), LISTED);
    }

    #[test]
    fn what_is_no_review_is_an_error_of_the_call() {
        let mut other = ask("CREATE", &object(), &Value::Null);
        other["request"]["resource"]["resource"] = json!("pods");
        let mut old = ask("CREATE", &object(), &Value::Null);
        old["apiVersion"] = json!("admission.k8s.io/v1beta1");
        for (body, expected) in [
            (String::new(), "no AdmissionReview"),
            ("[]".to_owned(), "expected an AdmissionReview"),
            ("{}".to_owned(), "expected an AdmissionReview"),
            (old.to_string(), "admission.k8s.io/v1beta1"),
            (json!({ "apiVersion": VERSION, "kind": KIND }).to_string(), "no request"),
            (other.to_string(), "asked about pods"),
        ] {
            let error = review(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{body}: {error}");
        }
    }

    mod arbitrary {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn nothing_panics(body in proptest::collection::vec(any::<u8>(), 0..200), text in ".*") {
                let _ = review(&body);
                let mut bad = object();
                bad["spec"]["name"] = json!(text);
                let _ = review(ask("CREATE", &bad, &Value::Null).to_string().as_bytes());
            }
        }
    }
}
