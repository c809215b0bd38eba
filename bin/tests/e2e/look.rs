//! Looking before anything is written (`zonewright plan`), and at what stands (`records`, `zones`, `owners`).

use std::path::Path;

use serde_json::Value;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{CommandLine, Ended, command, ends, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::{Site, ZONE};

fn line(site: &Site, manifests: &Path, state: &str) -> CommandLine {
    let line = site.provider(site.dns.addr().port()).args(&["--source=service", "--start-timeout=2s"]);
    line.arg(format!("--manifests={}", text(manifests))).arg(format!("--state-dir={state}"))
}

/// The lines of a plan with single blanks.
fn lines(ended: &Ended) -> Vec<String> {
    ended.log.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn once(line: &CommandLine) {
    ends(&line.clone().arg("--once"), 0, &[]);
}

/// Each change with its object and reason, what is left alone and why; nothing is written, and the status says whether there is
/// anything to do.
#[test]
fn a_plan_says_what_would_be_done_and_writes_nothing() {
    require!(Bind.tools());
    let (site, manifests, (state_path, state)) = (Site::start(Bind), folder(), state_folder());
    let line = line(&site, manifests.path(), &state);
    for (name, ip) in [("stays", "192.0.2.1"), ("moves", "192.0.2.2"), ("goes", "192.0.2.3")] {
        write(manifests.path(), &format!("{name}.yaml"), &service(name, name, ip));
    }
    once(&line);
    let (serial, zone) = (site.serial(), site.zone());
    let nothing = ends(&line.ordered("plan"), 0, &[]);
    assert_eq!(
        lines(&nothing),
        ["All records are already up to date", "0 to create, 0 to update, 0 to delete, 0 left alone"]
    );

    write(manifests.path(), "moves.yaml", &service("moves", "moves", "192.0.2.9"));
    std::fs::remove_file(manifests.path().join("goes.yaml")).expect("remove a manifest");
    write(manifests.path(), "comes.yaml", &service("comes", "comes", "192.0.2.4"));
    write(manifests.path(), "taken.yaml", &service("taken", "taken", "192.0.2.5"));
    let saved = || std::fs::read(state_path.path().join("e2e.json")).expect("the saved state");
    let before = saved();
    let expected = [
        "zone shop.test",
        "+ comes.shop.test 0 A 192.0.2.4 Service default/comes: no record stands there",
        "- goes.shop.test 0 A 192.0.2.3 service/default/goes: no object requests it any more",
        "~ moves.shop.test 0 A 192.0.2.9 (was 192.0.2.2) Service default/moves: the data differs",
        "= taken.shop.test A is left alone: Service default/taken: a record stands there that belongs to owner someone-else; it \
         is left alone; 198.51.100.3 stands there; `zonewright transfer --from=someone-else` hands it over",
        "1 to create, 1 to update, 1 to delete, 1 left alone",
    ];
    let plan = ends(&line.ordered("plan"), 2, &[]);
    assert_eq!(lines(&plan), expected);
    assert_eq!(saved(), before);
    // A dry run of one pass prints the same, and keeps its own status and log.
    let dry = ends(&line.clone().args(&["--once", "--dry-run"]), 0, &["level=info", "dry run, nothing was sent"]);
    assert_eq!(lines(&dry).into_iter().filter(|line| !line.starts_with("time=")).collect::<Vec<_>>(), expected);
    let json = ends(&line.ordered("plan").arg("--output=json"), 2, &[]);
    let json: Value = serde_json::from_str(&json.log).expect("a document");
    assert_eq!(json["summary"]["create"], 1);
    assert_eq!(json["zones"][0]["changes"][2]["to"]["data"][0], "192.0.2.9");
    assert_eq!(json["zones"][0]["changes"][0]["objects"][0], "Service default/comes");
    assert_eq!(json["zones"][0]["left_alone"][0]["reason"], "ForeignRecord");
    assert_eq!((site.serial(), site.zone()), (serial, zone));
}

#[test]
fn a_plan_shows_what_is_held_and_what_was_not_read() {
    require!(Bind.tools());
    let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
    let line = line(&site, manifests.path(), &state);
    let all: Vec<String> = (0..12).map(|n| service(&format!("s{n}"), &format!("s{n}"), "192.0.2.1")).collect();
    write(manifests.path(), "all.yaml", &all.join("---\n"));
    once(&line);
    write(manifests.path(), "all.yaml", &service("new", "new", "192.0.2.1"));
    let last = "1 to create, 0 to update, 0 to delete, 0 left alone, 12 held";
    let held = ends(&line.ordered("plan"), 3, &["12 deletes are held, since", last, "! s0.shop.test"]);
    let command_at = held.log.find("zonewright approve").expect("how it is approved");
    assert!(held.log[command_at..].contains("approve "), "{}", held.log);
    assert_eq!(site.ours().len(), 12);

    let port = zonewright_testkit::free_port();
    let away = line.clone().without("--rfc2136-port").arg(format!("--rfc2136-port={port}"));
    let unread = ends(&away.ordered("plan"), 4, &["Not read", &format!("zone {ZONE}")]);
    assert!(!unread.log.contains("already up to date"), "{}", unread.log);
    ends(&line.ordered("plan").without("--policy"), 1, &["--policy must be set explicitly"]);
}

fn asked(words: &[&str], state: &str) -> (Option<i32>, String) {
    let state = format!("--state-dir={state}");
    let output = command(&[words, &[&state, "--txt-owner-id=e2e"]].concat());
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// What stands and whose it is, from the daemon; without one each command says the same.
#[test]
fn the_daemon_shows_records_zones_and_owners() {
    require!(Bind.tools());
    let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
    for name in ["one", "two"] {
        write(manifests.path(), &format!("{name}.yaml"), &service(name, name, "192.0.2.1"));
    }
    let daemon = line(&site, manifests.path(), &state).start();
    site.shows(&["one 0 A 192.0.2.1", "two 0 A 192.0.2.1"]);
    daemon.ready();

    let (status, table) = asked(&["records"], &state);
    assert_eq!(status, Some(0), "{table}");
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    let words = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(row("one.shop.test")), ["one.shop.test", "0", "A", "192.0.2.1", "e2e", "service/default/one"]);
    assert_eq!(words(row("taken.shop.test")).last().map(String::as_str), Some("-"), "{table}");
    assert!(!table.contains("heritage"), "{table}");

    let (status, json) = asked(&["records", "two.shop.test", "--output=json"], &state);
    let json: Value = serde_json::from_str(&json).expect("a document");
    assert_eq!(status, Some(0));
    assert_eq!(json["records"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["records"][0]["owner"], "e2e");
    assert_eq!(asked(&["records", "nowhere.shop.test"], &state), (Some(1), "No record matches.\n".to_owned()));
    let (_, limited) = asked(&["records", "--owner=e2e", "--limit=1"], &state);
    assert!(limited.contains("1 more; --limit=0 shows all."), "{limited}");

    let (status, zones) = asked(&["zones"], &state);
    assert_eq!(status, Some(0), "{zones}");
    let zone = zones.lines().nth(1).unwrap_or_default().to_owned();
    assert_eq!(words(zone.clone())[..3], [ZONE, "rfc2136", ZONE], "{zone}");
    assert!(zone.ends_with("ready"), "{zone}");
    let (status, owners) = asked(&["owners", "--output=json"], &state);
    let owners: Value = serde_json::from_str(&owners).expect("a document");
    assert_eq!(status, Some(0));
    let own = owners["owners"].as_array().and_then(|all| all.iter().find(|one| one["owner"] == "e2e")).cloned();
    assert_eq!(own.map(|own| (own["records"].clone(), own["ours"].clone())), Some((2.into(), true.into())));

    drop(daemon);
    for words in ["records", "zones", "owners"] {
        let (status, text) = asked(&[words], &state);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains("no daemon answers there"), "{text}");
    }
}

/// The words of a command that is printed, without the program's own.
fn printed<'t>(text: &'t str, begin: &str) -> Vec<&'t str> {
    let at = text.find(begin).unwrap_or_else(|| panic!("{begin:?} is not in {text}"));
    let line = text[at..].lines().next().unwrap_or_default();
    let end = line.find(['`', '"']).unwrap_or(line.len());
    line[..end].split_whitespace().skip(1).collect()
}

/// What is printed as a command means the same daemon when it is pasted, whatever folder and owner that has.
#[test]
fn printed_commands_can_be_pasted() {
    require!(Bind.tools());
    let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
    let line = line(&site, manifests.path(), &state);
    let all: Vec<String> = (0..12).map(|n| service(&format!("s{n}"), &format!("s{n}"), "192.0.2.1")).collect();
    write(manifests.path(), "all.yaml", &all.join("---\n"));
    once(&line);
    write(manifests.path(), "all.yaml", &service("new", "new", "192.0.2.1"));
    let said = ends(&line.clone().arg("--once"), 3, &["zonewright approve"]);
    let flags = format!("--state-dir={state} --txt-owner-id=e2e");
    assert!(said.log.contains(&flags), "{}", said.log);

    // No daemon runs: it is said where that was read.
    let shown = command(&printed(&said.log, "zonewright plans "));
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("12 deletes are held") && text.contains("(no daemon answers)"), "{text}");
    let json = command(&[&printed(&said.log, "zonewright plans ")[..], &["--output=json"]].concat());
    let json: Value = serde_json::from_slice(&json.stdout).expect("a document");
    assert_eq!(json["plans"][0]["count"], 12);
    let approved = command(&printed(&text, "zonewright approve "));
    assert!(approved.status.success(), "{approved:?}");
    ends(&line.arg("--once"), 0, &["12 deleted"]);
}

/// A server that is away is in the log once, whatever its number of attempts; its zone is not said to be found.
#[test]
fn each_thing_is_logged_once() {
    require!(Bind.tools());
    let (site, manifests, (_folder, state)) = (Site::start(Bind), folder(), state_folder());
    write(manifests.path(), "one.yaml", &service("one", "one", "192.0.2.1"));
    let port = zonewright_testkit::free_port();
    let line = line(&site, manifests.path(), &state).without("--rfc2136-port").arg(format!("--rfc2136-port={port}"));
    let daemon = line.start();
    daemon.says(&["level=error", "the zone cannot be served", "Connection refused"]);
    crate::until("three failures in a row", crate::SOON, || {
        daemon.metric("external_dns_controller_consecutive_soft_errors").is_some_and(|count| count >= 3.0)
    });
    let about = |text: &str| {
        daemon.log().lines().filter(|line| line.contains("Connection refused") && line.contains(text)).count()
    };
    assert_eq!((about("the zone cannot be served"), about("a DNS server failed")), (1, 0), "{}", daemon.log());
    assert_eq!(daemon.count("zone found"), 0);
}
