//! Tokens (OAuth 2.0, RFC 6749): how they are asked for, and how they are kept.
//!
//! In: whatever a provider has to show for a token. Out: the token, until shortly before its end. Requests for tokens go by clients of
//! their own, each with its own account: the request that waits for a token has its turn in the service's account already. What must
//! hold: neither a token nor what it was got for appears in an error.

mod cache;
mod jwt;

use std::time::Duration;

use http::Method;
use http::header::AUTHORIZATION;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use zonewright_core::error::Denied;
use zonewright_core::shared::Shared;
use zonewright_core::{Error, ErrorKind, Result};

pub use cache::TokenCache;
pub use jwt::{sign, signing_key};

use crate::answer::Answer;
use crate::client::Client;
use crate::connection::Connection;
use crate::credentials::encoded;
use crate::metrics::RequestTimes;
use crate::patience::Patience;
use crate::proxy::Proxies;
use crate::request::{Repeat, Request};
use crate::retry::RetryPolicy;
use crate::status::AnswerExplanation;

/// How long a token is good where nobody says it.
const LIFETIME: Duration = Duration::from_hours(1);
/// The longest life of a token that is believed: a clock cannot count to whatever a number can say.
const LONGEST: Duration = Duration::from_hours(24);

const ASK: &str = "ask for a token";

/// An access token, and how long it is valid.
#[derive(Debug)]
pub struct AccessToken {
    /// What goes behind `Bearer`.
    pub secret: SecretString,
    /// From now on.
    pub lifetime: Duration,
}

/// How requests for tokens are sent: as those of the service are.
#[derive(Debug, Clone)]
pub struct TokenWay {
    proxies: Proxies,
    timeout: Duration,
    retry: RetryPolicy,
    times: RequestTimes,
}

impl TokenWay {
    /// By the proxies of the environment.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if one of them cannot be used.
    pub fn of(shared: &Shared) -> Result<Self> {
        let patience = shared.get::<Patience>();
        Ok(Self {
            proxies: Proxies::from_env()?,
            timeout: patience.timeout(),
            retry: patience.retry(),
            times: RequestTimes::clone(&shared.get()),
        })
    }

    /// A client for one address. It is made anew for each token, which is once an hour.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if the address cannot be used.
    pub fn client(&self, url: &str) -> Result<Client> {
        self.by(url, self.proxies.clone())
    }

    /// The same for an address on the machine itself, which is never behind a proxy: a metadata server.
    ///
    /// # Errors
    /// As [`TokenWay::client`].
    pub fn direct(&self, url: &str) -> Result<Client> {
        self.by(url, Proxies::none())
    }

    fn by(&self, url: &str, proxies: Proxies) -> Result<Client> {
        Client::builder(url)?
            .connection(Connection { proxies, ..Connection::default() })
            .explain(explain)
            .timeout(self.timeout)
            .retry(self.retry)
            .times(self.times.clone())
            .build()
    }

    /// Sends what shall be answered with a token.
    ///
    /// # Errors
    /// There is none.
    pub async fn post(&self, url: &str, request: impl FnOnce(Request) -> Request) -> Result<AccessToken> {
        // A second token does no harm.
        let request = request(Request::new(Method::POST, "")).repeat(Repeat::Idempotent);
        let answer = self.client(url)?.send(ASK, &request).await?;
        read_token(ASK, &answer)
    }

    /// Sends a form that shall be answered with a token, perhaps with a name and a password (RFC 6749 2.3.1).
    ///
    /// # Errors
    /// There is none.
    pub async fn form(
        &self,
        url: &str,
        fields: &[(&str, &str)],
        user: Option<&(String, SecretString)>,
    ) -> Result<AccessToken> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.post(url, |request| {
            let request = request.body("application/x-www-form-urlencoded", body);
            match user {
                Some((name, password)) => {
                    let pair = encoded(name.as_bytes(), password.expose_secret().as_bytes());
                    request.header(AUTHORIZATION, pair.expose_secret())
                }
                None => request,
            }
        })
        .await
    }
}

/// What an answer without a token says, in either of two forms.
fn explain(answer: &Answer) -> Option<AnswerExplanation> {
    let body: Value = answer.json().ok()?;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let message = match body.get("error")? {
        Value::String(code) => match text(body.get("error_description")) {
            Some(said) => format!("{} ({code})", without_request(&said)),
            None => code.clone(),
        },
        error => text(error.get("message"))?,
    };
    Some(AnswerExplanation { message, ..AnswerExplanation::default() })
}

/// What Microsoft's service says, without the ids and the time of the request behind it: they differ each time, and one refusal would be
/// a new one at every attempt.
fn without_request(said: &str) -> &str {
    said.split("Trace ID:").next().unwrap_or(said).trim_end()
}

/// Reads a token out of an answer.
///
/// # Errors
/// [`ErrorKind::Protocol`] if there is none. Nothing of the answer is shown.
pub fn read_token(operation: &'static str, answer: &Answer) -> Result<AccessToken> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(alias = "accessToken")]
        access_token: String,
        #[serde(default, deserialize_with = "seconds")]
        expires_in: Option<u64>,
    }
    let body: Option<Body> = answer.json().ok();
    let body = body.filter(|body| !body.access_token.trim().is_empty());
    let body = body.ok_or_else(|| Error::new(ErrorKind::Protocol, operation, "the answer has no token"))?;
    Ok(AccessToken {
        secret: body.access_token.trim().to_owned().into(),
        lifetime: body.expires_in.map_or(LIFETIME, Duration::from_secs).min(LONGEST),
    })
}

/// A number, which metadata servers write as text.
fn seconds<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(value)?;
    Ok(value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()))
}

/// An error on the way to a token, reported of the credentials at `place` with its cause: whatever refuses a key refuses the credentials.
pub fn refused_at(place: &str, operation: &'static str, mut error: Error) -> Error {
    let refused = matches!(
        error.kind,
        ErrorKind::Invalid
            | ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::Unsupported
            | ErrorKind::Configuration
    );
    if refused {
        error.kind = ErrorKind::Unauthorized;
        error = error.denied(Denied::Credentials);
    }
    error.operation = operation;
    error.context = format!("{place}: {}", error.context);
    error
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn read(body: &str) -> Result<(String, u64)> {
        let answer = Answer::new(StatusCode::OK, HeaderMap::new(), body.to_owned());
        read_token("test", &answer).map(|token| (token.secret.expose_secret().to_owned(), token.lifetime.as_secs()))
    }

    #[test]
    fn tokens_are_read() {
        for (body, expected) in [
            (r#"{"access_token":"t","expires_in":60}"#, Some(60)),
            (r#"{"access_token":" t ","expires_in":"3599"}"#, Some(3_599)),
            (r#"{"accessToken":"t"}"#, Some(3_600)),
            (r#"{"access_token":"t","expires_in":"soon"}"#, Some(3_600)),
            (r#"{"access_token":"t","expires_in":9223372036854775807}"#, Some(86_400)),
            (r#"{"access_token":"t","expires_in":"18446744073709551615"}"#, Some(86_400)),
            (r#"{"access_token":" "}"#, None),
            (r#"{"token":"t"}"#, None),
            ("<html>", None),
        ] {
            match (read(body), expected) {
                (Ok(token), Some(seconds)) => assert_eq!(token, ("t".to_owned(), seconds), "{body}"),
                (Err(error), None) => assert!(!error.to_string().contains("html"), "{error}"),
                (other, _) => panic!("{body}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_refusal_reads_the_same_each_time() {
        for (said, expected) in [
            (
                "AADSTS7000215: Invalid client secret. Trace ID: 1-2 Correlation ID: 3-4 Timestamp: now",
                "AADSTS7000215: Invalid client secret.",
            ),
            ("AADSTS90002: No tenant.\r\nTrace ID: 1\r\nCorrelation ID: 2", "AADSTS90002: No tenant."),
            ("Invalid JWT Signature.", "Invalid JWT Signature."),
        ] {
            assert_eq!(without_request(said), expected);
        }
    }

    #[test]
    fn refusals_of_a_key_are_refusals_of_the_credentials() {
        for (kind, expected) in [
            (ErrorKind::Invalid, ErrorKind::Unauthorized),
            (ErrorKind::NotFound, ErrorKind::Unauthorized),
            (ErrorKind::Unauthorized, ErrorKind::Unauthorized),
            (ErrorKind::Throttled, ErrorKind::Throttled),
            (ErrorKind::Unavailable, ErrorKind::Unavailable),
        ] {
            let error = refused_at("the key in /etc/key", "read", Error::new(kind, "ask", "why"));
            assert_eq!((error.kind, error.context.as_str()), (expected, "the key in /etc/key: why"));
            assert_eq!(error.why_denied().is_some(), kind != expected, "{kind:?}");
        }
    }
}
