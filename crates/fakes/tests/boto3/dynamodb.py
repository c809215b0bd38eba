"""Asks the fake what a registry asks, with the official client, and prints the answers as JSON."""

import json
import sys

import boto3
from boto3.dynamodb.types import TypeDeserializer
from botocore.config import Config
from botocore.exceptions import ClientError

client = boto3.client(
    "dynamodb",
    endpoint_url=sys.argv[1],
    region_name="eu-test-1",
    aws_access_key_id="id",
    aws_secret_access_key="secret",
    config=Config(retries={"total_max_attempts": 1}),
)
plain = TypeDeserializer().deserialize
answers = {}


def text(value):
    return {"S": value}


def labels(value):
    return {"M": {"resource": text(value)}}


def outcome(call):
    try:
        return call()
    except ClientError as error:
        return error.response["Error"]["Code"]


def execute(statement, *parameters):
    def call():
        arguments = {"Parameters": list(parameters)} if parameters else {}
        client.execute_statement(Statement=statement, **arguments)
        return "ok"

    return outcome(call)


def batch(*statements):
    return client.batch_execute_statement(Statements=list(statements))["Responses"]


def describe(table):
    schema = client.describe_table(TableName=table)["Table"]["KeySchema"]
    return [[key["AttributeName"], key["KeyType"]] for key in schema]


INSERT = "INSERT INTO \"claims\" VALUE {'k':?, 'o':?, 'l':?}"
UPDATE = 'UPDATE "claims" SET "l"=? WHERE "k"=? AND "o"=?'
DELETE = 'DELETE FROM "claims" WHERE "k"=? AND "o"=?'
SELECT = 'SELECT * FROM "claims" WHERE "k"=?'

answers["describe"] = describe("claims")
answers["describe ranged"] = describe("ranged")
answers["describe none"] = outcome(lambda: describe("none"))

answers["insert"] = execute(INSERT, text("a#A#"), text("me"), labels("old"))
answers["insert again"] = execute(INSERT, text("a#A#"), text("me"), labels("old"))
answers["insert without key"] = execute("INSERT INTO \"claims\" VALUE {'o':?}", text("me"))
answers["update"] = execute(UPDATE, labels("new"), text("a#A#"), text("me"))
answers["update of another owner"] = execute(UPDATE, labels("x"), text("a#A#"), text("other"))
answers["update of nothing"] = execute(UPDATE, labels("x"), text("none#A#"), text("me"))
answers["update of the key"] = execute('UPDATE "claims" SET "k"=? WHERE "k"=?', text("b"), text("a#A#"))
answers["delete of nothing"] = execute(DELETE, text("none#A#"), text("me"))
answers["delete of another owner"] = execute(DELETE, text("a#A#"), text("other"))
answers["too few parameters"] = execute(DELETE, text("a#A#"))
answers["no PartiQL"] = execute("DROP TABLE claims")
found = client.execute_statement(Statement=SELECT, Parameters=[text("a#A#")])["Items"]
answers["select"] = [{name: plain(value) for name, value in item.items()} for item in found]


def insert(name, owner):
    return {"Statement": INSERT, "Parameters": [text(name), text(owner), labels(owner)]}


responses = batch(
    insert("b#A#", "me"),
    insert("a#A#", "me"),
    {
        "Statement": UPDATE,
        "Parameters": [labels("x"), text("c#A#"), text("me")],
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    },
    insert("d#A#", "me"),
)
answers["batch"] = [response.get("Error", {}).get("Code") for response in responses]
batch(insert("c#A#", "other"))
refused = {
    "Statement": DELETE,
    "Parameters": [text("a#A#"), text("other")],
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
answers["batch returns the old item"] = batch(refused)[0]["Error"]["Item"]["o"]
many = [insert("n%d#A#" % number, "me") for number in range(26)]
answers["26 in a batch"] = outcome(lambda: batch(*many))
answers["one item twice in a batch"] = outcome(lambda: batch(insert("n#A#", "me"), insert("n#A#", "me")))
read = {"Statement": SELECT, "Parameters": [text("a#A#")]}
answers["reads among writes"] = outcome(lambda: batch(insert("n#A#", "me"), read))
# The client itself refuses an empty batch; the service is asked past it.
unchecked = boto3.client(
    "dynamodb",
    endpoint_url=sys.argv[1],
    region_name="eu-test-1",
    aws_access_key_id="id",
    aws_secret_access_key="secret",
    config=Config(parameter_validation=False),
)
answers["none in a batch"] = outcome(lambda: unchecked.batch_execute_statement(Statements=[]))


def scan(**arguments):
    pages = client.get_paginator("scan").paginate(TableName="claims", ConsistentRead=True, **arguments)
    return [[item["k"]["S"] for item in page["Items"]] for page in pages]


pages = scan(ProjectionExpression="k,o")
answers["scan"] = sorted(sum(pages, []))
answers["scan pages"] = len(pages) > 1
pages = scan(FilterExpression="o = :owner", ExpressionAttributeValues={":owner": text("other")})
answers["scan with filter"] = sum(pages, [])
answers["scan with filter has an empty page"] = [] in pages[:-1]

answers["delete"] = execute(DELETE, text("a#A#"), text("me"))
answers["left"] = sorted(sum(scan(), []))
print(json.dumps(answers))
