//! What the engine says in its log, while a test listens.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// Messages, each with its level.
type Lines = Arc<Mutex<Vec<(Level, String)>>>;

/// The messages of the thread that began it, as long as it lives.
pub(crate) struct Log {
    lines: Lines,
    _guard: DefaultGuard,
}

impl Log {
    pub(crate) fn listen() -> Self {
        static HEARD: Once = Once::new();
        // Whether a line is of interest to anybody is asked once, of the thread that says it first: where another test does so and
        // listens to nothing, the line would be left out for all.
        HEARD.call_once(|| {
            let _ = tracing::subscriber::set_global_default(Listener(None));
        });
        let lines = Lines::default();
        let guard = tracing::subscriber::set_default(Listener(Some(lines.clone())));
        Self { lines, _guard: guard }
    }

    /// The messages so far of this level that hold a text.
    pub(crate) fn lines(&self, level: Level, text: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        lines.iter().filter(|(of, line)| *of == level && line.contains(text)).map(|(_, line)| line.clone()).collect()
    }

    /// The warnings so far that hold a text.
    pub(crate) fn warnings(&self, text: &str) -> Vec<String> {
        self.lines(Level::WARN, text)
    }
}

/// Where the lines go that it hears, if anywhere.
struct Listener(Option<Lines>);

/// Keeps the message of an event.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let Some(lines) = &self.0 else { return };
        let mut message = Message(String::new());
        event.record(&mut message);
        lines.lock().unwrap().push((*event.metadata().level(), message.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
