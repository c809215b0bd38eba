"""Prints as JSON what a zone of Cloudflare holds, as the official client reads it: URL TOKEN ZONE."""

import json
import sys

import cloudflare

url, token, zone = sys.argv[1:]
client = cloudflare.Cloudflare(base_url=url, api_token=token, max_retries=0, timeout=5, _strict_response_validation=True)


def line(record):
    parts = [record.name, "%g" % record.ttl, record.type, record.content]
    parts += ["proxied"] if record.proxied else []
    parts += ["(%s)" % record.comment] if record.comment else []
    return " ".join(parts)


records = client.dns.records.list(zone_id=zone)
hostnames = client.custom_hostnames.list(zone_id=zone)
print(
    json.dumps(
        {
            "records": sorted(line(record) for record in records if record.type != "TXT"),
            "hostnames": sorted("%s at %s" % (of.hostname, of.custom_origin_server) for of in hostnames),
        }
    )
)
