"""Prints as JSON what a managed zone holds, as the official client reads it: URL TOKEN PROJECT ZONE."""

import json
import sys

from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build

url, token, project, zone = sys.argv[1:]
api = build(
    "dns",
    "v1",
    static_discovery=True,
    cache_discovery=False,
    credentials=Credentials(token),
    client_options={"api_endpoint": url},
)


def values(found):
    policy = found.get("routingPolicy", {})
    weighted = ["%g:%s" % (item["weight"], item["rrdatas"][0]) for item in policy.get("wrr", {}).get("items", [])]
    placed = ["%s:%s" % (item["location"], item["rrdatas"][0]) for item in policy.get("geo", {}).get("items", [])]
    return sorted(found.get("rrdatas", []) + weighted + placed)


lines = []
request = api.resourceRecordSets().list(project=project, managedZone=zone)
while request is not None:
    answer = request.execute()
    for found in answer["rrsets"]:
        if found["type"] not in ("SOA", "NS", "TXT"):
            lines.append(" ".join([found["name"].rstrip("."), found["type"]] + values(found)))
    request = api.resourceRecordSets().list_next(request, answer)
print(json.dumps(sorted(lines)))
