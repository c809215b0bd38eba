//! TXT records: whatever text, as it is, at a service and at a real DNS server.

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{KubeApi, require};

use super::clouds::{aws, record};
use super::crowd::calls;
use super::world::World;
use crate::needs;
use crate::site::Site;

#[test]
fn several_texts_in_any_order() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("text");
    object.created(&record("text", "TXT", &["one", "two words"]));
    aws.shows(&["text.shop.test TXT 120 \"one\" \"two words\""]);
    let writes = aws.writes();
    object.does("reconcile", &json!({ "values": ["two words", "one"] }));
    assert_eq!(aws.writes(), writes, "the order says nothing");
    object.does("reconcile", &json!({ "values": ["two words"] }));
    aws.shows(&["text.shop.test TXT 120 \"two words\""]);
    object.deleted();
    aws.shows(&[]);
}

/// The secret of the server of a site, under the keys of the extension.
pub(super) fn server(world: &World, site: &Site) {
    let address = site.dns.addr().to_string();
    world.secret(
        "dns",
        &[
            ("server", &address),
            ("zone", "shop.test."),
            ("tsigKeyName", &site.key.name),
            ("tsigSecret", &site.key.secret),
            ("algorithm", "hmac-sha256."),
        ],
    );
}

pub(super) fn update(name: &str, record_type: &str, values: &[&str]) -> Value {
    json!({ "type": "rfc2136", "name": format!("{name}.shop.test"), "recordType": record_type, "values": values })
}

/// Read by `dig`: nothing is lost of a text, and each value is one record.
#[test]
fn texts_at_a_dns_server() {
    needs!(Bind);
    let site = Site::start(Bind);
    let world = World::new("rfc2136").started();
    server(&world, &site);
    let long = "l".repeat(300);
    let (first, rest) = long.split_at(255);
    for (name, values, expected) in [
        ("plain", vec!["hello"], vec!["\"hello\"".to_owned()]),
        ("blank", vec!["two words"], vec!["\"two words\"".to_owned()]),
        ("empty", vec![""], vec!["\"\"".to_owned()]),
        ("quotes", vec!["say \"hi\""], vec!["\"say \\\"hi\\\"\"".to_owned()]),
        ("slash", vec!["back\\slash"], vec!["\"back\\\\slash\"".to_owned()]),
        ("long", vec![long.as_str()], vec![format!("\"{first}\" \"{rest}\"")]),
        ("many", vec!["a", "b c"], vec!["\"a\"".to_owned(), "\"b c\"".to_owned()]),
        ("semi", vec!["v=DMARC1; p=none"], vec!["\"v=DMARC1; p=none\"".to_owned()]),
    ] {
        let object = world.record(name);
        object.created(&update(name, "TXT", &values));
        let mut answer = site.dig(name, "TXT");
        answer.sort();
        assert_eq!(answer, expected, "{name}");
        object.does("reconcile", &Value::Null);
        object.deleted();
        assert!(site.dig(name, "TXT").is_empty(), "{name}");
    }
}

/// The other types at a DNS server, from creation to the end.
#[test]
fn addresses_at_a_dns_server() {
    needs!(Bind);
    let site = Site::start(Bind);
    let world = World::new("rfc2136").started();
    server(&world, &site);
    for (name, kind, first, second) in [
        ("four", "A", vec!["192.0.2.1", "192.0.2.2"], vec!["192.0.2.3"]),
        ("six", "AAAA", vec!["2001:DB8::1"], vec!["2001:db8::2", "2001:db8::3"]),
        ("host", "CNAME", vec!["a.example.com"], vec!["b.example.com"]),
        ("*.wildcard", "A", vec!["192.0.2.4"], vec!["192.0.2.5"]),
    ] {
        let object = world.record(&name.replace("*.", "any-"));
        object.created(&update(name, kind, &first));
        object.does("reconcile", &json!({ "values": second, "ttl": 60 }));
        let shown: Vec<String> = second
            .iter()
            .map(|value| {
                let dot = if kind == "CNAME" { "." } else { "" };
                format!("{name} 60 {kind} {value}{dot}")
            })
            .collect();
        site.shows(&shown.iter().map(String::as_str).collect::<Vec<_>>());
        object.deleted();
        site.shows(&[]);
    }
}

#[test]
fn addresses_in_another_spelling_are_not_written_at_a_dns_server() {
    needs!(Bind);
    let site = Site::start(Bind);
    let world = World::new("rfc2136").started();
    server(&world, &site);
    let object = world.record("six");
    object.created(&update("six", "AAAA", &["2001:DB8:0:0:0:0:0:1", "2001:db8::2"]));
    // The server's serial says nothing: an update that changes nothing leaves it as it is.
    let updates = || calls(&world).into_iter().filter(|call| call.starts_with("apply ")).collect::<Vec<_>>();
    let before = updates();
    assert_eq!(before, ["apply applied 1"]);
    for values in [["2001:db8::1", "2001:db8::2"], ["2001:DB8:0::2", "2001:0db8::0:1"]] {
        object.does("reconcile", &json!({ "values": values }));
        assert_eq!(updates(), before, "{values:?}");
    }
    site.shows(&["six 120 AAAA 2001:db8::1", "six 120 AAAA 2001:db8::2"]);
    object.deleted();
    site.shows(&[]);
}

/// What others have at a DNS server is taken over without a registry: Gardener expects that; with a text beside it left alone.
#[test]
fn a_record_at_a_dns_server_is_changed_behind_our_back() {
    needs!(Bind);
    let site = Site::start(Bind);
    let world = World::new("rfc2136").started();
    server(&world, &site);
    let object = world.record("web");
    object.created(&update("web", "A", &["192.0.2.1"]));
    site.dns.nsupdate("update delete web.shop.test A\nupdate add web.shop.test 60 A 198.51.100.9");
    object.does("reconcile", &Value::Null);
    site.shows(&["web 120 A 192.0.2.1"]);
    site.dns.nsupdate("update delete web.shop.test A");
    object.deleted();
    site.shows(&[]);
}
