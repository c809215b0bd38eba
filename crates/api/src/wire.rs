//! The lines on the socket.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Ask, Request, VERSION};

/// Why a line could not be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireError {
    /// The other side does not speak the protocol, or another version of it.
    Protocol(String),
    /// The daemon refused the request, in its own words.
    Refused(String),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(text) | Self::Refused(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for WireError {}

/// What every version has said and will say of a request.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    version: Option<u32>,
    #[serde(default)]
    token: String,
    #[serde(default)]
    request: Value,
}

#[derive(Serialize)]
struct Line<'a> {
    version: u32,
    token: &'a str,
    request: &'a Request,
}

/// A request as a line, with its line feed. `token` is what lies beside the socket.
pub fn encode_request(token: &str, request: impl Into<Request>) -> String {
    written(&Line { version: VERSION, token, request: &request.into() })
}

/// The request of a line.
///
/// # Errors
/// A sentence for whoever asked: the line is no JSON, shows another token, is of another version, or asks for something that
/// does not exist.
pub fn decode_request(line: &str, token: &str) -> Result<Request, String> {
    let head: Head = serde_json::from_str(line).map_err(|error| format!("the request is no JSON: {error}"))?;
    if head.token != token {
        return Err("the token is wrong; expected that of control.token beside the socket".to_owned());
    }
    match head.version {
        Some(VERSION) => {}
        Some(other) => return Err(differs("command", &format!("version {other}"), "daemon")),
        None => return Err(differs("command", "a version before 1", "daemon")),
    }
    serde_json::from_value(head.request).map_err(|error| format!("the request is not understood: {error}"))
}

/// An answer, or why there is none, as a line with its line feed.
pub fn encode_answer<T: Serialize>(answer: Result<T, String>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Reply<T> {
        Answer(T),
        Error(String),
    }
    #[derive(Serialize)]
    struct Line<T> {
        version: u32,
        #[serde(flatten)]
        reply: Reply<T>,
    }
    let reply = match answer {
        Ok(answer) => Reply::Answer(answer),
        Err(error) => Reply::Error(error),
    };
    written(&Line { version: VERSION, reply })
}

/// The answer of a line.
///
/// # Errors
/// What the daemon said in its place, or that it speaks another version.
pub fn decode_answer<A: Ask>(line: &str) -> Result<A::Answer, WireError> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(default)]
        version: Option<u32>,
        #[serde(default)]
        answer: Value,
        #[serde(default)]
        error: Option<String>,
    }
    let protocol = |text: String| Err(WireError::Protocol(text));
    let line: Line = match serde_json::from_str(line) {
        Ok(line) => line,
        Err(error) => return protocol(format!("the answer is no JSON: {error}")),
    };
    match (line.version, line.error) {
        // A refusal is a sentence in every version; an older daemon's may be about what it does not know.
        (Some(_), Some(error)) => Err(WireError::Refused(error)),
        (Some(VERSION), None) => serde_json::from_value(line.answer)
            .or_else(|error| protocol(format!("the answer is not understood: {error}"))),
        (Some(other), None) => protocol(differs("daemon", &format!("version {other}"), "command")),
        (None, _) => protocol(differs("daemon", "a version before 1", "command")),
    }
}

fn differs(other: &str, theirs: &str, we: &str) -> String {
    format!(
        "the {other} speaks {theirs} of the control protocol, this {we} version {VERSION}: use the same release of zonewright \
         for both"
    )
}

fn written(line: &impl Serialize) -> String {
    // Keys are texts and no value refuses to be written, so that this cannot fail; what could not be read is refused anyhow.
    serde_json::to_string(line).unwrap_or_default() + "\n"
}
