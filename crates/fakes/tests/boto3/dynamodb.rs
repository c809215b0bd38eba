//! DynamoDB.

use serde_json::json;
use zonewright_fakes::dynamodb::{DynamoDb, Schema};
use zonewright_testkit::require;

const SCRIPT: &str = include_str!("dynamodb.py");

#[test]
fn a_table_is_served() {
    require!(&["boto3"]);
    let service = DynamoDb::start();
    service.create_table("claims", Schema::hash("k", "S"));
    let range = Some(("r".to_owned(), "N".to_owned()));
    service.create_table("ranged", Schema { range, ..Schema::hash("k", "S") });
    service.set_page(30);
    let answers = crate::ask(SCRIPT, &[&service.url()]);
    for (question, expected) in [
        ("describe", json!([["k", "HASH"]])),
        ("describe ranged", json!([["k", "HASH"], ["r", "RANGE"]])),
        ("describe none", json!("ResourceNotFoundException")),
        ("insert", json!("ok")),
        ("insert again", json!("DuplicateItemException")),
        ("insert without key", json!("ValidationException")),
        ("update", json!("ok")),
        ("update of another owner", json!("ConditionalCheckFailedException")),
        ("update of nothing", json!("ConditionalCheckFailedException")),
        ("update of the key", json!("ValidationException")),
        ("delete of nothing", json!("ok")),
        ("delete of another owner", json!("ConditionalCheckFailedException")),
        ("too few parameters", json!("ValidationException")),
        ("no PartiQL", json!("ValidationException")),
        ("select", json!([{ "k": "a#A#", "o": "me", "l": { "resource": "new" } }])),
        ("batch", json!([null, "DuplicateItem", "ConditionalCheckFailed", null])),
        ("batch returns the old item", json!({ "S": "me" })),
        ("26 in a batch", json!("ValidationException")),
        ("none in a batch", json!("ValidationException")),
        ("one item twice in a batch", json!("ValidationException")),
        ("reads among writes", json!("ValidationException")),
        ("scan", json!(["a#A#", "b#A#", "c#A#", "d#A#"])),
        ("scan pages", json!(true)),
        ("scan with filter", json!(["c#A#"])),
        ("scan with filter has an empty page", json!(true)),
        ("delete", json!("ok")),
        ("left", json!(["b#A#", "c#A#", "d#A#"])),
    ] {
        assert_eq!(answers.get(question), Some(&expected), "{question}");
    }
    assert_eq!(answers.as_object().map(serde_json::Map::len), Some(27), "every answer was looked at");
    assert_eq!(service.items("claims").len(), 3);
    assert!(service.calls()["Scan"] > 4);
}
