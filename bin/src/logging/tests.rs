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
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
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
        tracing::warn!(target: "kube_client::client::tls", "kt");
        tracing::warn!(target: "aws_config::imds::region", "ar");
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
        ("debug", "f e w i d kw ke kt ar hi hd ai"),
        ("trace", "f e w i d t kw ke kt ar hi hd ai"),
    ] {
        let written = lines(Form::Text, level, speak);
        let messages: Vec<_> = written.iter().filter_map(|line| line.split("msg=").nth(1)).collect();
        assert_eq!(messages.join(" "), expected, "{level}");
    }
    assert!(lines(Form::Text, "fatal", speak)[0].contains("level=fatal"));
    assert!(lines(Form::Text, "warning", speak)[2].contains("level=warning"));
}
