//! What the process logs, searched for what was given in confidence.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

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
    *BEGUN.get_or_init(|| tracing::subscriber::set_global_default(Reader::default()).is_ok())
}

/// The lines that showed this secret.
pub(super) fn logged(secret: &str) -> Vec<String> {
    lock().logged.iter().filter(|line| line.contains(secret)).cloned().collect()
}

fn lock() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads what is logged, on every level. Clients log each frame at the lowest, so that lines are not laid out as a user sees them:
/// what an event or a span says is written one after the other, as they tell it.
#[derive(Default)]
struct Reader {
    spans: AtomicU64,
}

impl Subscriber for Reader {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        search(|line| attributes.record(line));
        span::Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        search(|line| values.record(line));
    }

    fn event(&self, event: &Event<'_>) {
        search(|line| event.record(line));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The fields of one event or span, in one line.
struct Line(String);

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }
}

impl Line {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        // To write into a text cannot fail; where a value cannot be shown, what it began with stands.
        let _ = write!(self.0, "{}={value} ", field.name());
    }
}

fn search(write: impl FnOnce(&mut Line)) {
    let mut line = Line(String::new());
    write(&mut line);
    let mut watch = lock();
    if watch.secrets.iter().any(|secret| line.0.contains(secret.as_str())) {
        watch.logged.push(line.0);
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
        let span = tracing::trace_span!("a house", first = "opensesame", second = tracing::field::Empty);
        span.record("second", "closesesame");
        drop(span);
        assert_eq!((logged("opensesame").len(), logged("closesesame").len()), (2, 1));
        tracing::debug!("said: {}", "closesesame");
        assert_eq!(logged("closesesame").len(), 2);
    }
}
