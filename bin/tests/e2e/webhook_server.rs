//! `--webhook-server`: a daemon plans, another one that serves BIND carries out, and the webhook protocol is between them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{CommandLine, Daemon, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::{OWNER, Site, ZONE};
use crate::{SOON, until};

/// The line of a server in front of a site.
pub(crate) fn serving(site: &Site) -> CommandLine {
    let line = site.provider(site.dns.addr().port()).without("--policy").without("--txt-owner-id");
    line.args(&["--webhook-server", "--webhook-server-address=127.0.0.1:0"])
}

/// Where a server listens, as it says it.
#[track_caller]
pub(crate) fn address(server: &Daemon) -> String {
    let line = server.says(&["serving the provider over the webhook protocol", "provider=rfc2136"]);
    let address = line.split("address=").nth(1).expect("an address in the line");
    address.split(' ').next().unwrap_or_default().trim_matches('"').to_owned()
}

/// Status and body of an answer of the server.
#[track_caller]
fn ask(server: &Daemon, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address(server)).expect("the server listens");
    stream.set_read_timeout(Some(SOON)).expect("a time limit");
    let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}", body.len());
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).expect("ask");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
    (head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status"), body.to_owned())
}

#[test]
fn a_daemon_works_through_a_server_in_front_of_bind() {
    require!(Bind.tools());
    let (site, folder, state) = (Site::start(Bind), folder(), state_folder());
    let server = serving(&site).start();
    write(folder.path(), "a.yaml", &service("shop", "shop", "192.0.2.1"));
    write(folder.path(), "b.yaml", &service("other", "other", "192.0.2.2"));
    let daemon = CommandLine::default()
        .args(&["--provider=webhook", "--source=service", "--policy=sync", "--metrics-address=127.0.0.1:0"])
        .arg(format!("--webhook-provider-url=http://{}", address(&server)))
        .arg(format!("--txt-owner-id={OWNER}"))
        .arg(format!("--manifests={}", text(folder.path())))
        .arg(format!("--state-dir={}", state.1))
        .start();
    site.shows(&["shop 0 A 192.0.2.1", "other 0 A 192.0.2.2"]);
    let claim = |name: &str| {
        format!(
            "a-{name} 0 TXT \"heritage=external-dns,external-dns/owner={OWNER},external-dns/resource=service/default/{name}\""
        )
    };
    assert_eq!(site.claims(), [claim("other"), claim("shop")]);

    write(folder.path(), "a.yaml", &service("shop", "shop", "192.0.2.3"));
    site.shows(&["shop 0 A 192.0.2.3", "other 0 A 192.0.2.2"]);
    assert_eq!(site.dig("shop", "A"), ["192.0.2.3"]);

    // An address makes room for an alias, in one step.
    let alias = service("shop", "shop", "192.0.2.3").replace("ip: 192.0.2.3", "hostname: lb.cloud.test");
    write(folder.path(), "a.yaml", &alias);
    site.shows(&["shop 0 CNAME lb.cloud.test.", "other 0 A 192.0.2.2"]);

    fs::remove_file(folder.path().join("b.yaml")).expect("remove a manifest");
    site.shows(&["shop 0 CNAME lb.cloud.test."]);
    assert_eq!(site.status("other", "A"), "NXDOMAIN");
    until("the claim to go", SOON, || site.claims().len() == 1);

    // A name of others is refused by BIND, with the reason passed through both; the next name goes on.
    write(folder.path(), "c.yaml", &service("fine", "fine", "192.0.2.4"));
    write(folder.path(), "d.yaml", &service("taken", "taken", "192.0.2.5"));
    site.shows(&["shop 0 CNAME lb.cloud.test.", "fine 0 A 192.0.2.4"]);

    assert!(daemon.terminate().status.success());
    assert_eq!(server.page("/healthz").0, 200);
    assert_eq!(server.page("/readyz").0, 200);
    assert!(
        server.page("/metrics").1.contains("zonewright_provider_calls_total{instance=\"rfc2136\",operation=\"apply\"")
    );
    assert!(server.terminate().status.success());
}

#[test]
fn a_caller_learns_what_was_not_done_and_a_dry_run_does_nothing() {
    require!(Bind.tools());
    let site = Site::start(Bind);
    let server = serving(&site).start();
    assert_eq!(ask(&server, "GET", "/", ""), (200, format!("{{\"include\":[\"{ZONE}\"]}}\n")));
    let (status, records) = ask(&server, "GET", "/records", "");
    assert_eq!(status, 200);
    let mail =
        r#"{"dnsName":"mail.shop.test","targets":["198.51.100.1","198.51.100.2"],"recordType":"A","recordTTL":1800}"#;
    assert!(records.contains(mail), "{records}");
    let body = r#"{"create":[
        {"dnsName":"new.shop.test","recordType":"A","targets":["192.0.2.1"]},
        {"dnsName":"taken.shop.test","recordType":"A","targets":["192.0.2.1"]},
        {"dnsName":"sub.shop.test","recordType":"A","targets":["nonsense"]}],
      "delete":[{"dnsName":"bare.shop.test","recordType":"A","targets":["192.0.2.1"]}]}"#;
    let (status, answer) = ask(&server, "POST", "/records", body);
    assert_eq!(status, 500, "{answer}");
    for part in [
        "\"applied\":1",
        "taken.shop.test\",\"outcome\":\"refused\",\"kind\":\"conflict\"",
        "bare.shop.test",
        "nonsense",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    site.shows(&["new 0 A 192.0.2.1"]);
    assert!(server.terminate().status.success());

    let careful = serving(&site).arg("--dry-run").start();
    let body = r#"{"delete":[{"dnsName":"new.shop.test","recordType":"A","targets":["192.0.2.1"]}]}"#;
    assert_eq!(ask(&careful, "POST", "/records", body).0, 204);
    site.shows(&["new 0 A 192.0.2.1"]);
}

#[test]
fn an_address_that_is_taken_ends_it_at_once() {
    require!(Bind.tools());
    let site = Site::start(Bind);
    let first = serving(&site).start();
    let taken = format!("--webhook-server-address={}", address(&first));
    let second = serving(&site).without("--webhook-server-address").arg(&taken).run();
    assert_eq!(second.status.code(), Some(1), "{}", second.log);
    assert!(second.log.contains(&format!("{taken}: Address already in use")), "{}", second.log);
}
