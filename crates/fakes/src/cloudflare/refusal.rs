//! An error of the service, and its two forms on the wire.

use serde_json::{Value, json};

/// How an invalid record is reported. Clients have seen both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorForm {
    /// By its own code.
    #[default]
    Plain,
    /// As `1004` (`DNS Validation Error`), with its own code in the chain of that error.
    Chained,
}

/// Stands where the code of the real service is not known: no client has reported it.
const UNKNOWN: u32 = 9100;

/// An error of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: u32,
    pub(super) message: String,
    /// What else is wrong with the same record, with the same code.
    more: Vec<String>,
    /// Code and message of what is behind it.
    cause: Option<(u32, &'static str)>,
    /// Says that a record is invalid: its form differs ([`ErrorForm`]).
    validation: bool,
    /// In seconds.
    pub(super) retry_after: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: u16, code: u32, message: impl Into<String>) -> Self {
        let (message, more) = (message.into(), Vec::new());
        Self { status, code, message, more, cause: None, validation: false, retry_after: None }
    }

    /// A field of a record is invalid.
    pub(super) fn record(code: u32, message: impl Into<String>) -> Self {
        Self { validation: true, ..Self::new(400, code, message) }
    }

    /// As [`Refusal::record`], with a code that is not known.
    pub(super) fn field(message: impl Into<String>) -> Self {
        Self::record(UNKNOWN, message)
    }

    /// Parts of the data of a record are missing: each is an error of its own. There is at least one.
    pub(super) fn missing_data(fields: &[&str]) -> Self {
        let mut messages = fields.iter().map(|field| format!("{field} is a required data field."));
        let first = messages.next().unwrap_or_default();
        Self { more: messages.collect(), ..Self::record(9101, first) }
    }

    /// The record does not fit the others of the zone.
    pub(super) fn conflict(code: u32, message: &str) -> Self {
        let page = "https://developers.cloudflare.com/dns/manage-dns-records/troubleshooting/records-with-same-name/";
        let more = if matches!(code, 81053 | 81054) {
            format!("{message} For more details, refer to <{page}>.")
        } else {
            message.to_owned()
        };
        Self::new(400, code, more)
    }

    /// The body is no JSON, or a field has another type than the API reference says.
    pub(super) fn body() -> Self {
        Self::new(400, 9207, "Request body is invalid.")
    }

    /// A parameter of the query is not what the API reference says.
    pub(super) fn parameter(name: &str) -> Self {
        Self::new(400, UNKNOWN, format!("Invalid value for parameter {name}."))
    }

    pub(super) fn no_record() -> Self {
        Self::new(404, 81044, "Record does not exist.")
    }

    /// The path names nothing that there is, or an id that is none.
    pub(super) fn no_route(path: &str) -> Self {
        let message = format!("Could not route to {path}, perhaps your object identifier is invalid?");
        Self { cause: Some((7000, "No route for that URI")), ..Self::new(404, 7003, message) }
    }

    /// The credentials are good for other things.
    pub(super) fn not_allowed() -> Self {
        Self::new(403, 10000, "Authentication error")
    }

    /// The same, where a zone itself is asked for.
    pub(super) fn unauthorized() -> Self {
        Self::new(403, 9109, "Unauthorized to access requested resource")
    }

    /// A token that is well-formed and opens nothing.
    pub(super) fn invalid_token() -> Self {
        Self::new(403, 9109, "Invalid access token")
    }

    /// A header with credentials has a wrong form.
    pub(super) fn header(code: u32, message: &'static str) -> Self {
        Self { cause: Some((code, message)), ..Self::new(400, 6003, "Invalid request headers") }
    }

    pub(super) fn throttled(retry_after: u64) -> Self {
        let message = "Please wait and consider throttling your request speed";
        Self { retry_after: Some(retry_after), ..Self::new(429, 971, message) }
    }

    pub(super) fn broken() -> Self {
        Self::new(500, 10001, "Internal server error")
    }

    pub(super) fn unavailable() -> Self {
        Self::new(503, 10013, "Service unavailable")
    }

    /// The body of the answer. Only errors of records depend on `form`.
    pub(super) fn envelope(&self, form: ErrorForm) -> Value {
        let messages = [&self.message].into_iter().chain(&self.more);
        let mut errors: Vec<Value> = messages.map(|message| json!({ "code": self.code, "message": message })).collect();
        if let (Some((code, message)), Some(error)) = (self.cause, errors.first_mut()) {
            error["error_chain"] = json!([{ "code": code, "message": message }]);
        }
        if self.validation && form == ErrorForm::Chained {
            errors = vec![json!({ "code": 1004, "message": "DNS Validation Error", "error_chain": errors })];
        }
        json!({ "result": null, "success": false, "errors": errors, "messages": [] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_records_have_two_forms() {
        let refusal = Refusal::record(9021, "TTL");
        let plain = refusal.envelope(ErrorForm::Plain);
        assert_eq!(plain["errors"], json!([{ "code": 9021, "message": "TTL" }]));
        let chained = refusal.envelope(ErrorForm::Chained);
        assert_eq!(chained["errors"][0]["code"], 1004);
        assert_eq!(chained["errors"][0]["error_chain"], plain["errors"]);
        let other = Refusal::no_record();
        assert_eq!(other.envelope(ErrorForm::Chained), other.envelope(ErrorForm::Plain));
    }

    #[test]
    fn all_missing_data_are_named() {
        let refusal = Refusal::missing_data(&["port", "target"]);
        let errors = ["port is a required data field.", "target is a required data field."]
            .map(|message| json!({ "code": 9101, "message": message }));
        assert_eq!(refusal.envelope(ErrorForm::Plain)["errors"], json!(errors));
        assert_eq!(refusal.envelope(ErrorForm::Chained)["errors"][0]["error_chain"], json!(errors));
    }

    #[test]
    fn a_wrong_header_has_its_cause() {
        let error =
            &Refusal::header(6111, "Invalid format for Authorization header").envelope(ErrorForm::Plain)["errors"][0];
        assert_eq!((&error["code"], &error["error_chain"][0]["code"]), (&json!(6003), &json!(6111)));
    }
}
