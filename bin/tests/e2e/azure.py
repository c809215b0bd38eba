"""Prints as JSON what a zone of Azure DNS holds, as the official clients read it: URL TOKEN public|private SUBSCRIPTION GROUP ZONE."""

import json
import sys

from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.dns import DnsManagementClient
from azure.mgmt.privatedns import PrivateDnsManagementClient

url, token, kind, subscription, group, zone = sys.argv[1:]


class Bearer(SansIOHTTPPolicy):
    """A token that is sent over plain HTTP too, which the clients' own policy refuses to do."""

    def on_request(self, request):
        request.http_request.headers["Authorization"] = "Bearer " + token


of = DnsManagementClient if kind == "public" else PrivateDnsManagementClient
client = of("unused", subscription, base_url=url, authentication_policy=Bearer(), retry_total=0)
sets = client.record_sets
listed = sets.list_all_by_dns_zone(group, zone) if kind == "public" else sets.list(group, zone)


def line(found):
    # One of the two clients has the properties at the set itself.
    held = getattr(found, "properties", found)
    values = [record.ipv4_address for record in held.a_records or []]
    values += [held.cname_record.cname] if held.cname_record else []
    tags = ["%s=%s" % tag for tag in sorted((held.metadata or {}).items())]
    return " ".join([found.name, str(held.ttl), found.type.rsplit("/")[-1]] + sorted(values) + tags)


print(json.dumps(sorted(line(found) for found in listed if found.type.rsplit("/")[-1] in ("A", "CNAME"))))
