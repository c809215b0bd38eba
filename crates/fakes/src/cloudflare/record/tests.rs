use super::*;

fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// The record that a request makes, or the code of its error.
#[track_caller]
fn check(plan: Plan, request: &Value, expected: Result<&str, u32>) {
    let record = Record::empty().changed(&fields(request));
    let settled = record.and_then(|mut record| record.settle("a.org", plan).map(|()| record.to_string()));
    assert_eq!(settled.as_deref().map_err(|refusal| refusal.code), expected, "{request}");
}

fn address(more: &Value) -> Value {
    let mut request = fields(&json!({ "name": "www", "type": "A", "content": "192.0.2.1" }));
    request.extend(fields(more));
    Value::Object(request)
}

#[test]
fn requests_make_records() {
    let check = |request, expected| check(Plan::Free, &request, expected);
    check(address(&json!({})), Ok("www.a.org 1 A 192.0.2.1"));
    check(address(&json!({ "ttl": 300.0, "comment": null })), Ok("www.a.org 300 A 192.0.2.1"));
    check(address(&json!({ "ttl": 300, "proxied": true })), Ok("www.a.org 1 A 192.0.2.1 proxied"));
    check(address(&json!({ "comment": "" })), Ok("www.a.org 1 A 192.0.2.1"));
    let mail = json!({ "name": "@", "type": "MX", "content": "mail.b.org", "priority": 10 });
    check(mail, Ok("a.org 1 MX 10 mail.b.org"));
    check(json!({ "type": "A", "content": "192.0.2.1" }), Err(9000));
    check(json!({ "name": "www", "content": "192.0.2.1" }), Err(9002));
    check(json!({ "name": "www", "type": "A" }), Err(9005));
    for wrong in [json!({ "ttl": "300" }), json!({ "ttl": 1.5 }), json!({ "proxied": 1 }), json!({ "tags": "a:b" })] {
        check(address(&wrong), Err(9207));
    }
    check(address(&json!({ "name": 7 })), Err(9207));
    check(address(&json!({ "priority": 65_536 })), Err(9207));
}

#[test]
fn plans_differ() {
    let ttl = |ttl: u32| address(&json!({ "ttl": ttl }));
    for (plan, least) in [(Plan::Free, 60), (Plan::Pro, 60), (Plan::Business, 60), (Plan::Enterprise, 30)] {
        check(plan, &ttl(least), Ok(&format!("www.a.org {least} A 192.0.2.1")));
        check(plan, &ttl(least - 1), Err(9021));
        check(plan, &ttl(86_401), Err(9021));
        check(plan, &ttl(0), Err(9021));
    }
    let comment = |count: usize| address(&json!({ "comment": "é".repeat(count) }));
    check(Plan::Free, &comment(100), Ok(&format!("www.a.org 1 A 192.0.2.1 comment={}", "é".repeat(100))));
    check(Plan::Free, &comment(101), Err(9313));
    check(Plan::Pro, &comment(101), Ok(&format!("www.a.org 1 A 192.0.2.1 comment={}", "é".repeat(101))));
    check(Plan::Pro, &comment(501), Err(9313));
    check(Plan::Free, &address(&json!({ "comment": "a\nb" })), Err(9100));
    check(Plan::Free, &address(&json!({ "tags": ["a:b"] })), Err(9300));
    check(Plan::Pro, &address(&json!({ "tags": ["a:b", "c:"] })), Ok("www.a.org 1 A 192.0.2.1 tags=a:b,c:"));
    check(Plan::Pro, &address(&json!({ "tags": ["a"] })), Err(9100));
    check(Plan::Pro, &address(&json!({ "tags": ["a b:c"] })), Err(9100));
    check(Plan::Pro, &address(&json!({ "tags": vec!["a:b"; 21] })), Err(9300));
    let flat = json!({ "name": "x", "type": "CNAME", "content": "b.org", "settings": { "flatten_cname": true } });
    check(Plan::Free, &flat, Err(9100));
    check(Plan::Pro, &flat, Ok("x.a.org 1 CNAME b.org"));
    check(Plan::Pro, &address(&json!({ "settings": { "flatten_cname": true } })), Err(9100));
    check(Plan::Pro, &address(&json!({ "settings": { "ipv4_only": true } })), Err(9100));
    check(
        Plan::Pro,
        &address(&json!({ "proxied": true, "settings": { "ipv4_only": true } })),
        Ok("www.a.org 1 A 192.0.2.1 proxied"),
    );
}

#[test]
fn the_proxy_is_for_web_servers_of_the_internet() {
    let proxied = |name: &str, kind: &str, content: &str| {
        let mut record = json!({ "type": kind, "content": content, "proxied": true, "priority": 1 });
        record["name"] = name.into();
        record
    };
    check(Plan::Free, &proxied("*", "A", "192.0.2.1"), Ok("*.a.org 1 A 192.0.2.1 proxied"));
    check(Plan::Free, &proxied("x", "A", "10.0.0.1"), Err(9003));
    check(Plan::Free, &proxied("x", "TXT", "a"), Err(9004));
    check(Plan::Free, &proxied("x", "MX", "b.org"), Err(9004));
}

#[test]
fn what_a_patch_leaves_out_stays() {
    let record = Record::new("www.a.org", "A", "192.0.2.1").with_ttl(300).with_comment("one").with_tags(&["a:b"]);
    let patched = record.clone().changed(&fields(&json!({ "content": "192.0.2.2" }))).unwrap();
    assert_eq!(patched, Record { content: "192.0.2.2".to_owned(), ..record.clone() });
    let emptied = record.changed(&fields(&json!({ "comment": null, "tags": [] }))).unwrap();
    assert_eq!(emptied.to_string(), "www.a.org 300 A 192.0.2.1");
}

#[test]
fn answers_show_what_there_is() {
    let plain = Record::new("www.a.org", "A", "10.0.0.1").element("c", "m");
    assert_eq!((&plain["comment"], &plain["tags"], &plain["proxiable"]), (&Value::Null, &json!([]), &json!(false)));
    assert_eq!((&plain["created_on"], &plain["modified_on"]), (&json!("c"), &json!("m")));
    assert!(plain.get("priority").is_none() && plain.get("comment_modified_on").is_none());
    let full = Record::new("a.org", "MX", "b.org").with_priority(5).with_comment("x").element("c", "m");
    assert_eq!((&full["priority"], &full["comment_modified_on"]), (&json!(5), &json!("m")));
}
