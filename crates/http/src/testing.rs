//! A scripted transport: which requests are expected, and what they are answered.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
//! use zonewright_http::testing::{Script, on};
//! use zonewright_http::{Client, Request};
//!
//! let script = Script::new([
//!     on("GET", "/v1/zones?page=1").cuts(),
//!     on("GET", "/v1/zones?page=1").answers(200, r#"["example.com"]"#),
//! ]);
//! let client = Client::builder("https://api.example.com/v1").unwrap().transport(script.transport()).build().unwrap();
//! let zones: Vec<String> = client.json("list zones", &Request::get("/zones").query("page", 1)).await.unwrap();
//! assert_eq!(zones, ["example.com"]);
//! assert_eq!(script.calls("GET /v1/zones"), 2);
//! # });
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::time::sleep;

use crate::answer::Answer;
use crate::error::TransportError;
use crate::transport::{BodyLimits, Outgoing, Transport};

/// What an expected request gets.
#[derive(Debug, Clone)]
enum Reply {
    Answer(Answer),
    Refused,
    Cut,
    Hangs,
}

/// An expected request, and what it gets.
#[derive(Debug, Clone)]
#[must_use]
pub struct ScriptStep {
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, Option<String>)>,
    body: Option<String>,
    delay: Duration,
    reply: Reply,
}

/// Expects a request with this method and this path with query. Without a further word it is answered by an empty 200.
pub fn on(method: &'static str, target: impl Into<String>) -> ScriptStep {
    let reply = Reply::Answer(Answer::default());
    ScriptStep { method, target: target.into(), headers: Vec::new(), body: None, delay: Duration::ZERO, reply }
}

impl ScriptStep {
    /// The request must have this header.
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, Some(value.into())));
        self
    }

    /// The request must not have this header.
    pub fn without_header(mut self, name: &'static str) -> Self {
        self.headers.push((name, None));
        self
    }

    /// The request must have exactly this body.
    pub fn with_body(self, body: impl Into<String>) -> Self {
        Self { body: Some(body.into()), ..self }
    }

    /// Answers with this status and body.
    pub fn answers(self, status: u16, body: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).expect("a status is between 100 and 999");
        Self { reply: Reply::Answer(Answer::new(status, HeaderMap::new(), body.into())), ..self }
    }

    /// The answer has this header.
    pub fn and_header(mut self, name: &'static str, value: &str) -> Self {
        if let Reply::Answer(answer) = &mut self.reply {
            let value = HeaderValue::from_str(value).expect("the script gives a value that a header can have");
            answer.headers.append(HeaderName::from_static(name), value);
        }
        self
    }

    /// There is no connection.
    pub fn refuses(self) -> Self {
        Self { reply: Reply::Refused, ..self }
    }

    /// The connection breaks after the request was sent.
    pub fn cuts(self) -> Self {
        Self { reply: Reply::Cut, ..self }
    }

    /// No answer ever comes.
    pub fn hangs(self) -> Self {
        Self { reply: Reply::Hangs, ..self }
    }

    /// What comes, comes after this time (of tokio's clock).
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// What speaks against this request being the expected one.
    fn objection(&self, request: &Outgoing) -> Option<String> {
        let (method, target) = (request.method.as_str(), target(request));
        if (method, target.as_str()) != (self.method, self.target.as_str()) {
            return Some(format!("{method} {target} was sent; expected {} {}", self.method, self.target));
        }
        for (name, expected) in &self.headers {
            let found = request.headers.get(*name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
            if found != *expected {
                return Some(format!("{method} {target} has {name}: {found:?}; expected {expected:?}"));
            }
        }
        let body = request.body.as_ref().map(|body| String::from_utf8_lossy(body).into_owned()).unwrap_or_default();
        let expected = self.body.as_ref().filter(|expected| **expected != body)?;
        Some(format!("{method} {target} has the body {body:?}; expected {expected:?}"))
    }
}

/// Path and query.
fn target(request: &Outgoing) -> String {
    let query = request.url.query().map_or_else(String::new, |query| format!("?{query}"));
    format!("{}{query}", request.url.path())
}

/// A script that is played. When it is dropped, it panics if a request was unexpected, or an expected one never came.
#[derive(Debug)]
pub struct Script(Arc<Play>);

#[derive(Debug)]
struct Play {
    state: Mutex<State>,
    ordered: bool,
}

#[derive(Debug, Default)]
struct State {
    steps: VecDeque<ScriptStep>,
    calls: Vec<String>,
    unexpected: Vec<String>,
}

impl Script {
    /// Requests come in this order.
    pub fn new(steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        Self::of(steps, true)
    }

    /// Requests come in any order; equal ones are answered in the order given.
    pub fn unordered(steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        Self::of(steps, false)
    }

    fn of(steps: impl IntoIterator<Item = ScriptStep>, ordered: bool) -> Self {
        let state = State { steps: steps.into_iter().collect(), ..State::default() };
        Self(Arc::new(Play { state: Mutex::new(state), ordered }))
    }

    /// What the client is built with.
    pub fn transport(&self) -> Arc<dyn Transport> {
        self.0.clone()
    }

    /// Adds to what is expected.
    pub fn expect(&self, steps: impl IntoIterator<Item = ScriptStep>) {
        self.0.state().steps.extend(steps);
    }

    /// Number of requests so far that begin so, e.g. `GET /zones`.
    pub fn calls(&self, beginning: &str) -> usize {
        self.0.state().calls.iter().filter(|call| call.starts_with(beginning)).count()
    }

    /// Every request so far: method, path and query.
    pub fn all_calls(&self) -> Vec<String> {
        self.0.state().calls.clone()
    }

    /// What went wrong so far: requests that nobody expected, and expected ones that did not come.
    pub fn problems(&self) -> Vec<String> {
        let state = self.0.state();
        let missing = state.steps.iter().map(|step| format!("{} {} was never sent", step.method, step.target));
        state.unexpected.iter().cloned().chain(missing).collect()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let problems = self.problems();
        assert!(problems.is_empty() || std::thread::panicking(), "the script was not followed: {problems:#?}");
    }
}

impl Play {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The step that this request plays.
    fn step(&self, request: &Outgoing) -> Result<ScriptStep, String> {
        let mut state = self.state();
        state.calls.push(format!("{} {}", request.method, target(request)));
        let count = if self.ordered { 1 } else { state.steps.len() };
        let at = state.steps.iter().take(count).position(|step| step.objection(request).is_none());
        if let Some(step) = at.and_then(|at| state.steps.remove(at)) {
            return Ok(step);
        }
        let first = state.steps.front().and_then(|step| step.objection(request));
        let problem =
            first.unwrap_or_else(|| format!("{} {} was sent; nothing was expected", request.method, target(request)));
        state.unexpected.push(problem.clone());
        Err(problem)
    }
}

#[async_trait]
impl Transport for Play {
    async fn exchange(&self, request: &Outgoing, limits: BodyLimits) -> Result<Answer, TransportError> {
        let step = self.step(request).map_err(TransportError::Request)?;
        sleep(step.delay).await;
        match step.reply {
            Reply::Answer(answer) if answer.status.is_success() => match limits.success {
                Some(limit) if answer.body.len() > limit => Err(TransportError::TooLarge(limit)),
                _ => Ok(answer),
            },
            Reply::Answer(answer) => {
                let kept = answer.body.slice(..answer.body.len().min(limits.refusal));
                Ok(Answer { body: kept, ..answer })
            }
            Reply::Refused => Err(TransportError::Connect("connection refused (scripted)".into())),
            Reply::Cut => Err(TransportError::Cut("connection closed (scripted)".into())),
            Reply::Hangs => std::future::pending().await,
        }
    }
}
