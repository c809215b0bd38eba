//! Each DNS server does what the handle promises.

use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use zonewright_testkit::{Algorithm, DnsServer, DnsSoftware, Key, ZoneSpec, poll, require, wait_for};

/// One named test for each server and case: `battery!(case)` makes `case::bind`, `case::knot` and `case::powerdns`.
macro_rules! battery {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use super::*;

            #[test]
            fn bind() {
                require!(DnsSoftware::Bind.tools());
                super::$case(DnsSoftware::Bind);
            }

            #[test]
            fn knot() {
                require!(DnsSoftware::Knot.tools());
                super::$case(DnsSoftware::Knot);
            }

            #[test]
            fn powerdns() {
                require!(DnsSoftware::PowerDns.tools());
                super::$case(DnsSoftware::PowerDns);
            }
        }
    )+};
}

battery!(
    an_update_is_served_and_kept,
    a_wrong_key_is_refused,
    every_algorithm_works,
    a_frozen_server_goes_on,
    works_without_keys
);

const ZONE: &str = "example.test";

fn start(software: DnsSoftware, keys: &[Key]) -> DnsServer {
    let zones =
        [ZoneSpec::new(ZONE, "www 60 A 192.0.2.1\ntxt TXT \"two  blanks\""), ZoneSpec::new("2.0.192.in-addr.arpa", "")];
    software.start(&zones, keys)
}

fn an_update_is_served_and_kept(software: DnsSoftware) {
    let mut server = start(software, &[Key::new("ddns")]);
    assert_eq!(server.query("www.example.test", "A"), ["192.0.2.1"]);
    let serial = server.serial(ZONE);
    server.nsupdate("update add b.example.test 120 A 192.0.2.2\nupdate delete www.example.test A");
    assert_eq!(server.serial(ZONE), serial + 1);

    let expected = [
        "b.example.test. 120 IN A 192.0.2.2".to_owned(),
        "example.test. 300 IN NS ns1.example.test.".to_owned(),
        format!(
            "example.test. 300 IN SOA ns1.example.test. hostmaster.example.test. {} 3600 600 604800 60",
            serial + 1
        ),
        "ns1.example.test. 300 IN A 127.0.0.1".to_owned(),
        "txt.example.test. 300 IN TXT \"two  blanks\"".to_owned(),
    ];
    assert_eq!(server.axfr(ZONE), expected);
    server.restart();
    assert_eq!(server.axfr(ZONE), expected, "after a restart in order");
    server.kill();
    server.restart();
    assert_eq!(server.axfr(ZONE), expected, "after a crash");
    assert!(!server.log().is_empty());
}

fn a_wrong_key_is_refused(software: DnsSoftware) {
    let server = start(software, &[Key::new("first"), Key::new("second")]);
    let other = start(software, &[Key::new("first")]);
    other.nsupdate("update add x.example.test 60 A 192.0.2.9");
    let script = format!("server 127.0.0.1 {}\nupdate add x.example.test 60 A 192.0.2.9", server.addr().port());
    let refusal = other.try_nsupdate(&script).expect_err("a refusal");
    // PowerDNS refuses without signing, which is all that nsupdate then says.
    let known = ["NOTAUTH", "expected a TSIG"].iter().any(|text| refusal.contains(text));
    assert!(known, "the same name with another secret: {refusal}");
    assert!(server.query("x.example.test", "A").is_empty());
}

fn every_algorithm_works(software: DnsSoftware) {
    use Algorithm::{HmacMd5, HmacSha1, HmacSha224, HmacSha256, HmacSha384, HmacSha512};
    for algorithm in [HmacMd5, HmacSha1, HmacSha224, HmacSha256, HmacSha384, HmacSha512] {
        let server = start(software, &[Key::with_algorithm("ddns", algorithm)]);
        server.nsupdate("update add b.example.test 120 A 192.0.2.2");
        assert!(server.axfr(ZONE).iter().any(|line| line.starts_with("b.")), "{algorithm:?}");
    }
}

fn a_frozen_server_goes_on(software: DnsSoftware) {
    let server = start(software, &[Key::new("ddns")]);
    server.stop();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    silent.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    silent.send_to(SOA_QUERY, server.addr()).expect("send a query");
    assert!(silent.recv(&mut [0; 512]).is_err(), "a frozen server does not answer");
    server.cont();
    assert!(poll(Duration::from_secs(10), || silent.recv(&mut [0; 512]).ok()).is_some());
}

/// `SOA? example.test`, id 0.
const SOA_QUERY: &[u8] = b"\0\0\0\0\0\x01\0\0\0\0\0\0\x07example\x04test\0\0\x06\0\x01";

fn works_without_keys(software: DnsSoftware) {
    let server = start(software, &[]);
    server.nsupdate("update add b.example.test 120 A 192.0.2.2");
    assert!(server.axfr(ZONE).iter().any(|line| line.starts_with("b.")));
}

#[test]
fn bind_answers_over_tls() {
    require!(DnsSoftware::Bind.tools(), &["openssl"]);
    let server = DnsServer::bind_with_tls(&[ZoneSpec::new(ZONE, "")], &[]);
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, server.ca_pem().unwrap()).unwrap();
    let output = Command::new("openssl")
        .args(["s_client", "-verify_return_error", "-verify_ip", "127.0.0.1", "-alpn", "dot", "-CAfile"])
        .arg(ca)
        .args(["-connect", &server.tls_addr().unwrap().to_string()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("ALPN protocol: dot"), "{text}");
}

#[test]
fn a_server_ends_with_its_handle() {
    require!(DnsSoftware::Bind.tools());
    let server = start(DnsSoftware::Bind, &[]);
    let addr = server.addr();
    drop(server);
    assert!(TcpStream::connect(addr).is_err());
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    require!(DnsSoftware::Bind.tools());
    let server = std::thread::spawn(|| start(DnsSoftware::Bind, &[])).join().unwrap();
    assert_eq!(server.query("www.example.test", "A"), ["192.0.2.1"]);
}

/// Runs itself a second time as the test process to be killed; there the variable names the file for the server's
/// address.
#[test]
fn a_killed_test_leaves_no_server_behind() {
    const TEST: &str = "a_killed_test_leaves_no_server_behind";
    const VARIABLE: &str = "ZONEWRIGHT_TESTKIT_VICTIM";
    require!(DnsSoftware::Bind.tools(), &["setpriv"]);
    if let Some(file) = std::env::var_os(VARIABLE) {
        let server = start(DnsSoftware::Bind, &[]);
        std::fs::write(file, server.addr().to_string()).unwrap();
        loop {
            std::thread::park();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("addr");
    // Its temporary files go away with ours.
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim.args(["--exact", TEST]).env(VARIABLE, &file).env("TMPDIR", folder.path()).stdout(Stdio::null());
    let mut victim = victim.spawn().unwrap();
    let addr: SocketAddr =
        wait_for("the victim's server", Duration::from_mins(1), || std::fs::read_to_string(&file).ok()?.parse().ok());
    assert!(TcpStream::connect(addr).is_ok());
    victim.kill().unwrap();
    victim.wait().unwrap();
    wait_for("the server's end", Duration::from_secs(20), || TcpStream::connect(addr).is_err().then_some(()));
}
