"""Prints as JSON what a hosted zone holds, as the official client reads it: URL KEY ZONE."""

import json
import sys

import boto3

url, key, zone = sys.argv[1:]
client = boto3.client(
    "route53", endpoint_url=url, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key="s3cr3t-of-the-key"
)


def line(found):
    parts = [found["Name"].rstrip("."), found["Type"]]
    parts += ["(%s)" % found["SetIdentifier"]] if "SetIdentifier" in found else []
    alias = found.get("AliasTarget")
    if alias:
        health = "true" if alias["EvaluateTargetHealth"] else "false"
        parts += ["alias", alias["DNSName"], alias["HostedZoneId"], health]
    parts += sorted(record["Value"] for record in found.get("ResourceRecords", []))
    parts += ["weight %d" % found["Weight"]] if "Weight" in found else []
    parts += ["country %s" % found["GeoLocation"]["CountryCode"]] if "GeoLocation" in found else []
    return " ".join(parts)


pages = client.get_paginator("list_resource_record_sets").paginate(HostedZoneId=zone)
sets = [found for page in pages for found in page["ResourceRecordSets"]]
print(json.dumps(sorted(line(found) for found in sets if found["Type"] not in ("SOA", "NS", "TXT"))))
