use super::*;

fn fields(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("{value} has no fields") };
    fields
}

fn zone() -> Zone {
    Zone::new(ids::id("zone"), "a.org", Plan::Free)
}

fn address(name: &str, content: &str) -> Map<String, Value> {
    fields(json!({ "name": name, "type": "A", "content": content, "ttl": 300 }))
}

fn texts(records: &Records) -> Vec<String> {
    let mut texts: Vec<String> = records.iter().map(|stored| stored.record.to_string()).collect();
    texts.sort();
    texts
}

fn made(zone: &mut Zone, fields: &Map<String, Value>) -> String {
    zone.write(|zone| zone.create(fields)).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn records_are_written() {
    let mut zone = zone();
    let one = made(&mut zone, &address("www", "192.0.2.1"));
    let two = made(&mut zone, &address("www", "192.0.2.2"));
    let comment = fields(json!({ "comment": "x", "proxied": true }));
    zone.write(|zone| zone.patch(&one, &comment)).unwrap();
    let bare = fields(json!({ "name": "web", "type": "A", "content": "192.0.2.3" }));
    zone.write(|zone| zone.replace(&two, &bare)).unwrap();
    assert_eq!(texts(&zone.records), ["web.a.org 1 A 192.0.2.3", "www.a.org 1 A 192.0.2.1 proxied comment=x"]);
    let target = fields(json!({ "name": "www", "type": "CNAME", "content": "b.org" }));
    assert_eq!(zone.write(|zone| zone.replace(&two, &target)).unwrap_err().code, 81053);
    assert_eq!(
        zone.write(|zone| zone.replace(&one, &target)).map(|element| element["type"].clone()),
        Ok(json!("CNAME"))
    );
    assert_eq!(zone.write(|zone| zone.delete(&one)).map(|element| element["name"].clone()), Ok(json!("www.a.org")));
    for outcome in [zone.delete(&one), zone.patch(&one, &bare), zone.replace(&one, &bare)] {
        assert_eq!(outcome.unwrap_err().code, 81044);
    }
    assert_eq!(texts(&zone.records), ["web.a.org 1 A 192.0.2.3"]);
}

#[test]
fn a_record_does_not_stand_in_its_own_way() {
    let mut zone = zone();
    let one = made(&mut zone, &address("www", "192.0.2.1"));
    let two = made(&mut zone, &address("www", "192.0.2.2"));
    assert!(zone.write(|zone| zone.replace(&one, &address("www", "192.0.2.1"))).is_ok());
    assert_eq!(zone.write(|zone| zone.patch(&two, &address("www", "192.0.2.1"))).unwrap_err().code, 81058);
}

#[test]
fn what_fails_leaves_nothing() {
    let mut zone = zone();
    let one = made(&mut zone, &address("www", "192.0.2.1"));
    let outcome = zone.write(|zone| {
        zone.delete(&one)?;
        zone.create(&address("web", "192.0.2.1"))?;
        zone.create(&address("web", "nowhere"))
    });
    assert_eq!(outcome.unwrap_err().code, 9005);
    assert_eq!(texts(&zone.records), ["www.a.org 300 A 192.0.2.1"]);
    let moved = zone.write(|zone| {
        zone.patch(&one, &address("web", "192.0.2.2"))?;
        zone.patch(&one, &address("web", "192.0.2.3"))?;
        zone.delete("none")
    });
    assert_eq!(moved.unwrap_err().code, 81044);
    assert_eq!(texts(&zone.records), ["www.a.org 300 A 192.0.2.1"]);
    // Names are found again too.
    assert_eq!(zone.create(&address("www", "192.0.2.1")).unwrap_err().code, 81058);
    assert!(zone.create(&address("web", "192.0.2.3")).is_ok());
}

#[test]
fn a_zone_is_full() {
    let mut zone = zone();
    zone.record_limit = Some(1);
    let one = made(&mut zone, &address("www", "192.0.2.1"));
    assert_eq!(zone.create(&address("www", "192.0.2.2")).unwrap_err().code, 81045);
    assert!(zone.patch(&one, &address("www", "192.0.2.2")).is_ok());
    let exchanged = zone.write(|zone| zone.delete(&one).and_then(|_| zone.create(&address("www", "192.0.2.3"))));
    assert!(exchanged.is_ok());
}

#[test]
fn listings_lag_behind() {
    let mut zone = zone();
    zone.set_lag(2);
    let mut seen = Vec::new();
    for name in ["1", "2", "3", "4"] {
        made(&mut zone, &address(name, "192.0.2.1"));
        seen.push(zone.listed().len());
    }
    assert_eq!(seen, [0, 0, 1, 2]);
    assert!(zone.write(|zone| zone.create(&address("5", "nowhere"))).is_err());
    assert_eq!(zone.listed().len(), 2);
    zone.set_lag(0);
    assert_eq!(zone.listed().len(), 4);
}

#[test]
fn a_test_has_its_way() {
    let mut zone = zone();
    let id = zone.put(Record::new("x.b.org", "A", "anything"));
    assert_eq!(zone.put(Record { id: id.clone(), ..Record::new("y.b.org", "A", "else") }), id);
    assert_eq!(texts(&zone.records), ["y.b.org 1 A else"]);
    assert_eq!(zone.remove(&id).map(|record| record.name).as_deref(), Some("y.b.org"));
    assert_eq!(zone.remove(&id), None);
}
