//! An error of the service, and its two forms on the wire.

use super::xml::Element;

/// How an `InvalidChangeBatch` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BatchErrorForm {
    /// `<ErrorResponse>` with all messages in one, in brackets: what clients report from the service.
    #[default]
    ErrorResponse,
    /// `<InvalidChangeBatch>` with a list of messages: what the API reference shows. Clients differ in what they make of it.
    Messages,
}

/// An error of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: &'static str,
    /// One for each thing that is wrong; only a batch can have several.
    pub(super) messages: Vec<String>,
}

impl Refusal {
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, messages: vec![message.into()] }
    }

    /// The request contradicts the form that the API reference gives.
    pub(super) fn input(message: impl Into<String>) -> Self {
        Self::new(400, "InvalidInput", message)
    }

    /// The body is no XML, or not the XML of this request.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(400, "MalformedInput", message)
    }

    /// A required field is not there.
    pub(super) fn missing(field: &str) -> Self {
        Self::validation(&[format!("Value null at '{field}' failed to satisfy constraint: Member must not be null")])
    }

    /// Breaks the limits that the API reference gives for single fields.
    pub(super) fn validation(problems: &[String]) -> Self {
        let errors = if problems.len() == 1 { "error" } else { "errors" };
        Self::input(format!("{} validation {errors} detected: {}", problems.len(), problems.join("; ")))
    }

    /// The changes do not fit the zone.
    pub(super) fn batch(messages: Vec<String>) -> Self {
        Self { status: 400, code: "InvalidChangeBatch", messages }
    }

    pub(super) fn no_such_zone(id: &str) -> Self {
        Self::new(404, "NoSuchHostedZone", format!("No hosted zone found with ID: {id}"))
    }

    /// No policy allows a call. `place`: what it concerns, where the service names it.
    pub(super) fn denied(service: &str, operation: &str, place: &str) -> Self {
        let user = "arn:aws:iam::000000000001:user/fake";
        let text = format!(
            "User: {user} is not authorized to perform: {service}:{operation}{place} because no identity-based policy \
             allows the {service}:{operation} action"
        );
        Self::new(403, "AccessDenied", text)
    }

    pub(super) fn throttled() -> Self {
        Self::new(400, "Throttling", "Rate exceeded")
    }

    pub(super) fn prior_request() -> Self {
        let message = "The request was rejected because Route 53 was still processing a prior request.";
        Self::new(400, "PriorRequestNotComplete", message)
    }

    pub(super) fn broken() -> Self {
        Self::new(500, "InternalFailure", "We encountered an internal error. Please try again.")
    }

    pub(super) fn expired_token() -> Self {
        Self::new(403, "ExpiredToken", "The security token included in the request is expired")
    }

    /// The body of the answer. Only the messages of a batch depend on `form`.
    pub(super) fn body(&self, form: BatchErrorForm, namespace: &str, request: &str) -> String {
        let request = Element::text("RequestId", request);
        let batch = self.code == "InvalidChangeBatch";
        if batch && form == BatchErrorForm::Messages {
            let messages = self.messages.iter().map(|message| Element::text("Message", message));
            let messages = Element::list("Messages", messages.collect());
            return Element::list("InvalidChangeBatch", vec![messages, request]).document(namespace);
        }
        let message = self.messages.join(", ");
        let message = if batch { format!("[{message}]") } else { message };
        let kind = if self.status < 500 { "Sender" } else { "Receiver" };
        let error =
            vec![Element::text("Type", kind), Element::text("Code", self.code), Element::text("Message", &message)];
        Element::list("ErrorResponse", vec![Element::list("Error", error), request]).document(namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route53::xml::NAMESPACE;

    #[test]
    fn a_batch_has_all_messages_in_either_form() {
        let refusal = Refusal::batch(vec!["a".to_owned(), "b".to_owned()]);
        let body = refusal.body(BatchErrorForm::ErrorResponse, NAMESPACE, "R");
        assert!(body.contains("<Code>InvalidChangeBatch</Code><Message>[a, b]</Message>"), "{body}");
        let body = refusal.body(BatchErrorForm::Messages, NAMESPACE, "R");
        let expected = "<Messages><Message>a</Message><Message>b</Message></Messages><RequestId>R</RequestId>";
        assert!(body.ends_with(&format!("{expected}</InvalidChangeBatch>")), "{body}");
    }

    #[test]
    fn the_sender_is_to_blame_below_500() {
        let kind =
            |refusal: Refusal| refusal.body(BatchErrorForm::default(), NAMESPACE, "R").contains("<Type>Sender</Type>");
        assert!(kind(Refusal::throttled()));
        assert!(!kind(Refusal::broken()));
    }
}
