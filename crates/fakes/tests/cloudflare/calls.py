"""Makes the calls that its arguments name, one by one, and prints what became of each as JSON.

URL ZONE CALL...: a call is `zones`, `records [PAGE]`, `create NAME`, `delete ID`, `batch NAME...`, `hostname NAME`,
`region NAME KEY`.
"""

import json
import sys

import cloudflare

URL, ZONE, *CALLS = sys.argv[1:]
client = cloudflare.Cloudflare(
    base_url=URL,
    api_token="TOKENFAKE".ljust(40, "0"),
    max_retries=0,
    timeout=1,
    _strict_response_validation=True,
)
records = client.dns.records


def zones():
    return "%d zones" % len(client.zones.list().result)


def listed(page=1):
    found = records.list(zone_id=ZONE, page=int(page))
    return "%s of %d pages" % (" ".join(record.name for record in found.result), found.result_info.total_pages)


def post(name):
    return {"name": name, "type": "A", "content": "192.0.2.1", "ttl": 300}


def create(name):
    return records.create(zone_id=ZONE, **post(name)).name


def delete(identifier):
    return records.delete(zone_id=ZONE, dns_record_id=identifier).id


def batch(*names):
    return "%d posts" % len(records.batch(zone_id=ZONE, posts=[post(name) for name in names]).posts)


def hostname(name):
    return client.custom_hostnames.create(zone_id=ZONE, hostname=name).hostname


def region(name, key):
    return client.addressing.regional_hostnames.create(zone_id=ZONE, hostname=name, region_key=key).region_key


def outcome(call):
    name, *arguments = call.split()
    calls = {"zones": zones, "records": listed, "create": create, "delete": delete, "batch": batch}
    try:
        return {**calls, "hostname": hostname, "region": region}[name](*arguments)
    except cloudflare.APIStatusError as error:
        if not isinstance(error.body, dict):
            return "%d without a body" % error.status_code
        first = error.body["errors"][0]
        codes = [first["code"]] + [cause["code"] for cause in first.get("error_chain", [])]
        wait = error.response.headers.get("retry-after")
        return " ".join(map(str, [error.status_code] + codes)) + (" after %s" % wait if wait else "")
    except Exception as error:
        return type(error).__name__


print(json.dumps([outcome(call) for call in CALLS]))
