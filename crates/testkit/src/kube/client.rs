//! A synchronous client for the API server: paths in, status and JSON out.

use std::time::Duration;

use serde_json::Value;
use ureq::http::{Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

/// Longer than any answer takes on a busy machine, shorter than a test's patience.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How long one question for readiness may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// What the API server answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body; text where it is not JSON.
    pub body: Value,
}

/// Sends requests as one user.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    url: String,
    token: &'static str,
}

impl Answer {
    /// The body of a successful request.
    ///
    /// # Panics
    /// When the status is not 2xx; the message holds the body.
    #[track_caller]
    pub fn expect_success(self) -> Value {
        assert!((200..300).contains(&self.status), "status {}: {}", self.status, self.body);
        self.body
    }
}

impl Client {
    pub(super) fn new(url: &str, token: &'static str, ca_pem: &str) -> Self {
        let authority = Certificate::from_pem(ca_pem.as_bytes()).expect("the test authority's certificate");
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[authority])).build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .proxy(None)
            .build()
            .new_agent();
        Self { agent, url: url.to_owned(), token }
    }

    #[track_caller]
    pub(super) fn get(&self, path: &str) -> Answer {
        let request = self.request("GET", path).body(()).expect("a request");
        Answer::expect(self.agent.run(request), "GET", path)
    }

    #[track_caller]
    pub(super) fn delete(&self, path: &str) -> Answer {
        let request = self.request("DELETE", path).body(()).expect("a request");
        Answer::expect(self.agent.run(request), "DELETE", path)
    }

    #[track_caller]
    pub(super) fn send(&self, method: &str, path: &str, content_type: &str, body: &Value) -> Answer {
        self.send_text(method, path, content_type, &body.to_string())
    }

    #[track_caller]
    pub(super) fn send_text(&self, method: &str, path: &str, content_type: &str, body: &str) -> Answer {
        let request = self.request(method, path).header("Content-Type", content_type).body(body).expect("a request");
        Answer::expect(self.agent.run(request), method, path)
    }

    /// Whether a GET of this path answers 200, soon.
    pub(super) fn finds(&self, path: &str) -> bool {
        let request = self.request("GET", path).body(()).expect("a request");
        let request = self.agent.configure_request(request).timeout_global(Some(PROBE_TIMEOUT)).build();
        self.agent.run(request).is_ok_and(|response| response.status() == 200)
    }

    fn request(&self, method: &str, path: &str) -> ureq::http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("Authorization", format!("Bearer {}", self.token))
    }
}

impl Answer {
    #[track_caller]
    fn expect(response: Result<Response<Body>, ureq::Error>, method: &str, path: &str) -> Self {
        let mut response = response.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let text = response.body_mut().with_config().limit(u64::MAX).read_to_string();
        let text = text.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Self { status: response.status().as_u16(), body }
    }
}

/// POSTs JSON without a user, over plain HTTP.
#[track_caller]
pub(super) fn post_json(url: &str, body: &Value) -> Answer {
    let agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(TIMEOUT))
        .proxy(None)
        .build()
        .new_agent();
    let response = agent.post(url).header("Content-Type", "application/json").send(body.to_string());
    Answer::expect(response, "POST", url)
}
