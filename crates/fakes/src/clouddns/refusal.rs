//! Answers that are no success, in the form of Google's older APIs.

use serde_json::{Value, json};

/// An answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    reason: &'static str,
    message: String,
    /// In seconds.
    pub(super) retry_after: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { status, reason, message: message.into(), retry_after: None }
    }

    /// A field or a parameter is not what it may be; `place` as in `entity.change.additions[0].name`.
    pub(super) fn invalid(place: &str, value: &str) -> Self {
        Self::new(400, "invalid", format!("Invalid value for '{place}': '{value}'"))
    }

    /// What must be there is not.
    pub(super) fn required(place: &str) -> Self {
        Self::new(400, "required", format!("Required field '{place}' not specified"))
    }

    /// The body is no JSON object.
    pub(super) fn parse() -> Self {
        Self::new(400, "parseError", "Parse Error")
    }

    /// There is no such thing.
    pub(super) fn missing(place: &str, name: &str) -> Self {
        Self::new(404, "notFound", format!("The '{place}' resource named '{name}' does not exist."))
    }

    /// What stands is another one.
    pub(super) fn precondition(place: &str) -> Self {
        Self::new(412, "conditionNotMet", format!("Precondition not met for '{place}'"))
    }

    /// Something stands already.
    pub(super) fn exists(place: &str, name: &str) -> Self {
        Self::new(409, "alreadyExists", format!("The resource '{place}' named '{name}' already exists"))
    }

    /// A CNAME record does not stand alone.
    pub(super) fn cname(place: &str, name: &str) -> Self {
        let text = format!(
            "The resource record set '{place}' is invalid because the DNS name '{name}' may have either one CNAME resource record set or resource record sets of other types, but not both."
        );
        Self::new(400, "cnameResourceRecordSetConflict", text)
    }

    /// The SOA record or the NS records of the apex.
    pub(super) fn apex(kind: &str) -> Self {
        let text = format!(
            "The resource record set 'entity.change' is invalid because the zone must contain exactly one resource record set of type '{kind}' at the apex."
        );
        Self::new(400, "invalidZoneApex", text)
    }

    /// More than the project may have; `quota` as the project names it.
    pub(super) fn quota(place: &str, quota: &str, limit: usize) -> Self {
        Self::new(403, "quotaExceeded", format!("Quota exceeded for '{place}': {quota} is {limit}"))
    }

    /// The kind of zone takes no changes.
    pub(super) fn unsupported(name: &str) -> Self {
        Self::new(400, "operationNotSupported", format!("The managed zone '{name}' takes no resource record sets"))
    }

    pub(super) fn throttled(retry_after: u64) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(429, "rateLimitExceeded", "Too many requests.") }
    }

    /// The same in the form that the documentation of quotas shows.
    pub(super) fn rate_limited() -> Self {
        Self::new(403, "rateLimitExceeded", "Rate Limit Exceeded")
    }

    /// A caller without credentials, or with expired ones.
    pub(super) fn credentials() -> Self {
        Self::new(401, "authError", "Invalid Credentials")
    }

    /// A caller without the right.
    pub(super) fn forbidden() -> Self {
        Self::new(403, "forbidden", "Forbidden")
    }

    pub(super) fn broken() -> Self {
        Self::new(500, "backendError", "Internal Error")
    }

    pub(super) fn unavailable() -> Self {
        Self::new(503, "backendError", "The service is currently unavailable.")
    }

    pub(super) fn no_route() -> Self {
        Self::new(404, "notFound", "Not Found")
    }

    /// The body of the answer.
    pub(super) fn body(&self) -> Value {
        let mut error = json!({ "domain": "global", "reason": self.reason, "message": self.message });
        if self.status == 401 {
            error["locationType"] = json!("header");
            error["location"] = json!("Authorization");
        }
        json!({ "error": { "code": self.status, "message": self.message, "errors": [error] } })
    }
}
