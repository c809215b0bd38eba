//! "Why is my name not there?": every cause is set up for real, `explain` has to name it, and the Event has to be there where one is due.
//! The sentences are the table's (`zonewright_core::explain::Cause`), so what is compared is the name of the cause and what was filled in.

mod daemons;
#[cfg(feature = "provider-route53")]
mod early;
mod held;
mod objects;
mod offline;
#[cfg(all(feature = "provider-clouddns", feature = "provider-route53"))]
mod routing;
#[cfg(feature = "provider-route53")]
mod served;
mod table;

use std::process::Output;

use serde_json::Value;
use zonewright_core::explain::Cause;

use crate::SOON;
use crate::cluster::Space;
use crate::daemon::command;
use crate::site::OWNER;

/// What `explain` is asked, and what it has to answer.
struct Case {
    /// A name or an object.
    about: String,
    cause: Cause,
    /// Texts of the sentence and the advice.
    says: Vec<String>,
    /// The object that has the Event, and texts of it.
    event: Option<(&'static str, Vec<String>)>,
}

/// A row without an Event.
fn case(about: impl Into<String>, cause: Cause, says: &[&str]) -> Case {
    Case { about: about.into(), cause, says: owned(says), event: None }
}

impl Case {
    /// The object with the Event of the cause, which holds these texts.
    fn event(mut self, object: &'static str, texts: &[&str]) -> Self {
        self.event = Some((object, owned(texts)));
        self
    }

    /// Asks, and waits for the answer that is expected.
    #[track_caller]
    fn check(&self, state_dir: &str, space: Option<&Space<'_>>) {
        let mut last = Value::Null;
        let answered = zonewright_testkit::poll(SOON, || {
            last = asked(state_dir, &self.about);
            (last["verdict"]["cause"] == self.cause.row().word).then_some(())
        });
        assert!(
            answered.is_some(),
            "{} is {}, expected {:?}\n{last:#}",
            self.about,
            last["verdict"]["cause"],
            self.cause
        );
        let text = format!("{} {}", last["verdict"]["sentence"], last["verdict"]["advice"]);
        for part in &self.says {
            assert!(text.contains(part), "{part:?} is not in {text}\n{last:#}");
        }
        if let Some((object, texts)) = &self.event {
            let reason = self.cause.row().event.expect("a cause with an event");
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            space.expect("events need a cluster").expect_event(object, reason, &texts);
        }
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn run(state_dir: &str, about: &str, more: &[&str]) -> Output {
    let (state, owner) = (format!("--state-dir={state_dir}"), format!("--txt-owner-id={OWNER}"));
    command(&[&["explain", about, &state, &owner], more].concat())
}

/// The answer of the daemon of this state folder.
#[track_caller]
fn asked(state_dir: &str, about: &str) -> Value {
    let output = run(state_dir, about, &["--output=json"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&text)
        .unwrap_or_else(|_| Value::String(format!("{text}{}", String::from_utf8_lossy(&output.stderr))))
}

/// Causes that no daemon of the program can have, each with the test that sets it up.
const ELSEWHERE: &[(Cause, &str)] =
    &[(Cause::Denied, "a_denied_name_is_explained of crates/engine: the program denies nothing yet")];

/// A cause that is added has to be set up here: every one is named by a test of this folder.
#[test]
fn every_cause_is_set_up_by_a_test() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/explain");
    let files = std::fs::read_dir(folder).expect("the folder of these tests");
    let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(file.expect("a file").path());
    let tests: Vec<String> = files.map(|file| read(file).expect("a text")).collect();
    let named = |cause: &Cause| {
        let word = format!("Cause::{}", cause.row().word);
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
        let expected = |text: &str| text.lines().any(|line| line.split(&word).skip(1).any(ends) && line.contains(','));
        tests.iter().any(|text| expected(text.split("const ELSEWHERE").next().unwrap_or_default()))
    };
    for cause in Cause::ALL {
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| other == cause);
        assert!(named(cause) != elsewhere, "{cause:?} is set up by no test of {folder}");
    }
}
