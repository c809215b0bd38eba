"""Asks the service at URL about its zones, sets and changes, and prints the answers as JSON. URL ZONE-ID."""

import json
import sys

from google.cloud import dns
from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

URL, ZONE = sys.argv[1:]
answers = {}


def client(token):
    return build(
        "dns",
        "v1",
        static_discovery=True,
        cache_discovery=False,
        credentials=Credentials(token),
        client_options={"api_endpoint": URL},
    )


api = client("ya29.TOKENFAKE")
zones, sets, changes = api.managedZones(), api.resourceRecordSets(), api.changes()


def outcome(request):
    """What a request gives, or what it is refused with."""
    try:
        return request.execute()
    except HttpError as error:
        body = json.loads(error.content)["error"]
        assert body["code"] == error.resp.status and body["message"] == body["errors"][0]["message"]
        return "%d %s %s" % (body["code"], body["errors"][0]["reason"], body["message"])


def everything(resource, field, **arguments):
    """The pages of a list."""
    pages, request = [], resource.list(project="p", **arguments)
    while request is not None:
        page = request.execute()
        pages.append(page.get(field, []))
        request = resource.list_next(request, page)
    return pages


def one(name, kind, values, ttl=300, **more):
    kept = {"name": name, "type": kind, "ttl": ttl, **more}
    return {**kept, "rrdatas": values} if values else kept


def change(additions=(), deletions=(), zone="main"):
    body = {"additions": list(additions), "deletions": list(deletions)}
    return outcome(changes.create(project="p", managedZone=zone, body=body))


def status_of(made):
    return made if isinstance(made, str) else made["status"]


def at(name, kind):
    found = sets.list(project="p", managedZone="main", name=name, type=kind).execute()["rrsets"]
    return found[0] if found else None


# Zones.
pages = everything(zones, "managedZones")
answers["zone pages"] = [len(page) for page in pages]
answers["zones"] = ["%(name)s %(dnsName)s %(visibility)s" % zone for page in pages for zone in page]
answers["zones by name"] = [zone["name"] for zone in zones.list(project="p", dnsName="example.org.").execute()["managedZones"]]
main = zones.get(project="p", managedZone="main").execute()
answers["zone by name"] = [main["name"], len(main["nameServers"])]
answers["zone by id"] = zones.get(project="p", managedZone=ZONE).execute()["name"]
answers["peering"] = "peeringConfig" in zones.get(project="p", managedZone="peer").execute()
answers["no zone"] = outcome(zones.get(project="p", managedZone="none"))
answers["zones of another project"] = [zone["name"] for zone in zones.list(project="other").execute()["managedZones"]]
quota = api.projects().get(project="p").execute()["quota"]
fields = ["rrsetAdditionsPerChange", "rrsetDeletionsPerChange", "resourceRecordsPerRrset", "itemsPerRoutingPolicy"]
answers["quota"] = [quota[field] for field in fields]
other = dns.Client(project="p", credentials=Credentials("ya29.TOKENFAKE"), client_options={"api_endpoint": URL})
answers["zones of the other client"] = [zone.name for zone in other.list_zones()]

# Sets.
www = one("www.example.org.", "A", ["192.0.2.1"])
made = change([www])
answers["create"] = [made["id"], made["status"]]
get = lambda: changes.get(project="p", managedZone="main", changeId=made["id"]).execute()["status"]
get()
answers["change later"] = [get(), changes.list(project="p", managedZone="main").execute()["changes"][0]["status"]]
pages = everything(sets, "rrsets", managedZone="main")
answers["set pages"] = [len(page) for page in pages]
answers["sets"] = ["%(name)s %(type)s" % found for page in pages for found in page]
answers["sets by name"] = ["%(name)s %(type)s" % found for page in everything(sets, "rrsets", managedZone="main", name="www.example.org.") for found in page]
answers["sets by name and type"] = sets.list(project="p", managedZone="main", name="www.example.org.", type="TXT").execute()["rrsets"]
answers["type without name"] = outcome(sets.list(project="p", managedZone="main", type="A"))
found = sets.get(project="p", managedZone="main", name="www.example.org.", type="A").execute()
answers["set"] = [found["name"], found["type"], found["ttl"], found["rrdatas"]]
answers["no set"] = outcome(sets.get(project="p", managedZone="main", name="none.example.org.", type="A"))
zone = other.zone("main", "example.org.")
answers["sets of the other client"] = ["%s %s" % (found.record_type, found.ttl) for found in zone.list_resource_record_sets()]
theirs = zone.changes()
theirs.add_record_set(zone.resource_record_set("theirs.example.org.", "A", 60, ["192.0.2.7"]))
theirs.create()
theirs.reload()
first = theirs.status
theirs = zone.changes()
theirs.delete_record_set(zone.resource_record_set("theirs.example.org.", "A", 60, ["192.0.2.7"]))
theirs.create()
answers["change of the other client"] = ["done" if first == "pending" else first, "done" if theirs.status == "pending" else theirs.status]
texts = ['"one" "two"', '"a b"', "x y"]
for number, text in enumerate(texts):
    change([one("t%d.example.org." % number, "TXT", [text])])
answers["texts"] = [at("t%d.example.org." % number, "TXT")["rrdatas"][0] for number in range(3)]
many = [
    one("example.org.", "MX", ["10 mail.example.org."]),
    one("_s._tcp.example.org.", "SRV", ["1 2 80 www.example.org."]),
    one("example.org.", "CAA", ['0 issue "ca.org"']),
]
answers["MX, SRV, CAA"] = len(change(many)["additions"])
change([one("*.example.org.", "A", ["192.0.2.1"])])
answers["wildcard"] = at("*.example.org.", "A")["name"]

# Routing policies.
weighted = lambda *items: {"routingPolicy": {"wrr": {"items": [{"weight": weight, "rrdatas": [value]} for weight, value in items]}}}
located = lambda *items: {"routingPolicy": {"geo": {"items": [{"location": place, "rrdatas": [value]} for place, value in items]}}}
split = one("split.example.org.", "A", None, **weighted((90, "192.0.2.1"), (10.5, "192.0.2.2")))
change([split])
items = lambda: at("split.example.org.", "A")["routingPolicy"]["wrr"]["items"]
answers["weighted"] = [[item["weight"], item["rrdatas"]] for item in items()]
change([one("near.example.org.", "A", None, **located(("europe-west1", "192.0.2.1"), ("us-east1", "192.0.2.2")))])
near = at("near.example.org.", "A")["routingPolicy"]["geo"]
answers["geographic"] = [item["location"] for item in near["items"]]
answers["fencing"] = near["enableFencing"]
answers["two of one location"] = change([one("x.example.org.", "A", None, **located(("us-east1", "192.0.2.1"), ("us-east1", "192.0.2.2")))])
answers["negative weight"] = change([one("x.example.org.", "A", None, **weighted((-1, "192.0.2.1")))])
answers["both"] = change([one("x.example.org.", "A", ["192.0.2.1"], **weighted((1, "192.0.2.1")))])
answers["policy of NS"] = change([one("x.example.org.", "NS", None, **weighted((1, "ns.example.org.")))])
answers["other items of a deletion"] = change([], [one("split.example.org.", "A", None, **weighted((90, "192.0.2.1")))])
change([one("split.example.org.", "A", None, **weighted((90, "192.0.2.1"), (10.5, "192.0.2.2"), (1, "192.0.2.3")))], [at("split.example.org.", "A")])
answers["one item more"] = len(items())

# Changes.
answers["create again"] = change([www])
answers["delete of none"] = change([], [one("none.example.org.", "A", ["192.0.2.1"])])
answers["delete of another content"] = change([], [one("www.example.org.", "A", ["192.0.2.2"])])
change([one("www.example.org.", "A", ["192.0.2.9", "192.0.2.8"])], [www])
answers["replace"] = at("www.example.org.", "A")["rrdatas"]
turned = change([www], [one("www.example.org.", "A", ["192.0.2.8", "192.0.2.9"])])
answers["values in another order"] = "done" if status_of(turned) == "pending" else turned
answers["second is wrong"] = change([one("y.example.org.", "A", ["192.0.2.1"]), one("z.example.org.", "A", ["x"])])
answers["nothing of a refused change"] = at("y.example.org.", "A") is None
answers["CNAME beside A"] = change([one("www.example.org.", "CNAME", ["b.org."])])
answers["CNAME at the apex"] = change([one("example.org.", "CNAME", ["b.org."])])
answers["no SOA"] = change([], [at("example.org.", "SOA")])
answers["outside"] = change([one("www.example.net.", "A", ["192.0.2.1"])])
answers["relative name"] = change([one("www", "A", ["192.0.2.1"])])
answers["wrong address"] = change([one("x.example.org.", "A", ["x"])])
answers["long string"] = change([one("x.example.org.", "TXT", ['"%s"' % ("a" * 256)])])
answers["empty change"] = change()
answers["too many"] = change([one("n%d.example.org." % number, "A", ["192.0.2.1"]) for number in range(1001)])
answers["too many values"] = change([one("x.example.org.", "A", ["192.0.2.%d" % number for number in range(101)])])
answers["too many bytes"] = change([one("n%d.example.org." % number, "TXT", ['"%s"' % ("a" * 255)]) for number in range(400)])
change([one("a.small.org.", "A", ["192.0.2.1"])], zone="small")
answers["full zone"] = change([one("b.small.org.", "A", ["192.0.2.1"])], zone="small")
answers["peering zone"] = change([one("a.peer.org.", "A", ["192.0.2.1"])], zone="peer")
counts = []
for name in ["a.slow.org.", "b.slow.org."]:
    change([one(name, "A", ["192.0.2.1"])], zone="slow")
    counts.append(sum(len(page) for page in everything(sets, "rrsets", managedZone="slow")))
answers["listing that lags"] = counts
answers["no change"] = outcome(changes.get(project="p", managedZone="main", changeId="999"))

# Tokens.
reader = client("ya29.READER")
answers["reader"] = "rrsets" in reader.resourceRecordSets().list(project="p", managedZone="main").execute()
body = {"additions": [one("x.example.org.", "A", ["192.0.2.1"])]}
answers["reader writes"] = outcome(reader.changes().create(project="p", managedZone="main", body=body))
answers["reader elsewhere"] = outcome(reader.resourceRecordSets().list(project="p", managedZone="small"))
plain = lambda token: build("dns", "v1", static_discovery=True, cache_discovery=False, http=Plain(token), client_options={"api_endpoint": URL})


class Plain:
    """Requests with a token that is never renewed."""

    def __init__(self, token):
        import httplib2

        self.http, self.token = httplib2.Http(), token

    def request(self, uri, method="GET", body=None, headers=None, **more):
        headers = {**(headers or {}), **({"authorization": "Bearer " + self.token} if self.token else {})}
        return self.http.request(uri, method=method, body=body, headers=headers)


answers["expired"] = outcome(plain("ya29.EXPIRED").managedZones().list(project="p"))
answers["nobody"] = outcome(plain("").managedZones().list(project="p"))
print(json.dumps(answers))
