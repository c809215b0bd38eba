//! Log lines: what the program says while it runs, on standard error.
//!
//! In come `tracing` events; out comes one line each, whole or not at all. The forms are those of external-dns (the Go
//! library logrus), which people parse: `time="…" level=info msg="…" key=value`, or one JSON object. On a terminal the
//! text form is shorter and coloured. Fields of the spans around an event stand in its line.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber, span};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use zonewright_core::catalog::Settings;

/// Target of the one event before the process ends because of it: its level is shown as `fatal`, and no `--log-level`
/// hides it.
pub const FATAL: &str = "zonewright::fatal";

/// Crates that log every connection and request; they are heard from level `debug` on, before that only when
/// something is wrong.
const CHATTY: &[&str] = &[
    "axum",
    "h2",
    "hickory_proto",
    "hickory_server",
    "hyper",
    "hyper_util",
    "kube",
    "kube_client",
    "kube_runtime",
    "mio",
    "notify",
    "reqwest",
    "rustls",
    "tokio_util",
    "tower",
    "tower_http",
];

/// What says nothing that is not said better: the client of the API server of each failed connection that it failed, and of each
/// connection that its certificate is not checked; the AWS SDK of each attempt to find keys and a region, in the form for debugging.
const MUTE: &[&str] = &[
    "aws_config",
    "aws_credential_types",
    "aws_runtime",
    "aws_smithy_runtime",
    "aws_smithy_runtime_api",
    "kube_client::client::builder",
    "kube_client::client::tls",
];

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `key=value`, quoted as logrus does.
    Text,
    /// One JSON object.
    Json,
    /// For eyes: the time of day, the level, the message, the fields.
    Terminal {
        /// With escape sequences for colours.
        colour: bool,
    },
}

impl Form {
    /// The form for `--log-format`; a terminal gets its own in place of `text`.
    fn of(format: &str, terminal: bool, colour: bool) -> Self {
        match (format, terminal) {
            ("json", _) => Self::Json,
            (_, true) => Self::Terminal { colour },
            (_, false) => Self::Text,
        }
    }
}

/// Sends every later event of this process to standard error, in the form and from the level that the flags
/// `--log-format` and `--log-level` say. Does nothing if a subscriber is already set, as in a test.
pub fn start(settings: &Settings) {
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let form = Form::of(settings.text("log-format"), io::stderr().is_terminal(), colour);
    let subscriber = subscriber(form, settings.text("log-level"), io::stderr);
    // Only a second call can fail, and then the first one stands.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// A subscriber that writes lines to `out`.
pub fn subscriber<W>(form: Form, level: &str, out: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::registry().with(Lines { form, out }.with_filter(filter(level)))
}

/// What is let through at a level of external-dns. `panic` and `fatal` leave only the last words of the process.
fn filter(level: &str) -> Targets {
    let (ours, chatty) = match level {
        "panic" | "fatal" => (LevelFilter::OFF, LevelFilter::OFF),
        "error" => (LevelFilter::ERROR, LevelFilter::ERROR),
        "warning" => (LevelFilter::WARN, LevelFilter::ERROR),
        "debug" => (LevelFilter::DEBUG, LevelFilter::DEBUG),
        "trace" => (LevelFilter::TRACE, LevelFilter::TRACE),
        _ => (LevelFilter::INFO, LevelFilter::WARN),
    };
    let mute = if chatty >= LevelFilter::DEBUG { chatty } else { LevelFilter::OFF };
    Targets::new()
        .with_default(ours)
        .with_targets(CHATTY.iter().map(|name| (*name, chatty)))
        .with_targets(MUTE.iter().map(|name| (*name, mute)))
        .with_target(FATAL, LevelFilter::ERROR)
}

fn level_name(metadata: &Metadata<'_>) -> &'static str {
    match *metadata.level() {
        Level::ERROR if metadata.target() == FATAL => "fatal",
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// The fields of a span or event.
#[derive(Debug, Clone, Default)]
struct Fields(BTreeMap<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::from(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::from(format!("{value:?}")));
    }
}

/// The layer: it keeps the fields of spans and writes events.
struct Lines<W> {
    form: Form,
    out: W,
}

impl<S, W> Layer<S> for Lines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        for span in context.event_scope(event).into_iter().flat_map(tracing_subscriber::registry::Scope::from_root) {
            if let Some(of_span) = span.extensions().get::<Fields>() {
                fields.0.extend(of_span.0.clone());
            }
        }
        event.record(&mut fields);
        let message = fields.0.remove("message").map(|value| plain(&value)).unwrap_or_default();
        let line = Line { level: level_name(event.metadata()), message, fields: fields.0 };
        let now = jiff::Zoned::now();
        // There is nowhere left to say that standard error is gone.
        let _ = self.out.make_writer().write_all(line.render(self.form, &now).as_bytes());
    }
}

/// What one line says.
struct Line {
    level: &'static str,
    message: String,
    fields: BTreeMap<String, Value>,
}

impl Line {
    fn render(&self, form: Form, now: &jiff::Zoned) -> String {
        let mut out = match form {
            Form::Text => self.text(now),
            Form::Json => self.json(now),
            Form::Terminal { colour } => self.terminal(now, colour),
        };
        out.push('\n');
        out
    }

    fn text(&self, now: &jiff::Zoned) -> String {
        let mut out = format!("time={} level={} msg={}", quoted(&rfc3339(now)), self.level, quoted(&self.message));
        self.append_fields(&mut out);
        out
    }

    fn json(&self, now: &jiff::Zoned) -> String {
        let mut object = serde_json::Map::new();
        object.insert("level".to_owned(), Value::from(self.level));
        object.insert("msg".to_owned(), Value::from(self.message.as_str()));
        object.insert("time".to_owned(), Value::from(rfc3339(now)));
        for (key, value) in &self.fields {
            object.insert(free_key(key), value.clone());
        }
        Value::Object(object).to_string()
    }

    fn terminal(&self, now: &jiff::Zoned, colour: bool) -> String {
        let (on, off) = if colour { (self.colour(), "\u{1b}[0m") } else { ("", "") };
        let time = now.strftime("%H:%M:%S");
        let mut out = format!("{time} {on}{:<7}{off} {}", self.level, escaped(&self.message));
        self.append_fields(&mut out);
        out
    }

    fn colour(&self) -> &'static str {
        match self.level {
            "fatal" | "error" => "\u{1b}[31m",
            "warning" => "\u{1b}[33m",
            "info" => "\u{1b}[36m",
            _ => "\u{1b}[37m",
        }
    }

    fn append_fields(&self, out: &mut String) {
        for (key, value) in &self.fields {
            let _ = write!(out, " {}={}", free_key(key), quoted(&plain(value)));
        }
    }
}

/// RFC 3339 with whole seconds; UTC as `Z`, as Go writes it.
fn rfc3339(now: &jiff::Zoned) -> String {
    let text = now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    match text.strip_suffix("+00:00") {
        Some(utc) => format!("{utc}Z"),
        None => text,
    }
}

/// A field that has the name of one of the fixed keys gets the prefix that logrus gives it.
fn free_key(key: &str) -> String {
    if matches!(key, "level" | "msg" | "time") { format!("fields.{key}") } else { key.to_owned() }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value as logrus writes it: bare if it holds nothing but the characters that need no quotes.
fn quoted(text: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-._/@^+".contains(c);
    if text.chars().all(bare) { text.to_owned() } else { format!("\"{}\"", escaped(text).replace('"', "\\\"")) }
}

/// The text on one line: control characters and backslashes escaped, so that no object's content can forge a line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
