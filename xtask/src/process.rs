//! Running other programs: every call says what was run when it fails.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs `command` with its output passed through.
///
/// # Errors
/// When it cannot be started or ends with a status other than 0; the message holds the command line.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs `command` and returns what it wrote to its standard output.
///
/// # Errors
/// As [`run`]; the message also holds what it wrote to its standard error.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", line(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}: {}", line(command), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} wrote something that is not UTF-8", line(command)))
}

/// Runs `command` with its output passed through; whether it ended with status 0.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn succeeded(command: &mut Command) -> Result<bool> {
    Ok(command.status().with_context(|| format!("cannot start {}", line(command)))?.success())
}

/// Runs `command`; whether it ended with status 0, and what it wrote to both of its outputs, the standard output first.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn everything_said(command: &mut Command) -> Result<(bool, String)> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", line(command)))?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Whether `command` can be started and ends with status 0; what it writes is thrown away.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Whether a program of this name stands in `PATH` or one of the two system folders that ordinary users' paths lack.
pub(crate) fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(Into::into);
    std::env::split_paths(&path).chain(system).any(|folder| is_file(&folder.join(program)))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// The command as a person would type it, for messages: the program without its folder.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_command_and_quote_it() {
        let error = capture(Command::new("/bin/sh").args(["-c", "echo broken >&2; exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh -c echo broken >&2; exit 3 ended with exit status: 3: broken");
        assert!(run(&mut Command::new("no-such-program")).is_err());
    }

    #[test]
    fn what_a_command_says_is_there_whether_it_succeeds_or_not() {
        let said = |script: &str| everything_said(Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!(said("echo err >&2; echo out"), (true, "out\nerr\n".to_owned()));
        assert_eq!(said("echo broken; exit 3"), (false, "broken\n".to_owned()));
    }

    #[test]
    fn programs_are_found() {
        assert!(installed("sh") && !installed("no-such-program"));
        assert!(succeeds(&mut Command::new("true")) && !succeeds(&mut Command::new("false")));
    }
}
