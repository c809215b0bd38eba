"""Writes COUNT sets, each of which goes wrong in its way, and lists what stands. URL COUNT."""

import json
import sys

from azure.core.exceptions import AzureError, HttpResponseError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.dns import DnsManagementClient

URL, COUNT = sys.argv[1], int(sys.argv[2])


class Bearer(SansIOHTTPPolicy):
    def on_request(self, request):
        request.http_request.headers["Authorization"] = "Bearer eyJ0eXAi.TOKENFAKE"


# Half a second for each answer, and nothing is asked twice.
api = DnsManagementClient("unused", "sub", base_url=URL, authentication_policy=Bearer(), retry_total=0, read_timeout=0.5)


def outcome(number):
    body = {"properties": {"TTL": 300, "ARecords": [{"ipv4Address": "192.0.2.1"}]}}
    try:
        api.record_sets.create_or_update("group", "example.org", "n%d" % number, "A", body)
        return "done"
    except HttpResponseError as error:
        wait = error.response.headers.get("Retry-After", "") if error.response is not None else ""
        status = error.status_code if error.status_code else "lost"
        return "%s %s" % (status, wait) if wait else str(status)
    except AzureError as error:
        return "lost"


answers = {"writes": [outcome(number) for number in range(COUNT)]}
# Three pages, the second of which is the first one again.
pages = api.record_sets.list_all_by_dns_zone("group", "example.org").by_page()
try:
    answers["pages"] = ["%s %s" % (found.name, found.type.rsplit("/")[-1]) for _ in range(3) for found in next(pages)]
except HttpResponseError as error:
    answers["pages"] = error.status_code
print(json.dumps(answers))
