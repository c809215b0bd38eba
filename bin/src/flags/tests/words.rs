//! The commands beside the daemon.

use super::*;

fn word(line: &str) -> Result<Invocation, Stop> {
    read(&line.split_whitespace().collect::<Vec<_>>(), &[])
}

fn explain(about: &str) -> Command {
    Command::Explain { about: Subject::parse(about).unwrap() }
}

#[test]
fn commands() {
    for (line, expected) in [
        ("plans --state-dir=s --txt-owner-id=o --json", Command::Plans),
        ("approve 3f2a --state-dir s", Command::Approve { hash: "3f2a".to_owned() }),
        ("approve --json 3f2a", Command::Approve { hash: "3f2a".to_owned() }),
        ("history", Command::History { name: String::new() }),
        ("history x.example --limit=5 --output json", Command::History { name: "x.example".to_owned() }),
        ("undo --since 30m --zone z --yes", Command::Undo),
        ("undo --unpin all --pin-for=2h", Command::Undo),
        ("pinned --output=json", Command::Pinned),
        ("demo --manifests m --plain", Command::Demo),
        ("explain web.example --output=json", explain("web.example")),
        ("why service/shop/web --state-dir s", explain("service/shop/web")),
        ("docs flags", Command::FlagReference),
        ("docs providers", Command::ProviderTable),
    ] {
        assert_eq!(word(line).unwrap().command, expected, "{line}");
    }
    assert_eq!(with("").unwrap().command, Command::Daemon);
    let demo = word("demo").unwrap().settings;
    assert_eq!(demo.text("listen"), "127.0.0.1:5353");
    assert_eq!(word("plans").unwrap().settings.text("txt-owner-id"), "default");
}

#[test]
fn errors() {
    for (line, expected) in [
        ("plan", "unexpected plan: a command is one of plans, approve, history, undo, pinned, demo"),
        ("plans extra", "unexpected extra"),
        ("plans --once", "unknown long flag '--once'"),
        ("approve", "expected the hash of a held plan: zonewright approve HASH [FLAGS]"),
        ("approve a b", "unexpected b"),
        ("history a b", "unexpected b"),
        ("undo 30m", "unexpected 30m"),
        ("pinned --output=yaml", "enum value must be one of table,json, got 'yaml'"),
        ("demo --plain --plain", "flag 'plain' cannot be repeated"),
        ("explain", "expected a name or an object: zonewright explain"),
        ("explain a..b", "\"a..b\" is no DNS name"),
        ("explain a/b/c/d", "\"a/b/c/d\" is no object; expected KIND/NAMESPACE/NAME"),
        ("docs metrics", "unexpected metrics"),
    ] {
        let text = refusal(word(line));
        assert!(text.starts_with(&format!("flag parsing error: {expected}")), "{line}: {text}");
    }
}

/// The switches that the Go program's parser has built in.
#[test]
fn shells_and_manual_pages() {
    let text = |line: &[&str]| match read(line, &[]) {
        Err(Stop::Answer(text)) => text,
        other => panic!("{line:?}: {other:?}"),
    };
    let manual = text(&["--help-man"]);
    assert!(manual.contains(".TH zonewright 1") && manual.contains("txt\\-owner\\-id"), "{manual}");
    assert!(manual.contains("approve") && !manual.contains("no\\-txt"), "{manual}");
    for (switch, shell) in
        [("--completion-script-bash", "complete -F"), ("--completion-script-zsh", "#compdef zonewright")]
    {
        let script = text(&["--source=service", switch]);
        assert!(script.contains(shell) && script.contains("--txt-owner-id") && script.contains("approve"), "{script}");
    }
    for (words, expected) in [
        (&["--txt-p"][..], "--txt-prefix\n"),
        (&["--policy", "u"], "upsert-only\n"),
        (&["app"], "approve\n"),
        (&["--once", "--dry"], "--dry-run\n"),
        (&["--txt-prefix", ""], ""),
        (&["--nothing-like-it"], ""),
    ] {
        assert_eq!(text(&[&["--completion-bash"], words].concat()), expected, "{words:?}");
    }
    assert!(text(&["--completion-bash"]).contains("plans\n"));
}

#[test]
fn each_command_has_help() {
    for name in ["plans", "approve", "history", "undo", "pinned", "demo"] {
        let Err(Stop::Answer(text)) = word(&format!("{name} --help")) else { panic!("{name}") };
        assert!(text.contains(&format!("Usage: zonewright {name}")), "{text}");
    }
}
