//! The rules of zones, records and hostnames.

use serde_json::{Value, json};
use zonewright_fakes::cloudflare::{Cloudflare, Permission, Plan};
use zonewright_testkit::require;

const RULES: &str = include_str!("rules.py");

#[test]
fn zones_and_hostnames_are_served() {
    require!(&["cloudflare"]);
    let service = Cloudflare::start();
    let free = service.add_zone("free.org", Plan::Free);
    let paid = service.add_zone("paid.org", Plan::Enterprise);
    let full = service.add_zone("full.org", Plan::Pro);
    let lagging = service.add_zone("lagging.org", Plan::Business);
    let small = service.add_zone("small.org", Plan::Free);
    service.set_page(2);
    service.set_hostname_quota(&free, 3);
    service.set_hostname_quota(&paid, 0);
    service.set_record_limit(&full, 1);
    service.set_lag(&lagging, 2);
    service.set_batch_limit(&lagging, 2);
    service.set_active(&lagging, false);
    let (limited, expired) = ("limited-".repeat(5), "expired-".repeat(5));
    service.allow_token(&limited, &[&free], &[Permission::ZoneRead, Permission::DnsRead]);
    service.allow_token(&expired, &[], &[Permission::ZoneRead]);
    service.expire_token(&expired);
    let answers = crate::ask(RULES, &[&service.url(), &free, &paid, &full, &lagging, &small, &limited, &expired]);
    let tables = [
        zones(),
        access(),
        names(),
        conflicts(),
        content(),
        attributes(),
        changes(),
        batches(),
        listings(),
        hostnames(),
        regions(),
    ];
    let mut count = 0;
    for (question, expected) in tables.into_iter().flatten() {
        let answer = answers.get(question).unwrap_or(&Value::Null);
        // Where status and code are all that matters, the message is left out.
        let matches = match (&expected, answer) {
            (Value::String(expected), Value::String(answer)) if expected.ends_with("..") => {
                answer.starts_with(expected.trim_end_matches(".."))
            }
            (expected, answer) => expected == answer,
        };
        assert!(matches, "{question}: {answer}, not {expected}");
        count += 1;
    }
    assert_eq!(answers.as_object().map(serde_json::Map::len), Some(count), "every answer was looked at");
    assert_eq!(service.records(&small).len(), 200);
    let names: Vec<String> = service.hostnames(&free).into_iter().map(|found| found.hostname).collect();
    assert_eq!(names, ["three.customer.net", "two.customer.net"]);
    let regions: Vec<String> = service.regions(&paid).into_iter().map(|found| found.region).collect();
    assert_eq!(regions, ["eu"]);
    let calls = service.calls();
    let counted = ["deletes", "patches", "puts", "posts", "BatchRecords"].map(|name| calls[name]);
    assert_eq!(counted, [5, 2, 1, 414, 10]);
}

type Table = Vec<(&'static str, Value)>;

fn zones() -> Table {
    vec![
        ("zones", json!(["free.org", "full.org", "lagging.org", "paid.org", "small.org"])),
        ("zone pages", json!([2, 2, 1, 0])),
        ("page of zones", json!({ "page": 2, "per_page": 2, "count": 2, "total_count": 5, "total_pages": 3 })),
        ("zones by name", json!(["paid.org"])),
        ("zones by a part of the name", json!(["lagging.org", "paid.org", "small.org"])),
        ("zones of the account", json!(5)),
        ("zones of another account", json!(0)),
        ("pending zones", json!(["lagging.org"])),
        ("page too large", json!("400 9100 ..")),
        ("page too small", json!("400 9100 ..")),
        ("free zone", json!(["free.org", "active", "free", false, 2])),
        ("paid zone", json!(["paid.org", "active", "enterprise", true, 2])),
        ("no zone", json!("404 7003 Could not route to /client/v4/zones/00000000000000000000000000000000, perhaps..")),
        ("no id of a zone", json!("404 7003 ..")),
        ("records of no zone", json!("404 7003 ..")),
    ]
}

fn access() -> Table {
    vec![
        ("zones of a limited token", json!(["free.org"])),
        ("permissions of a limited token", json!(["#zone:read", "#dns_records:read"])),
        ("zone out of reach", json!("403 9109 Unauthorized to access requested resource")),
        ("records out of reach", json!("403 10000 Authentication error")),
        ("records to read", json!(0)),
        ("records not to write", json!("403 10000 Authentication error")),
        ("hostnames not to read", json!("403 10000 Authentication error")),
        ("unknown token", json!("403 9109 Invalid access token")),
        ("malformed token", json!("400 6003 Invalid request headers")),
        ("expired token", json!("403 9109 Invalid access token")),
        (
            "tokens verified",
            json!(["active", "expired", "401 1000 Invalid API Token", "400 6003 Invalid request headers"]),
        ),
        ("key", json!(5)),
        ("unknown key", json!("403 9103 Unknown X-Auth-Key or X-Auth-Email")),
        ("malformed key", json!("400 6003 Invalid request headers")),
        ("malformed address", json!("400 6003 Invalid request headers")),
        ("no credentials", json!("400 9106 Missing X-Auth-Key, X-Auth-Email or Authorization headers")),
    ]
}

fn names() -> Table {
    #[rustfmt::skip]
    let fields = json!([
        "comment", "content", "created_on", "id", "meta", "modified_on", "name", "proxiable", "proxied", "settings", "tags", "ttl",
        "type",
    ]);
    vec![
        ("create", json!("www.free.org 300 A 192.0.2.1")),
        ("fields of a record", fields),
        ("ids have their form", json!(true)),
        ("get", json!("www.free.org 300 A 192.0.2.1")),
        ("create again", json!("400 81058 An identical record already exists.")),
        ("another member", json!("www.free.org 300 A 192.0.2.2")),
        ("name of another zone", json!("www.paid.org.free.org 300 A 192.0.2.1")),
        ("apex", json!("free.org 300 A 192.0.2.1")),
        ("wildcard behind the proxy", json!("*.free.org 1 A 192.0.2.1 proxied")),
        ("no name", json!("400 9000 DNS name is invalid.")),
    ]
}

fn conflicts() -> Table {
    vec![
        ("CNAME beside A", json!("400 81053 An A, AAAA, or CNAME record with that host already exists...")),
        ("CNAME", json!("alias.free.org 300 CNAME b.org")),
        ("A beside a CNAME", json!("400 81054 A CNAME record with that host already exists...")),
        ("CNAME beside a CNAME", json!("400 81053 ..")),
        ("TXT beside a CNAME", json!("alias.free.org 300 TXT \"text\"")),
        ("CNAME at the apex", json!("paid.org 300 CNAME b.org")),
        ("NS beside A", json!("400 81055 Non-NS records with that host already exist.")),
        ("NS", json!("sub.free.org 300 NS ns.b.org")),
        ("A beside NS", json!("400 81056 NS records with that host already exist.")),
    ]
}

fn content() -> Table {
    vec![
        ("A of no address", json!("400 9005 Content for A record must be a valid IPv4 address.")),
        ("AAAA of no address", json!("400 9006 Content for AAAA record must be a valid IPv6 address.")),
        ("AAAA", json!("x.free.org 300 AAAA 2001:db8::1")),
        ("unknown type", json!("400 9002 DNS record type is invalid.")),
        ("MX without priority", json!("400 9100 priority is a required field.")),
        ("MX", json!("free.org 300 MX 10 mail.b.org")),
        ("MX again with another priority", json!("free.org 300 MX 20 mail.b.org")),
        ("TXT", json!("txt.free.org 300 TXT \"one\" \"two\"")),
        ("TXT without marks", json!("txt.free.org 300 TXT one two")),
        ("TXT with half a mark", json!("400 9100 Content for TXT record has unbalanced quotation marks.")),
        ("long TXT", json!(4)),
        ("TXT too long", json!("400 9100 Content for TXT record is too long.")),
        ("SRV", json!("_s._tcp.free.org 300 SRV 10 5 5223 s.b.org")),
        ("data of SRV", json!({ "priority": 10.0, "weight": 5.0, "port": 5223.0, "target": "s.b.org" })),
        ("SRV without data", json!("400 9101 priority is a required data field.")),
        ("CAA", json!("free.org 300 CAA 0 issue \"ca.org\"")),
        ("HTTPS", json!("www.free.org 300 HTTPS 1 . alpn=\"h3,h2\"")),
        ("NAPTR", json!("free.org 300 NAPTR 1 2 \"S\" \"SIP+D2U\" \"\" _sip._udp.b.org")),
        ("SSHFP", json!("www.free.org 300 SSHFP 4 2 00ff")),
        ("TLSA", json!("_443._tcp.free.org 300 TLSA 3 1 1 00ff")),
        ("DS", json!("sub.free.org 300 DS 1 13 2 00ff")),
        ("URI", json!("_h._tcp.free.org 300 URI 1 2 \"https://b.org\"")),
    ]
}

fn attributes() -> Table {
    let ttl = "400 9021 TTL must be between 60 and 86400 seconds, or 1 for Automatic.";
    vec![
        ("TTL too small", json!(ttl)),
        ("TTL of an enterprise zone", json!("ttl.paid.org 30 A 192.0.2.1")),
        ("TTL too large", json!(ttl)),
        ("automatic TTL", json!("ttl.free.org 1 A 192.0.2.1")),
        ("TTL behind the proxy", json!("proxy.free.org 1 A 192.0.2.1 proxied")),
        ("private address behind the proxy", json!("400 9003 Target 10.0.0.1 is not allowed for a proxied record.")),
        ("text behind the proxy", json!("400 9004 This record type cannot be proxied.")),
        ("proxiable", json!([false, true])),
        ("comment too long", json!("400 9313 DNS record comment exceeds the maximum length of 100 characters.")),
        (
            "comment of a paid zone too long",
            json!("400 9313 DNS record comment exceeds the maximum length of 500 characters."),
        ),
        ("tags of a free zone", json!("400 9300 DNS record has 1 tags, exceeding the quota of 0.")),
        ("21 tags", json!("400 9300 DNS record has 21 tags, exceeding the quota of 20.")),
        ("tag without a value", json!("400 9100 ..")),
        ("attributes", json!(["a".repeat(500), ["owner:me", "team:x"]])),
        ("flattening in a free zone", json!("400 9100 ..")),
        ("flattening", json!("flat.paid.org 300 CNAME b.org")),
    ]
}

fn changes() -> Table {
    vec![
        ("edit", json!(["www.free.org 300 A 192.0.2.9", "mine", true, true])),
        ("update", json!(["www.free.org 60 A 192.0.2.8", null, true])),
        ("edit to what another one says", json!("400 81058 An identical record already exists.")),
        ("delete", json!(true)),
        ("delete again", json!("404 81044 Record does not exist.")),
        ("get of none", json!("404 81044 Record does not exist.")),
        ("edit of none", json!("404 81044 Record does not exist.")),
        ("no id of a record", json!("404 7003 ..")),
    ]
}

fn batches() -> Table {
    let posts = ["b1.paid.org 300 A 192.0.2.1", "b2.paid.org 300 A 192.0.2.1", "b3.paid.org 300 A 192.0.2.1"];
    let all = json!({
        "deletes": ["b1.paid.org 300 A 192.0.2.1"], "patches": ["b3.paid.org 300 A 192.0.2.4"],
        "puts": ["b2.paid.org 300 A 192.0.2.3"], "posts": ["b1.paid.org 300 CNAME b.org"],
    });
    let change = json!({ "deletes": ["b2.paid.org 300 A 192.0.2.3"], "posts": ["b2.paid.org 300 CNAME b.org"] });
    vec![
        ("posts", json!({ "posts": posts })),
        ("all parts", all),
        ("batch with a wrong end", json!("400 9005 Content for A record must be a valid IPv4 address.")),
        ("batch with the delete of none", json!("404 81044 Record does not exist.")),
        ("batch with a conflict", json!("400 81053 ..")),
        ("nothing of a refused batch", json!(true)),
        ("change of kind", change),
        ("no batch", json!({})),
        ("batch of a free zone too large", json!("400 9100 Batch has 201 operations, exceeding the limit of 200.")),
        ("batch too large by order", json!("400 9100 Batch has 3 operations, exceeding the limit of 2.")),
        ("largest batch of a free zone", json!(200)),
        ("full zone", json!("400 81045 Record quota exceeded.")),
        ("zone that is full by order", json!(["n0.full.org 300 A 192.0.2.1", "400 81045 Record quota exceeded."])),
    ]
}

fn listings() -> Table {
    vec![
        ("pages of records", json!([2, 2, 2, 1, 0])),
        ("page of records", json!({ "page": 2, "per_page": 2, "count": 2, "total_count": 7, "total_pages": 4 })),
        ("page asked for too large", json!("400 9100 ..")),
        ("records by type", json!(["b1", "b2", "flat", "paid"])),
        ("records by the start of the name", json!(["b1", "b2", "b3"])),
        ("records by comment", json!(["attributes", "b3"])),
        ("records by tag", json!(["attributes"])),
        ("records by content", json!(["b3"])),
        ("records by one of two", json!(["attributes", "b3"])),
        ("records in reverse", json!(["b3", "b2", "b1"])),
        ("records by a wrong order", json!("400 9100 ..")),
        ("lag", json!([0, 0, 1])),
    ]
}

fn hostnames() -> Table {
    vec![
        ("custom hostname", json!(["app.customer.net", "proxy.free.org", "pending", "initializing"])),
        ("settings of its certificate", json!("1.2")),
        ("custom hostname again", json!("409 1406 Duplicate custom hostname found.")),
        ("custom hostname without its origin", json!("400 1421 The custom origin hostname you specified does not..")),
        ("custom hostname with a wildcard", json!("400 1448 ..")),
        ("custom hostname with a wrong TLS version", json!("400 1425 ..")),
        ("custom hostname with a wrong authority", json!("400 1434 The SSL attribute is invalid.")),
        ("custom hostnames", json!(["app.customer.net", "two.customer.net"])),
        ("custom hostname got", json!("two.customer.net")),
        ("custom hostname by no id", json!("400 1435 The custom hostname ID is invalid.")),
        ("custom hostnames by name", json!(["two.customer.net"])),
        ("custom hostname moved", json!(["www.free.org", "google"])),
        ("custom hostname of one too many", json!([true, "403 1405 Quota exceeded."])),
        ("custom hostname without quota", json!("403 1404 No quota has been allocated for this zone.")),
        ("custom hostname deleted", json!(true)),
        ("custom hostname deleted again", json!("404 1436 The custom hostname was not found.")),
    ]
}

fn regions() -> Table {
    vec![
        ("regional hostname", json!("eu")),
        ("regional hostname again", json!("409 10014 ..")),
        ("regional hostname with a wildcard", json!("us")),
        ("regional hostname of another zone", json!("400 10012 ..")),
        ("regional hostname without a region", json!("400 10011 ..")),
        ("regional hostname of a free zone", json!("403 10010 ..")),
        ("regions", json!(true)),
        ("regions of another account", json!("404 7003 ..")),
        ("regional hostnames", json!([["*.paid.org", "us"], ["www.paid.org", "eu"]])),
        ("regional hostname changed", json!("ca")),
        ("regional hostname got", json!("ca")),
        ("regional hostname deleted", json!(true)),
        ("regional hostname deleted again", json!("404 10009 ..")),
    ]
}
