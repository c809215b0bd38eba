use super::*;

fn policy(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

fn items(text: &str) -> Vec<Item> {
    match read(RecordType::A, &policy(text)) {
        RecordData::Items(items) => items,
        other => panic!("{other:?}"),
    }
}

const WEIGHTS: &str = r#"{"kind":"dns#rRSetRoutingPolicy","wrr":{"kind":"x","items":[
    {"kind":"y","weight":10.0,"rrdatas":["192.0.2.1","192.0.2.2"]},
    {"kind":"y","weight":0.5,"rrdatas":["192.0.2.3"],"signatureRrdatas":[]}]},
    "healthCheck":"https://compute.test/hc"}"#;

#[test]
fn items_are_read() {
    let places = r#"{"geo":{"enableFencing":true,"items":[
        {"location":"us-east1","rrdatas":["192.0.2.1"]},
        {"location":"europe-west3","rrdatas":["192.0.2.2"],"healthCheckedTargets":{"externalEndpoints":["192.0.2.9"]}}]}}"#;
    let keys = |text| -> Vec<String> {
        items(text)
            .iter()
            .map(|item| format!("{} {}", zonewright_core::in_set::policy_key(&item.routing), item.records.len()))
            .collect()
    };
    assert_eq!(keys(places), ["geolocation:.europe-west3. 2", "geolocation:.us-east1. 1"]);
    assert_eq!(keys(WEIGHTS), ["weighted:0 2", "weighted:10 2"], "half a weight is no weight of ours");
}

/// In a signed zone the service adds its signatures to each item, also to ours.
#[test]
fn signatures_of_an_item_are_none_of_its_values() {
    let signed = r#"{"wrr":{"items":[{"weight":10,"rrdatas":["192.0.2.1"],"signatureRrdatas":["A 8 3 300 sig"]}]}}"#;
    let plain = r#"{"wrr":{"items":[{"weight":10,"rrdatas":["192.0.2.1"]}]}}"#;
    assert_eq!(items(signed), items(plain));
    assert!(!is_same(&policy(signed), &policy(plain)), "a deletion states them");
}

#[test]
fn what_is_not_understood_is_one_value() {
    for text in [
        r#"{"primaryBackup":{"trickleTraffic":0.1,"primaryTargets":{},"backupGeoTargets":{"items":[]}}}"#,
        r#"{"wrr":{"items":[]}}"#,
        r#"{"wrr":{"items":[{"weight":-1}]}}"#,
        r#"{"wrr":{"items":[{"weight":1,"rrdatas":"x"}]}}"#,
        r#"{"geo":{"items":[{"rrdatas":[]}]}}"#,
        r#"{"geo":{"items":[{"location":"us-east1"}]},"wrr":{"items":[{"weight":1}]}}"#,
        r#"{"new":{"items":[{"weight":1}]}}"#,
    ] {
        let data = read(RecordType::A, &policy(text));
        assert_eq!(of_opaque(data.as_records()), Some(policy(text)), "{text}");
    }
    assert_eq!(of_opaque(&[RData::parse(RecordType::A, "192.0.2.1").unwrap()]), None);
}

/// Whatever an item has stands in it after it was read and written, with what it took the place of and without.
#[test]
fn what_is_read_is_written() {
    let whole = policy(WEIGHTS);
    let items = items(WEIGHTS);
    let again = write(RecordType::A, &items, Some(&whole)).unwrap();
    let mut sorted = again["wrr"]["items"].as_array().unwrap().clone();
    sorted.reverse();
    assert_eq!(Value::Array(sorted), whole["wrr"]["items"], "each item as it stood");
    assert_eq!((&again["healthCheck"], &again["wrr"]["kind"]), (&whole["healthCheck"], &whole["wrr"]["kind"]));
    let anew = write(RecordType::A, &items, None).unwrap();
    assert_eq!(read(RecordType::A, &anew), RecordData::items(items));
    assert_eq!(anew.get("healthCheck"), None);
}

#[test]
fn an_item_more_leaves_the_others_as_they_are() {
    let whole = policy(WEIGHTS);
    let records = vec![RData::parse(RecordType::A, "192.0.2.7").unwrap()];
    let mut wanted = items(WEIGHTS);
    wanted.push(Item { routing: Routing::Weighted { weight: 5 }, records });
    let written = write(RecordType::A, &wanted, Some(&whole)).unwrap();
    let found = written["wrr"]["items"].as_array().unwrap();
    assert!(whole["wrr"]["items"].as_array().unwrap().iter().all(|item| found.contains(item)), "{written:?}");
    assert!(found.contains(&json!({ "weight": 5, "rrdatas": ["192.0.2.7"] })), "{written:?}");
}

#[test]
fn another_kind_takes_nothing_along() {
    let item = Item { routing: Routing::Geolocation { location: at("us-east1") }, records: Vec::new() };
    let written = write(RecordType::A, std::slice::from_ref(&item), Some(&policy(WEIGHTS))).unwrap();
    assert_eq!(written, policy(r#"{"geo":{"items":[{"location":"us-east1","rrdatas":[]}]}}"#));
    let mixed = [item, Item { routing: Routing::Weighted { weight: 1 }, records: Vec::new() }];
    assert!(write(RecordType::A, &mixed, None).unwrap_err().contains("one kind"));
}

#[test]
fn policies_are_compared_by_what_they_say() {
    let same = |one: &str, other: &str| is_same(&policy(one), &policy(other));
    assert!(same(
        r#"{"wrr":{"kind":"x","items":[{"weight":1.0}]}}"#,
        r#"{"wrr":{"items":[{"weight":1,"rrdatas":[]}]}}"#
    ));
    assert!(!same(r#"{"wrr":{"items":[{"weight":1}]}}"#, r#"{"wrr":{"items":[{"weight":2}]}}"#));
    assert!(!same(r#"{"wrr":{"items":[{"weight":1}]}}"#, r#"{"wrr":{"items":[{"weight":1}]},"healthCheck":"x"}"#));
}
