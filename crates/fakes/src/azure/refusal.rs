//! Answers that are no success: those of Azure Resource Manager, and those of the DNS service behind it.

use serde_json::{Value, json};

/// Which part of the service refuses; it decides the form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Resource Manager, which stands in front: `{"error":{"code","message"}}`.
    Front,
    /// The DNS service: public zones write `{"code","message"}`.
    Dns,
}

/// An answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
    part: Part,
    /// In seconds.
    pub(super) retry_after: Option<u64>,
}

impl Refusal {
    fn front(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), part: Part::Front, retry_after: None }
    }

    fn dns(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { part: Part::Dns, ..Self::front(status, code, message) }
    }

    /// A record set is not what it may be.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::dns(400, "BadRequest", message)
    }

    /// No JSON, or not of the form that a record set has.
    pub(super) fn content(message: &str) -> Self {
        Self::front(400, "InvalidRequestContent", format!("The request content was invalid: '{message}'."))
    }

    /// A name of a record set, or in one.
    pub(super) fn name(name: &str) -> Self {
        Self::bad(format!("The domain name '{name}' is invalid."))
    }

    /// A CNAME record does not stand alone; `new` is the one that came later.
    pub(super) fn cname(new: &str) -> Self {
        let text = if new == "CNAME" {
            "The CNAME record could not be created because another record with the same name already exists in this zone."
        } else {
            "The record could not be created because a CNAME record with the same name already exists in this zone."
        };
        Self::dns(409, "Conflict", text)
    }

    /// `If-None-Match` where there is a set.
    pub(super) fn exists(name: &str) -> Self {
        let text = format!("The Record set {name} exists already and hence cannot be created again.");
        Self::dns(412, "PreconditionFailed", text)
    }

    /// `If-Match` where there is another set, or none.
    pub(super) fn precondition(condition: &str, current: Option<&str>) -> Self {
        let current = current.unwrap_or("N/A");
        let text = format!(
            "The condition '{condition}' in the If-Match header was not satisfied. The current was '{current}'."
        );
        Self::dns(412, "PreconditionFailed", text)
    }

    /// There is no such record set.
    pub(super) fn no_set(name: &str, group: &str, subscription: &str) -> Self {
        let text = format!(
            "The resource record '{name}' does not exist in resource group '{group}' of subscription '{subscription}'."
        );
        Self::dns(404, "NotFound", text)
    }

    /// There is no such zone, on reading; `kind` is the type of zones.
    pub(super) fn no_zone(kind: &str, name: &str, group: &str) -> Self {
        let text = format!(
            "The Resource 'Microsoft.Network/{kind}/{name}' under resource group '{group}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"
        );
        Self::front(404, "ResourceNotFound", text)
    }

    /// There is no such zone, on writing into it.
    pub(super) fn no_parent(name: &str) -> Self {
        let text =
            format!("Can not perform requested operation on nested resource. Parent resource '{name}' not found.");
        Self::front(404, "ParentResourceNotFound", text)
    }

    pub(super) fn no_group(name: &str) -> Self {
        Self::front(404, "ResourceGroupNotFound", format!("Resource group '{name}' could not be found."))
    }

    pub(super) fn no_subscription(name: &str) -> Self {
        Self::front(404, "SubscriptionNotFound", format!("The subscription '{name}' could not be found."))
    }

    /// A type of record sets that such zones do not have.
    pub(super) fn no_type(kind: &str, version: &str) -> Self {
        let text = format!(
            "The resource type '{kind}' could not be found in the namespace 'Microsoft.Network' for api version '{version}'. The supported api-versions are '{version}'."
        );
        Self::front(404, "InvalidResourceType", text)
    }

    pub(super) fn no_route() -> Self {
        Self::front(404, "NotFound", "The request path is not that of a resource of this service.")
    }

    pub(super) fn no_version() -> Self {
        let text = "The api-version query parameter (?api-version=) is required for all requests.";
        Self::front(400, "MissingApiVersionParameter", text)
    }

    /// What is no date.
    pub(super) fn no_date(version: &str, known: &[&str]) -> Self {
        let known = known.join(",");
        let text = format!("The api-version '{version}' is invalid. The supported versions are '{known}'.");
        Self::front(400, "InvalidApiVersionParameter", text)
    }

    /// A version that this type of resources does not have.
    pub(super) fn unknown_version(kind: &str, version: &str, known: &[&str]) -> Self {
        let text = format!(
            "No registered resource provider found for location 'global' and API version '{version}' for type '{kind}'. The supported api-versions are '{}'. The supported locations are ', global'.",
            known.join(", ")
        );
        Self::front(400, "NoRegisteredProviderFound", text)
    }

    /// A parameter of the query.
    pub(super) fn parameter(name: &str, value: &str) -> Self {
        Self::bad(format!("The value '{value}' of the query parameter '{name}' is invalid."))
    }

    pub(super) fn no_token() -> Self {
        let text = "Authentication failed. The 'Authorization' header is missing.";
        Self::front(401, "AuthenticationFailed", text)
    }

    pub(super) fn unknown_token() -> Self {
        Self::front(401, "InvalidAuthenticationToken", "The access token is invalid.")
    }

    pub(super) fn expired() -> Self {
        let text = "The access token expiry UTC time '1/1/2026 1:00:00 AM' is earlier than current UTC time '1/1/2026 2:00:00 AM'.";
        Self::front(401, "ExpiredAuthenticationToken", text)
    }

    /// A caller without the right.
    pub(super) fn denied(action: &str, scope: &str) -> Self {
        let client = "00000000-0000-0000-0000-00000000c11e";
        let text = format!(
            "The client '{client}' with object id '{client}' does not have authorization to perform action '{action}' over scope '{scope}' or the scope is invalid. If access was recently granted, please refresh your credentials."
        );
        Self::front(403, "AuthorizationFailed", text)
    }

    /// Too many requests, by Resource Manager.
    pub(super) fn throttled(subscription: &str, retry_after: u64) -> Self {
        let text = format!(
            "Number of requests for subscription '{subscription}' exceeded the limit. Please try again after '{retry_after}' seconds."
        );
        Self { retry_after: Some(retry_after), ..Self::front(429, "SubscriptionRequestsThrottled", text) }
    }

    /// The same by the DNS service.
    pub(super) fn rate_limited() -> Self {
        Self::dns(429, "TooManyRequests", "The request was throttled.")
    }

    pub(super) fn broken() -> Self {
        Self::dns(500, "InternalServerError", "An internal server error occurred. Please retry the request.")
    }

    pub(super) fn unavailable() -> Self {
        Self::front(503, "ServerUnavailable", "The service is unavailable now, try again later.")
    }

    /// The body of the answer; `public` where a public zone is concerned.
    pub(super) fn body(&self, public: bool) -> Value {
        let error = json!({ "code": self.code, "message": self.message });
        if public && self.part == Part::Dns { error } else { json!({ "error": error }) }
    }
}
