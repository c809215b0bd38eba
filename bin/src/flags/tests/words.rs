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
        ("plans --output=json", Command::Plans),
        ("migrate --from=- --output=json", Command::Migrate),
        ("records", Command::Records { name: String::new() }),
        ("records example.com --owner=o --limit=0", Command::Records { name: "example.com".to_owned() }),
        ("zones --output json", Command::Zones),
        ("owners", Command::Owners),
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
        ("explode", "unexpected explode: a command is one of plans, approve, history, undo, pinned,"),
        ("plan", "required flag(s) '--source', '--provider' not provided"),
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

/// Every command, in each way of asking for its help.
#[test]
fn each_command_has_help() {
    let ownership = ["adopt", "transfer", "release", "drain"];
    let others = [
        "plans", "approve", "history", "undo", "pinned", "demo", "plan", "migrate", "records", "zones", "owners",
        "rbac",
    ];
    for name in others.into_iter().chain(ownership).chain(["gardener"]) {
        for line in [format!("{name} --help"), format!("{name} -h"), format!("help {name}")] {
            let Err(Stop::Answer(text)) = word(&line) else { panic!("{line}") };
            assert!(text.contains(&format!("Usage: zonewright {name}")), "{line}: {text}");
            assert!(!text.contains("--json"), "{line}: {text}");
        }
    }
}

#[test]
fn help_and_version_in_every_form() {
    let text = |line: &str| match word(line) {
        Err(Stop::Answer(text)) => text,
        other => panic!("{line}: {other:?}"),
    };
    for line in ["help", "-h", "--help", "--source=service -h"] {
        assert!(text(line).contains("zonewright COMMAND [FLAGS]"), "{line}");
    }
    for line in ["version", "-V", "--version", "plans -V"] {
        assert_eq!(text(line), format!("zonewright {}\n", env!("CARGO_PKG_VERSION")), "{line}");
    }
    assert!(refusal(word("help nonsense")).contains("unexpected nonsense"));
}

/// What is misspelt is answered with what is meant.
#[test]
fn the_nearest_word() {
    for (line, expected) in [
        ("plnas", "did you mean plans?"),
        ("histroy", "did you mean history?"),
        ("adpot", "did you mean adopt?"),
        ("--source=servcie", "did you mean 'service'?"),
        ("--source=pod --provider=rfc2163", "did you mean 'rfc2136'?"),
        ("--source=pod --provider=local --policy=upsert", "did you mean 'upsert-only'?"),
        ("plans --output=jsno", "did you mean 'json'?"),
        ("plans --stat-dir=x", "did you mean '--state-dir'?"),
    ] {
        let text = refusal(word(line));
        assert!(text.contains(expected), "{line}: {text}");
    }
}

/// Nothing at all is answered with where to begin; the environment of a container counts as something.
#[test]
fn no_arguments_are_answered_with_where_to_begin() {
    let text = refusal(read(&[], &[]));
    for expected in ["zonewright demo", "zonewright plan", "zonewright --help"] {
        assert!(text.contains(expected), "{text}");
    }
    let text = refusal(read(&[], &[("SOURCE", "service")]));
    assert!(text.contains("'--provider'"), "{text}");
}

/// One flag for output everywhere.
#[test]
fn every_command_with_an_answer_prints_a_table_or_json() {
    let own =
        ["plans", "approve 3f2a", "history", "undo --since=30m", "pinned", "migrate", "records", "zones", "owners"];
    let of_daemon = ["plan", "explain a.example", "adopt", "transfer --from=a --to=b", "release", "drain"];
    let of_daemon = of_daemon.map(|command| format!("{command} {BASE}"));
    for command in own.iter().copied().chain(of_daemon.iter().map(String::as_str)) {
        let output = |flag: &str| word(&format!("{command} {flag}")).map(|one| one.settings.text("output").to_owned());
        for (flag, expected) in [("", "table"), ("--output=table", "table"), ("--output json", "json")] {
            assert_eq!(output(flag).unwrap_or_else(|stop| panic!("{command}: {stop:?}")), expected, "{command}");
        }
        assert!(output("--output=yaml").is_err(), "{command}");
    }
}
