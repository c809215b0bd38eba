//! What the program prints on standard output and standard error: nothing that becomes of it ends the process in the middle of its work.
//!
//! In: texts. Out: whether they were written. What must hold: a reader that has gone away has what it wanted, and is no error; anything
//! else is one sentence on standard error. The status is the caller's: an answer that could not be written was not given, but what was
//! done was done, whether the words about it reach anybody or not.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// What became of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// It was written.
    All,
    /// Nobody reads any more.
    Unread,
    /// It could not be written; standard error says why.
    Failed,
}

impl Written {
    /// The status of a command whose answer this was: `status`, unless the answer could not be given.
    pub(crate) fn or_failure(self, status: ExitCode) -> ExitCode {
        if self == Self::Failed { ExitCode::FAILURE } else { status }
    }
}

/// Writes a text to standard output.
pub(crate) fn print(text: impl Display) -> Written {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Written::All,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Written::Unread,
        Err(error) => {
            complain(format_args!("write to standard output: {error}"));
            Written::Failed
        }
    }
}

/// Writes a line to standard error. Where that is not possible, nobody can be told.
pub(crate) fn complain(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
