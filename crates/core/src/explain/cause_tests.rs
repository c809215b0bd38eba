use std::collections::BTreeSet;

use super::*;
use crate::explain::BLANKS;

fn blanks(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(blank, _)| blank).collect()
}

#[test]
fn every_cause_has_one_sentence_and_one_advice() {
    let mut words = BTreeSet::new();
    for cause in Cause::ALL {
        let CauseText { word, sentence, advice, event } = cause.row();
        assert!(words.insert(word), "{word} twice");
        for text in [sentence, advice] {
            assert!(text.ends_with('.') && !text.ends_with(" ."), "{word}: {text}");
            assert!(!text.contains("  "), "{word}: {text}");
            assert!(blanks(text).iter().all(|blank| BLANKS.contains(blank)), "{word}: {text}");
            assert_eq!(text.matches(". ").count(), 0, "{word}: more than one sentence: {text}");
        }
        assert!(event.is_none_or(|event| !event.is_empty()), "{word}");
    }
}

#[test]
fn a_cause_is_written_as_its_word() {
    for cause in Cause::ALL {
        assert_eq!(serde_json::to_value(cause).unwrap(), cause.row().word);
    }
}

#[test]
fn what_a_plan_reports_has_the_reason_of_its_cause() {
    use crate::claim::OwnerId;
    use crate::rtype::RecordType;
    let owner = || OwnerId::new("x").unwrap();
    for why in [
        Why::Foreign(owner()),
        Why::Unclaimed,
        Why::Disputed(vec![owner()]),
        Why::ForeignClaim(owner()),
        Why::CnameBeside(vec![RecordType::A]),
        Why::Policy("updates"),
        Why::Doubt(Vec::new()),
        Why::Pending(String::new()),
        Why::Unmet,
        Why::Contested("x".into()),
        Why::Pinned("x".into()),
    ] {
        assert_eq!(Cause::from(&why).row().event, Some(why.reason()), "{why:?}");
    }
}

/// The headings of the page, each with the first cause below it.
const SECTIONS: &[(&str, Cause)] = &[
    ("It is there", Cause::Published),
    ("Something is not read", Cause::NotStarted),
    ("No object asks for it", Cause::NotAsked),
    ("The object is passed over", Cause::AnnotationFilter),
    ("The object asks, and not for something that can be published", Cause::InvalidHostname),
    ("The name reaches no zone", Cause::NameFiltered),
    ("The object may not have it, or another one has it", Cause::Denied),
    ("A record that is not ours is in the way", Cause::ForeignOwner),
    ("What stands is kept as it is", Cause::Policy),
    ("It cannot be written", Cause::ClaimRefused),
    ("It is not written by this process, or not yet, or is not answered", Cause::DryRun),
    ("It stands, and nobody asks for it", Cause::HeldDelete),
];

fn page() -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for cause in Cause::ALL {
        if let Some((heading, _)) = SECTIONS.iter().find(|(_, first)| first == cause) {
            let _ = write!(out, "\n### {heading}\n\n| cause | sentence | what to do | event |\n|---|---|---|---|\n");
        }
        let CauseText { word, sentence, advice, event } = cause.row();
        let event = event.map(|event| format!("`{event}`")).unwrap_or_default();
        let _ = writeln!(out, "| `{word}` | {sentence} | {advice} | {event} |");
    }
    out
}

/// `BLESS=1` in the environment writes the tables into the page instead.
#[test]
fn the_page_of_causes_is_current() {
    const BEGIN: &str = "<!-- causes -->\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/troubleshooting.md");
    let stored = std::fs::read_to_string(path).expect("docs/troubleshooting.md");
    let (before, after) = stored.split_once(BEGIN).expect("the mark before the tables");
    let tables = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{tables}")).expect("the page can be written");
    } else {
        assert!(after == tables, "docs/troubleshooting.md is old: run the tests of zonewright-core with BLESS=1");
    }
}
