//! A command asks a daemon: one request and one answer over its socket.

use std::path::Path;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use zonewright_api::{Ask, WireError, decode_answer, encode_request};
use zonewright_core::{Error, ErrorKind, Result};

use crate::folder;
use crate::state_dir::{socket, token};

/// Asks the daemon of a folder.
///
/// # Errors
/// [`ErrorKind::Unavailable`] if none answers; [`ErrorKind::Configuration`] if others can write to the folder; what it answers, if
/// that is an error.
pub(crate) async fn ask<A: Ask>(folder: &Path, request: A) -> Result<A::Answer> {
    let path = socket(folder);
    if path.symlink_metadata().is_ok() {
        folder::check(folder)?;
    }
    let unreachable = |e| {
        let text = format!(
            "{}: no daemon answers there; give the --state-dir and --txt-owner-id that it was started with",
            path.display()
        );
        Error::new(ErrorKind::Unavailable, "speak to the daemon", text).caused_by(e)
    };
    let token = std::fs::read_to_string(token(folder)).unwrap_or_default();
    let mut stream = UnixStream::connect(&path).await.map_err(unreachable)?;
    stream.write_all(encode_request(&token, request).as_bytes()).await.map_err(unreachable)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.map_err(unreachable)?;
    decode_answer::<A>(&line).map_err(|error| {
        let kind = match error {
            WireError::Protocol(_) => ErrorKind::Protocol,
            WireError::Refused(_) => ErrorKind::Invalid,
        };
        Error::new(kind, "speak to the daemon", error.to_string())
    })
}

/// An answer for programs: one line of JSON with its keys in alphabetical order.
pub(crate) fn as_json(answer: &impl Serialize) -> String {
    // Keys are texts and no value refuses to be written.
    serde_json::to_value(answer).unwrap_or_default().to_string() + "\n"
}
