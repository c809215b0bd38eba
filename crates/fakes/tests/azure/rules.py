"""Asks the service at URL about its zones and sets, and prints the answers as JSON. URL."""

import json
import sys

import requests
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.dns import DnsManagementClient
from azure.mgmt.privatedns import PrivateDnsManagementClient

URL = sys.argv[1]
TOKEN = "eyJ0eXAi.TOKENFAKE"
answers = {}


class Bearer(SansIOHTTPPolicy):
    """A token that is sent over plain HTTP too, which the client's own policy refuses to do."""

    def __init__(self, token):
        self.token = token

    def on_request(self, request):
        if self.token:
            request.http_request.headers["Authorization"] = "Bearer " + self.token


def client(of=DnsManagementClient, token=TOKEN, subscription="sub"):
    return of("unused", subscription, base_url=URL, authentication_policy=Bearer(token), retry_total=0)


public, private = client(), client(PrivateDnsManagementClient)


def outcome(work):
    """What a call gives, or what it is refused with."""
    try:
        return work()
    except HttpResponseError as error:
        body = error.response.json()
        body = body.get("error", body)
        return "%d %s %s" % (error.status_code, body["code"], body["message"])


def put(name, kind, properties, zone="example.org", **more):
    body = {"properties": {"TTL": 300, **properties}}
    made = outcome(lambda: public.record_sets.create_or_update("group", zone, name, kind, body, **more))
    return made if isinstance(made, str) else made.as_dict()


def get(name, kind, zone="example.org"):
    found = outcome(lambda: public.record_sets.get("group", zone, name, kind))
    return found if isinstance(found, str) else found.as_dict()


def delete(name, kind, **more):
    return outcome(lambda: public.record_sets.delete("group", "example.org", name, kind, **more))


def refused(made):
    return made if isinstance(made, str) else "done"


def a(*values):
    return {"ARecords": [{"ipv4Address": value} for value in values]}


def names(found):
    return ["%s %s" % (one.name, one.type.rsplit("/")[-1]) for one in found]


ZONE = URL + "/subscriptions/sub/resourcegroups/group/providers/Microsoft.Network/dnszones/example.org"
PRIVATE_ZONE = ZONE.replace("dnszones/example.org", "privatednszones/inside.org")


def raw(method, address, version="2018-05-01", **more):
    headers = {"Authorization": "Bearer " + TOKEN, **more.pop("headers", {})}
    answer = requests.request(method, address, params={"api-version": version} if version else {}, headers=headers, **more)
    assert answer.headers["x-ms-request-id"]
    return answer


def code(answer):
    body = answer.json()
    return "%d %s" % (answer.status_code, body.get("error", body)["code"])


# Zones.
zones = list(public.zones.list_by_resource_group("group"))
answers["zones"] = [zone.name for zone in zones]
answers["zone ids"] = sorted(zone.id.rsplit("/providers/")[1] for zone in zones)[0]
answers["zones of the subscription"] = [zone.name for zone in public.zones.list()]
answers["zone"] = [public.zones.get("GROUP", "Example.org").name, len(public.zones.get("group", "example.org").name_servers)]
answers["private zones"] = [zone.name for zone in private.private_zones.list_by_resource_group("group")]
answers["all private zones"] = [zone.name for zone in private.private_zones.list()]
answers["no zone"] = outcome(lambda: public.zones.get("group", "none.org"))
answers["no zone to write to"] = refused(put("www", "A", a("192.0.2.1"), zone="none.org"))
answers["no group"] = outcome(lambda: public.zones.get("other", "example.org"))
answers["no subscription"] = outcome(lambda: client(subscription="other").zones.get("group", "example.org"))

# Record sets.
made = put("WWW", "A", {**a("192.0.2.1", "192.0.2.2"), "metadata": {"by": "test"}})
answers["create"] = [made["name"], made["type"], made["ttl"], made["fqdn"], made["a_records"], made["metadata"]]
answers["id"] = made["id"]
answers["state"] = made["provisioning_state"]
answers["get"] = get("www", "A")["etag"] == made["etag"]
answers["listing in pages"] = names(public.record_sets.list_all_by_dns_zone("group", "example.org"))
answers["listing by the other name"] = names(public.record_sets.list_by_dns_zone("group", "example.org", top=1))
answers["listing by type"] = names(public.record_sets.list_by_type("group", "example.org", "A"))
answers["no set"] = get("none", "A")
kinds = {
    "AAAA": {"AAAARecords": [{"ipv6Address": "2001:DB8:0::1"}]},
    "CNAME": {"CNAMERecord": {"cname": "Web.example.org"}},
    "MX": {"MXRecords": [{"preference": 10, "exchange": "mail.example.org"}]},
    "NS": {"NSRecords": [{"nsdname": "ns.example.net."}]},
    "PTR": {"PTRRecords": [{"ptrdname": "www.example.org"}]},
    "SRV": {"SRVRecords": [{"priority": 1, "weight": 2, "port": 80, "target": "www.example.org"}]},
    "TXT": {"TXTRecords": [{"value": ["a b", 'c"d']}, {"value": ["e"]}]},
    "CAA": {"caaRecords": [{"flags": 0, "tag": "issue", "value": "ca.org"}]},
}
made = {kind: put("x-" + kind.lower(), kind, properties) for kind, properties in kinds.items()}
kept = lambda kind, field: made[kind][field] if isinstance(made[kind], dict) else made[kind]
answers["AAAA"] = kept("AAAA", "aaaa_records")
answers["CNAME"] = kept("CNAME", "cname_record")
answers["MX"] = kept("MX", "mx_records")
answers["NS"] = kept("NS", "ns_records")
answers["PTR"] = kept("PTR", "ptr_records")
answers["SRV"] = kept("SRV", "srv_records")
answers["TXT"] = kept("TXT", "txt_records")
answers["CAA"] = kept("CAA", "caa_records")
answers["wildcard"] = put("*.sub", "A", a("192.0.2.1"))["fqdn"]
answers["by suffix"] = names(public.record_sets.list_all_by_dns_zone("group", "example.org", record_set_name_suffix="sub"))
answers["empty set"] = refused(put("empty", "A", a()))
target = "/subscriptions/sub/resourceGroups/group/providers/Microsoft.Network/publicIPAddresses/one"
put("@", "A", {"targetResource": {"id": target}})
found = get("@", "A")
answers["alias"] = [found["target_resource"], found.get("a_records")]
answers["alias with records"] = refused(put("@", "A", {"targetResource": {"id": target}, **a("192.0.2.1")}))
answers["alias of TXT"] = refused(put("@", "TXT", {"targetResource": {"id": target}}))

# Conditions.
first = get("www", "A")["etag"]
answers["create again"] = put("www", "A", a("192.0.2.9"), if_none_match="*")
answers["update"] = put("www", "A", a("192.0.2.9"), if_match=first)["a_records"]
second = get("www", "A")["etag"]
answers["update of an older one"] = put("www", "A", a("192.0.2.8"), if_match=first) == (
    "412 PreconditionFailed The condition '%s' in the If-Match header was not satisfied. The current was '%s'." % (first, second)
)
answers["metadata after an update"] = get("www", "A").get("metadata")
answers["update of none"] = put("none", "A", a("192.0.2.8"), if_match=first) == (
    "412 PreconditionFailed The condition '%s' in the If-Match header was not satisfied. The current was 'N/A'." % first
)
answers["merge"] = public.record_sets.update("group", "example.org", "www", "A", {"properties": {"metadata": {"x": "y"}}}).as_dict()["a_records"]
answers["merge into none"] = outcome(lambda: public.record_sets.update("group", "example.org", "none", "A", {"properties": {}}))
answers["what was answered"] = raw("PUT", ZONE + "/A/www", json=raw("GET", ZONE + "/A/www").json()).status_code
answers["delete of an older one"] = refused(delete("www", "A", if_match=second))
answers["delete"] = delete("www", "A", if_match=get("www", "A")["etag"])
answers["delete of none"] = delete("www", "A")

# What is refused.
put("web", "A", a("192.0.2.1"))
answers["CNAME beside A"] = put("web", "CNAME", kinds["CNAME"])
answers["A beside CNAME"] = put("x-cname", "A", a("192.0.2.1"))
answers["TXT beside A"] = refused(put("web", "TXT", kinds["TXT"]))
answers["CNAME at the apex"] = put("@", "CNAME", kinds["CNAME"])
answers["CNAME without a record"] = refused(put("y", "CNAME", {}))
answers["wrong target"] = put("y", "CNAME", {"CNAMERecord": {"cname": '"web"'}})
answers["wrong name"] = put("a b", "A", a("192.0.2.1"))
answers["wrong address"] = put("y", "A", a("192.0.2"))
answers["twice"] = refused(put("y", "A", a("192.0.2.1", "192.0.2.1")))
answers["too many records"] = refused(put("y", "A", a(*["192.0.2.%d" % n for n in range(21)])))
answers["no time to live"] = refused(put("y", "A", {**a("192.0.2.1"), "TTL": 0}))
answers["records of another type"] = refused(put("y", "A", kinds["TXT"]))
answers["another type"] = code(raw("PUT", ZONE + "/A/y", json={"type": "Microsoft.Network/dnszones/TXT", "properties": {"TTL": 5}}))
answers["long string"] = refused(put("y", "TXT", {"TXTRecords": [{"value": ["a" * 256]}]}))
answers["long texts"] = put("y", "TXT", {"TXTRecords": [{"value": ["a" * 255] * 17}]})
answers["delete SOA"] = refused(delete("@", "SOA"))
answers["delete NS"] = refused(delete("@", "NS"))
answers["NS of others alone"] = refused(put("@", "NS", kinds["NS"]))
answers["full zone"] = refused(put("a", "A", a("192.0.2.1"), zone="small.org"))
counts = []
for name in ["a", "b"]:
    put(name, "A", a("192.0.2.1"), zone="slow.org")
    counts.append([len(names(public.record_sets.list_all_by_dns_zone("group", "slow.org"))), refused(get(name, "A", "slow.org"))])
answers["listing that lags"] = counts

# Private zones.
inside = private.record_sets
body = {"properties": {"ttl": 300, "aRecords": [{"ipv4Address": "10.0.0.1"}], "metadata": {"a": "b"}}}
made = inside.create_or_update("group", "inside.org", "A", "www", body)
answers["private"] = [made.type, made.properties.ttl, made.properties.fqdn, made.properties.a_records[0].ipv4_address, made.properties.is_auto_registered]
answers["private again"] = outcome(lambda: inside.create_or_update("group", "inside.org", "A", "www", body, headers={"If-None-Match": "*"}))
answers["private listing"] = names(inside.list("group", "inside.org", top=1))
answers["private by type"] = names(inside.list_by_type("group", "inside.org", "A"))
answers["private NS"] = outcome(lambda: inside.list_by_type("group", "inside.org", "NS").next().name)
answers["private delete"] = inside.delete("group", "inside.org", "A", "www")
answers["private none"] = outcome(lambda: inside.get("group", "inside.org", "A", "www").name)

# Tokens.
reader = client(token="READER")
answers["reader"] = len(list(reader.record_sets.list_all_by_dns_zone("group", "example.org"))) > 2
body = {"properties": {"TTL": 300, **a("192.0.2.1")}}
answers["reader writes"] = outcome(lambda: reader.record_sets.create_or_update("group", "example.org", "www", "A", body))
answers["reader elsewhere"] = outcome(lambda: reader.zones.get("group", "small.org"))
answers["zones of the reader"] = [zone.name for zone in reader.zones.list_by_resource_group("group")]
answers["expired"] = outcome(lambda: client(token="EXPIRED").zones.get("group", "example.org"))
answers["unknown"] = outcome(lambda: client(token="OTHER").zones.get("group", "example.org"))
answers["nobody"] = outcome(lambda: client(token="").zones.get("group", "example.org"))

# What no client of Microsoft does.
answers["no version"] = code(raw("GET", ZONE, None))
answers["no date"] = code(raw("GET", ZONE, "new"))
answers["another version"] = code(raw("GET", ZONE, "2024-06-01"))
answers["older private version"] = raw("GET", PRIVATE_ZONE, "2020-06-01").status_code
answers["no JSON"] = code(raw("PUT", ZONE + "/A/y", data=b"{"))
answers["created, updated"] = [raw("PUT", ZONE + "/A/z", json=body).status_code for _ in range(2)]
answers["deleted, gone"] = [raw("DELETE", ZONE + "/a/Z").status_code for _ in range(2)]
answers["no type"] = code(raw("GET", ZONE + "/DS"))
answers["refusal of public zones"] = sorted(raw("GET", ZONE + "/A/none").json())
answers["refusal of private zones"] = sorted(raw("GET", PRIVATE_ZONE + "/A/none", "2024-06-01").json())
answers["refusal in front"] = sorted(raw("GET", ZONE + "x").json())
answers["challenge"] = requests.get(ZONE, params={"api-version": "2018-05-01"}).headers["www-authenticate"].split(" ")[0]
names_of = raw("GET", ZONE + "/A/web").json()
answers["fields of public sets"] = sorted(names_of["properties"])
raw("PUT", PRIVATE_ZONE + "/TXT/web", "2024-06-01", json={"properties": {"ttl": 5, "txtRecords": [{"value": ["a"]}]}})
answers["fields of private sets"] = sorted(raw("GET", PRIVATE_ZONE + "/TXT/web", "2024-06-01").json()["properties"])
print(json.dumps(answers))
