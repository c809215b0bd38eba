//! A realm does what its handle promises: another program, `nsupdate -g`, logs in there and changes a zone.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use zonewright_testkit::{DnsServer, DnsSoftware, Key, Realm, ZoneSpec, kerberos, own_process, require};

const ZONE: &str = "example.test";
const PASSWORD: &str = "correct horse";

fn feed(realm: &Realm, program: &str, arguments: &[&str], input: &str) -> Output {
    let cache = realm.environment()[0].1.with_extension("cache");
    let mut command = Command::new(program);
    command.args(arguments).envs(realm.environment()).env("KRB5CCNAME", cache);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start a program");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("write to the program");
    child.wait_with_output().expect("wait for the program")
}

#[test]
fn a_user_logs_in_and_updates() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS, &["kinit"]);
    let realm = Realm::start("EXAMPLE.TEST");
    realm.add_user("dns-updater", PASSWORD);
    let keytab = realm.keytab(&["DNS/ns1.example.test", "DNS/localhost"]);
    let server =
        DnsServer::bind_with_kerberos(&[ZoneSpec::new(ZONE, "")], &[Key::new("ddns")], keytab, &["dns-updater"]);
    assert!(!feed(&realm, "kinit", &["dns-updater"], "wrong\n").status.success());
    let login = feed(&realm, "kinit", &["dns-updater"], &format!("{PASSWORD}\n"));
    assert!(login.status.success(), "{login:?}");
    let script = format!("server localhost {}\nupdate add a.example.test 60 A 192.0.2.1\nsend\n", server.addr().port());
    let update = feed(&realm, "nsupdate", &["-g"], &script);
    assert!(update.status.success(), "{update:?}, {}, {}", server.log(), realm.log());
    assert_eq!(server.query("a.example.test", "A"), ["192.0.2.1"]);
    server.nsupdate("update add b.example.test 60 A 192.0.2.2");
    assert_eq!(server.query("b.example.test", "A"), ["192.0.2.2"], "a key still works");
}

#[test]
fn a_process_of_its_own_belongs_to_the_realm() {
    require!(Realm::TOOLS);
    own_process!();
    assert!(kerberos::is_own_process());
    let realm = Realm::start("EXAMPLE.TEST");
    let config = std::env::var_os("KRB5_CONFIG").expect("a configuration");
    assert_eq!(realm.environment(), [("KRB5_CONFIG", config.into())]);
}

/// Run by the next test in a process of its own.
#[test]
fn fails_when_alone() {
    assert!(!kerberos::is_own_process(), "it fails on purpose");
}

#[test]
#[should_panic(expected = "it fails on purpose")]
fn a_failure_there_is_a_failure_here() {
    kerberos::run_in_own_process(&["fails_when_alone", "--exact"]);
}

#[test]
#[should_panic(expected = "running 0 tests")]
fn nothing_to_run_is_a_failure() {
    kerberos::run_in_own_process(&["no_such_test", "--exact"]);
}
