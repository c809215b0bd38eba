"""Makes COUNT changes, each of which goes wrong in its way, and lists what stands. URL COUNT."""

import json
import socket
import sys

import httplib2
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

URL, COUNT = sys.argv[1], int(sys.argv[2])
# A request whose connection ends is not made again.
httplib2.RETRIES = 1


class Plain:
    """Requests with a token that is never renewed, each over a connection of its own, for half a second."""

    def request(self, uri, method="GET", body=None, headers=None, **more):
        headers = {**(headers or {}), "authorization": "Bearer ya29.TOKENFAKE"}
        return httplib2.Http(timeout=0.5).request(uri, method=method, body=body, headers=headers)


api = build("dns", "v1", static_discovery=True, cache_discovery=False, http=Plain(), client_options={"api_endpoint": URL})


def outcome(number):
    addition = {"name": "n%d.example.org." % number, "type": "A", "ttl": 300, "rrdatas": ["192.0.2.1"]}
    request = api.changes().create(project="p", managedZone="main", body={"additions": [addition]})
    try:
        answer = request.execute()
        return answer["status"] if isinstance(answer, dict) else "unread"
    except HttpError as error:
        return str(error.resp.status)
    except (socket.timeout, OSError, httplib2.HttpLib2Error, __import__("http").client.HTTPException):
        return "lost"


answers = {"changes": [outcome(number) for number in range(COUNT)]}
# Three pages, the second of which is the first one again.
pages, request = [], api.resourceRecordSets().list(project="p", managedZone="main")
for _ in range(3):
    page = request.execute()
    pages.extend("%(name)s %(type)s" % found for found in page["rrsets"])
    request = api.resourceRecordSets().list_next(request, page)
answers["pages"] = pages
print(json.dumps(answers))
