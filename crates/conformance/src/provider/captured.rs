//! What the process logs, searched for what was given in confidence.

use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// What must not be logged, and the lines in which it was all the same.
#[derive(Default)]
struct Watch {
    secrets: Vec<String>,
    logged: Vec<String>,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { secrets: Vec::new(), logged: Vec::new() });

/// Begins to search every line that the process logs, of our own code and of its libraries, down to the last level that a user can
/// ask for. Whether that is possible: a process has one log, and another may have been set up.
pub(super) fn watch(secrets: Vec<String>) -> bool {
    static BEGUN: OnceLock<bool> = OnceLock::new();
    let mut watch = lock();
    for secret in secrets {
        assert!(secret.len() > 5, "a secret of so few characters is found by chance");
        if !watch.secrets.contains(&secret) {
            watch.secrets.push(secret);
        }
    }
    drop(watch);
    *BEGUN.get_or_init(|| {
        let subscriber =
            tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_ansi(false).with_writer(Lines).finish();
        tracing::subscriber::set_global_default(subscriber).is_ok()
    })
}

/// The lines that showed this secret.
pub(super) fn logged(secret: &str) -> Vec<String> {
    lock().logged.iter().filter(|line| line.contains(secret)).cloned().collect()
}

fn lock() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the log goes; each line comes whole.
struct Lines;

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let mut watch = lock();
        if watch.secrets.iter().any(|secret| line.contains(secret.as_str())) {
            watch.logged.push(line.into_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_what_it_shows() {
        assert!(watch(vec!["opensesame".to_owned(), "closesesame".to_owned()]));
        tracing::trace!(password = "opensesame", "a door");
        assert!(logged("opensesame").iter().any(|line| line.contains("a door")));
        assert!(logged("closesesame").is_empty());
    }
}
