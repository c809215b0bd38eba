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

/// Crates that tell about every connection and request; they are heard from level `debug` on, before that only when
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

/// The client of the API server says of each failed connection that it failed, and not of what; the watch says it better.
const MUTE: &str = "kube_client::client::builder";

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
        .with_target(MUTE, mute)
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
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Collects what is written.
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Sink {
        fn lines(&self) -> Vec<String> {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            text.lines().map(str::to_owned).collect()
        }
    }

    impl Write for Sink {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(octets);
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(form: Form, level: &str, speak: impl FnOnce()) -> Vec<String> {
        let sink = Sink::default();
        let out = sink.clone();
        tracing::subscriber::with_default(subscriber(form, level, move || out.clone()), speak);
        sink.lines()
    }

    fn at(text: &str) -> jiff::Zoned {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(i8::from(!text.ends_with('Z'))));
        text.parse::<jiff::Timestamp>().unwrap().to_zoned(zone)
    }

    fn line(message: &str, fields: &[(&str, Value)]) -> Line {
        let fields = fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        Line { level: "info", message: message.to_owned(), fields }
    }

    #[test]
    fn text_lines_look_like_those_of_logrus() {
        let now = at("2026-08-22T12:11:14+01:00");
        for (line, expected) in [
            (line("ready", &[]), "msg=ready"),
            (line("", &[]), "msg="),
            (line("All records are already up to date", &[]), "msg=\"All records are already up to date\""),
            (line("say \"hi\"\\", &[]), r#"msg="say \"hi\"\\""#),
            (line("two\nlines\u{7}", &[]), r#"msg="two\nlines\u0007""#),
            (line("x", &[("zone", "example.com".into()), ("changes", 3.into())]), "msg=x changes=3 zone=example.com"),
            (line("x", &[("name", "*.example.com".into())]), "msg=x name=\"*.example.com\""),
            (line("x", &[("level", "high".into())]), "msg=x fields.level=high"),
        ] {
            let expected = format!("time=\"2026-08-22T12:11:14+01:00\" level=info {expected}\n");
            assert_eq!(line.render(Form::Text, &now), expected);
        }
    }

    #[test]
    fn json_lines_hold_the_three_keys_and_the_fields() {
        let now = at("2026-08-22T11:11:14Z");
        let line = line("two\nlines", &[("changes", 3.into()), ("msg", "other".into())]);
        let read: Value = serde_json::from_str(&line.render(Form::Json, &now)).unwrap();
        let expected = serde_json::json!({
            "level": "info", "msg": "two\nlines", "time": "2026-08-22T11:11:14Z", "changes": 3, "fields.msg": "other",
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn a_terminal_gets_short_lines() {
        let now = at("2026-08-22T11:11:14Z");
        let line = line("up", &[("zone", "a b".into())]);
        assert_eq!(line.render(Form::Terminal { colour: false }, &now), "11:11:14 info    up zone=\"a b\"\n");
        let coloured = line.render(Form::Terminal { colour: true }, &now);
        assert_eq!(coloured, "11:11:14 \u{1b}[36minfo   \u{1b}[0m up zone=\"a b\"\n");
    }

    #[test]
    fn the_form_follows_the_flag_and_the_terminal() {
        assert_eq!(Form::of("text", false, true), Form::Text);
        assert_eq!(Form::of("text", true, true), Form::Terminal { colour: true });
        assert_eq!(Form::of("json", true, true), Form::Json);
    }

    #[test]
    fn fields_of_spans_stand_in_the_line() {
        let written = lines(Form::Json, "info", || {
            let outer = tracing::info_span!("round", zone = "example.com", names = 1, late = tracing::field::Empty);
            outer.record("late", true);
            let _inside = outer.enter();
            tracing::info!(names = 2, error = ?"x", "done");
        });
        let read: Value = serde_json::from_str(&written[0]).unwrap();
        assert_eq!(read["zone"], "example.com");
        assert_eq!(read["names"], 2);
        assert_eq!(read["late"], true);
        assert_eq!(read["error"], "\"x\"");
        assert_eq!(read["msg"], "done");
    }

    #[test]
    fn levels_and_chatty_crates() {
        let speak = || {
            tracing::error!(target: FATAL, "f");
            tracing::error!("e");
            tracing::warn!("w");
            tracing::info!("i");
            tracing::debug!("d");
            tracing::trace!("t");
            tracing::warn!(target: "kube_client::client", "kw");
            tracing::error!(target: "kube_client::client::builder", "ke");
            tracing::info!(target: "hyper::proto", "hi");
            tracing::debug!(target: "hickory_server::server", "hd");
            tracing::info!(target: "acme_dns_provider", "ai");
        };
        for (level, expected) in [
            ("panic", "f"),
            ("fatal", "f"),
            ("error", "f e"),
            ("warning", "f e w"),
            ("info", "f e w i kw ai"),
            ("debug", "f e w i d kw ke hi hd ai"),
            ("trace", "f e w i d t kw ke hi hd ai"),
        ] {
            let written = lines(Form::Text, level, speak);
            let messages: Vec<_> = written.iter().filter_map(|line| line.split("msg=").nth(1)).collect();
            assert_eq!(messages.join(" "), expected, "{level}");
        }
        assert!(lines(Form::Text, "fatal", speak)[0].contains("level=fatal"));
        assert!(lines(Form::Text, "warning", speak)[2].contains("level=warning"));
    }
}
