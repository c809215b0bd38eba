"""Asks the fake what a provider asks, with the official client, and prints the answers as JSON.

The client checks every answer against the vendor's own description of it.
"""

import json
import sys

import cloudflare

URL, FREE, PAID, FULL, LAGGING, SMALL, LIMITED, EXPIRED = sys.argv[1:9]
answers = {}


def connect(**credentials):
    return cloudflare.Cloudflare(
        base_url=URL, max_retries=0, timeout=5, _strict_response_validation=True, **credentials
    )


TOKEN = "TOKENFAKE".ljust(40, "0")
client = connect(api_token=TOKEN)
records = client.dns.records


def outcome(call):
    try:
        return call()
    except cloudflare.APIStatusError as error:
        first = error.body["errors"][0]
        return "%d %d %s" % (error.status_code, first["code"], first["message"])


def line(record):
    parts = [record.name, "%g" % record.ttl, record.type]
    if getattr(record, "priority", None) is not None:
        parts.append("%g" % record.priority)
    parts.append(record.content)
    if record.proxied:
        parts.append("proxied")
    return " ".join(parts)


def create(name, kind, content=None, zone=FREE, ttl=300, **more):
    if content is not None:
        more["content"] = content
    return records.create(zone_id=zone, name=name, type=kind, ttl=ttl, **more)


def created(*arguments, **more):
    return outcome(lambda: line(create(*arguments, **more)))


def names(zone=FREE, **more):
    return [record.name.split(".")[0] for record in records.list(zone_id=zone, **more)]


# Zones and credentials.

answers["zones"] = [zone.name for zone in client.zones.list()]
answers["zone pages"] = [len(page.result) for page in client.zones.list(per_page=5).iter_pages()]
answers["page of zones"] = client.zones.list(page=2).result_info.model_dump()
answers["zones by name"] = [zone.name for zone in client.zones.list(name="Paid.org")]
answers["zones by a part of the name"] = [zone.name for zone in client.zones.list(name="contains:a")]
account = client.zones.get(zone_id=FREE).account.id
answers["zones of the account"] = len(list(client.zones.list(account={"id": account})))
answers["zones of another account"] = len(list(client.zones.list(account={"id": "0" * 32})))
answers["pending zones"] = [zone.name for zone in client.zones.list(status="pending")]
answers["page too large"] = outcome(lambda: client.zones.list(per_page=51))
answers["page too small"] = outcome(lambda: client.zones.list(per_page=4))
shown = lambda zone: [zone.name, zone.status, zone.plan.legacy_id, zone.plan.is_subscribed, len(zone.name_servers)]
answers["free zone"] = shown(client.zones.get(zone_id=FREE))
answers["paid zone"] = shown(client.zones.get(zone_id=PAID))
answers["no zone"] = outcome(lambda: client.zones.get(zone_id="0" * 32))
answers["no id of a zone"] = outcome(lambda: client.zones.get(zone_id="none"))
answers["records of no zone"] = outcome(lambda: names("0" * 32))
limited = connect(api_token=LIMITED)
answers["zones of a limited token"] = [zone.name for zone in limited.zones.list()]
answers["permissions of a limited token"] = limited.zones.get(zone_id=FREE).permissions
answers["zone out of reach"] = outcome(lambda: limited.zones.get(zone_id=PAID))
answers["records out of reach"] = outcome(lambda: limited.dns.records.list(zone_id=PAID))
answers["records to read"] = outcome(lambda: len(limited.dns.records.list(zone_id=FREE).result))
answers["records not to write"] = outcome(lambda: limited.dns.records.delete(zone_id=FREE, dns_record_id="0" * 32))
answers["hostnames not to read"] = outcome(lambda: limited.custom_hostnames.list(zone_id=FREE))
answers["unknown token"] = outcome(lambda: connect(api_token="x" * 40).zones.list())
answers["malformed token"] = outcome(lambda: connect(api_token="short").zones.list())
answers["expired token"] = outcome(lambda: connect(api_token=EXPIRED).zones.list())
verified = lambda token: outcome(lambda: connect(api_token=token).user.tokens.verify().status)
answers["tokens verified"] = [verified(TOKEN), verified(EXPIRED), verified("x" * 40), verified("short")]
keyed = lambda email, key: outcome(lambda: len(list(connect(api_email=email, api_key=key).zones.list())))
answers["key"] = keyed("user@example.org", "fac".rjust(37, "0"))
answers["unknown key"] = keyed("user@example.org", "0" * 37)
answers["malformed key"] = keyed("user@example.org", "short")
answers["malformed address"] = keyed("user", "0" * 37)
nobody = {"headers": {"Authorization": cloudflare._types.Omit()}}
answers["no credentials"] = outcome(lambda: client.get("/zones", cast_to=object, options=nobody))

# Records.

www = create("www", "A", "192.0.2.1")
answers["create"] = line(www)
answers["fields of a record"] = sorted(set(www.model_dump(exclude_unset=True)))
answers["ids have their form"] = len(www.id) == 32
answers["get"] = line(records.get(zone_id=FREE, dns_record_id=www.id))
answers["create again"] = created("WWW.free.org.", "A", "192.0.2.1", ttl=60)
answers["another member"] = created("www", "A", "192.0.2.2")
answers["name of another zone"] = created("www.paid.org", "A", "192.0.2.1")
answers["apex"] = created("@", "A", "192.0.2.1")
answers["wildcard behind the proxy"] = created("*", "A", "192.0.2.1", proxied=True)
answers["no name"] = created("a..b", "A", "192.0.2.1")
answers["CNAME beside A"] = created("www", "CNAME", "b.org")
answers["CNAME"] = created("alias", "CNAME", "B.org.")
answers["A beside a CNAME"] = created("alias", "A", "192.0.2.1")
answers["CNAME beside a CNAME"] = created("alias", "CNAME", "c.org")
answers["TXT beside a CNAME"] = created("alias", "TXT", "\"text\"")
answers["CNAME at the apex"] = created("@", "CNAME", "b.org", zone=PAID)
answers["NS beside A"] = created("www", "NS", "ns.b.org")
answers["NS"] = created("sub", "NS", "ns.b.org")
answers["A beside NS"] = created("sub", "A", "192.0.2.1")
answers["A of no address"] = created("x", "A", "nowhere")
answers["AAAA of no address"] = created("x", "AAAA", "192.0.2.1")
answers["AAAA"] = created("x", "AAAA", "2001:DB8:0:0:0:0:0:1")
answers["unknown type"] = created("x", "DNAME", "b.org")
answers["MX without priority"] = created("@", "MX", "mail.b.org")
answers["MX"] = created("@", "MX", "mail.b.org", priority=10)
answers["MX again with another priority"] = created("@", "MX", "mail.b.org", priority=20)
answers["TXT"] = created("txt", "TXT", "\"one\"  \"two\"")
answers["TXT without marks"] = created("txt", "TXT", "one two")
answers["TXT with half a mark"] = created("txt", "TXT", "\"one")
long = created("txt", "TXT", "\"%s\"" % ("a" * 300))
answers["long TXT"] = len(long) - len(long.replace("\"", ""))
answers["TXT too long"] = created("txt", "TXT", "\"%s\"" % ("a" * 4097))
srv = {"priority": 10, "weight": 5, "port": 5223, "target": "s.b.org."}
answers["SRV"] = created("_s._tcp", "SRV", data=srv)
answers["data of SRV"] = records.list(zone_id=FREE, type="SRV").result[0].data.model_dump(exclude_unset=True)
answers["SRV without data"] = created("_t._tcp", "SRV", "10 5 5223 s.b.org")
answers["CAA"] = created("@", "CAA", data={"flags": 0, "tag": "issue", "value": "ca.org"})
answers["HTTPS"] = created("www", "HTTPS", data={"priority": 1, "target": ".", "value": "alpn=\"h3,h2\""})
naptr = {"order": 1, "preference": 2, "flags": "S", "service": "SIP+D2U", "regex": "", "replacement": "_sip._udp.b.org"}
answers["NAPTR"] = created("@", "NAPTR", data=naptr)
answers["SSHFP"] = created("www", "SSHFP", data={"algorithm": 4, "type": 2, "fingerprint": "00ff"})
tlsa = {"usage": 3, "selector": 1, "matching_type": 1, "certificate": "00ff"}
answers["TLSA"] = created("_443._tcp", "TLSA", data=tlsa)
answers["DS"] = created("sub", "DS", data={"key_tag": 1, "algorithm": 13, "digest_type": 2, "digest": "00ff"})
answers["URI"] = created("_h._tcp", "URI", priority=1, data={"weight": 2, "target": "https://b.org"})

# TTL, proxy, attributes.

answers["TTL too small"] = created("ttl", "A", "192.0.2.1", ttl=59)
answers["TTL of an enterprise zone"] = created("ttl", "A", "192.0.2.1", ttl=30, zone=PAID)
answers["TTL too large"] = created("ttl", "A", "192.0.2.1", ttl=86401)
answers["automatic TTL"] = created("ttl", "A", "192.0.2.1", ttl=1)
answers["TTL behind the proxy"] = created("proxy", "A", "192.0.2.1", ttl=300, proxied=True)
answers["private address behind the proxy"] = created("private", "A", "10.0.0.1", proxied=True)
answers["text behind the proxy"] = created("private", "TXT", "\"a\"", proxied=True)
private = create("private", "A", "10.0.0.1")
answers["proxiable"] = [private.proxiable, www.proxiable]
attributes = lambda record: [record.comment, record.tags]
made = lambda **more: outcome(lambda: attributes(create("attributes", "A", "192.0.2.1", **more)))
answers["comment too long"] = made(comment="a" * 101)
answers["comment of a paid zone too long"] = made(zone=PAID, comment="a" * 501)
answers["tags of a free zone"] = made(tags=["owner:me"])
answers["21 tags"] = made(zone=PAID, tags=["a:%d" % number for number in range(21)])
answers["tag without a value"] = made(zone=PAID, tags=["owner"])
answers["attributes"] = made(zone=PAID, comment="a" * 500, tags=["owner:me", "team:x"])
answers["flattening in a free zone"] = created("flat", "CNAME", "b.org", settings={"flatten_cname": True})
answers["flattening"] = created("flat", "CNAME", "b.org", zone=PAID, settings={"flatten_cname": True})

# Changes.

edited = records.edit(
    zone_id=FREE, dns_record_id=www.id, name="www", type="A", content="192.0.2.9", ttl=300, comment="mine"
)
times = [edited.created_on == www.created_on, edited.modified_on > www.modified_on]
answers["edit"] = [line(edited), edited.comment, *times]
replaced = records.update(zone_id=FREE, dns_record_id=www.id, name="www", type="A", content="192.0.2.8", ttl=60)
answers["update"] = [line(replaced), replaced.comment, replaced.id == www.id]
answers["edit to what another one says"] = outcome(
    lambda: records.edit(zone_id=FREE, dns_record_id=www.id, name="www", type="A", content="192.0.2.2", ttl=60)
)
answers["delete"] = outcome(lambda: records.delete(zone_id=FREE, dns_record_id=www.id).id == www.id)
answers["delete again"] = outcome(lambda: records.delete(zone_id=FREE, dns_record_id=www.id))
answers["get of none"] = outcome(lambda: records.get(zone_id=FREE, dns_record_id=www.id))
answers["edit of none"] = outcome(
    lambda: records.edit(zone_id=FREE, dns_record_id=www.id, name="www", type="A", content="192.0.2.9", ttl=60)
)
answers["no id of a record"] = outcome(lambda: records.delete(zone_id=FREE, dns_record_id="none"))

# Batches.


def batch(zone=PAID, **parts):
    done = records.batch(zone_id=zone, **parts)
    shown = {"deletes": done.deletes, "patches": done.patches, "puts": done.puts, "posts": done.posts}
    return {part: [line(record) for record in found] for part, found in shown.items() if found}


def post(name, content, kind="A"):
    return {"name": name, "type": kind, "content": content, "ttl": 300}


answers["posts"] = batch(posts=[post("b1", "192.0.2.1"), post("b2", "192.0.2.1"), post("b3", "192.0.2.1")])
of_name = lambda name: records.list(zone_id=PAID, name={"exact": name + ".paid.org"}).result
one, two, three = [of_name(name)[0].id for name in ("b1", "b2", "b3")]
answers["all parts"] = batch(
    posts=[post("b1", "b.org", "CNAME")],
    deletes=[{"id": one}],
    puts=[{"id": two, **post("b2", "192.0.2.3")}],
    patches=[{"id": three, "content": "192.0.2.4", "comment": "patched"}],
)
before = sorted(line(record) for record in records.list(zone_id=PAID))
answers["batch with a wrong end"] = outcome(
    lambda: batch(
        deletes=[{"id": two}],
        patches=[{"id": three, "ttl": 60}],
        posts=[post("b4", "192.0.2.1"), post("b5", "nowhere")],
    )
)
answers["batch with the delete of none"] = outcome(
    lambda: batch(deletes=[{"id": two}, {"id": one}], posts=[post("b4", "192.0.2.1")])
)
answers["batch with a conflict"] = outcome(lambda: batch(posts=[post("b4", "192.0.2.1"), post("b4", "b.org", "CNAME")]))
answers["nothing of a refused batch"] = before == sorted(line(record) for record in records.list(zone_id=PAID))
answers["change of kind"] = batch(deletes=[{"id": two}], posts=[post("b2", "b.org", "CNAME")])
answers["no batch"] = batch()
many = [post("m%d" % number, "192.0.2.1") for number in range(201)]
answers["batch of a free zone too large"] = outcome(lambda: batch(SMALL, posts=many))
answers["batch too large by order"] = outcome(lambda: batch(LAGGING, posts=many[:3]))
answers["largest batch of a free zone"] = len(batch(SMALL, posts=many[:200])["posts"])
answers["full zone"] = created("more", "A", "192.0.2.1", zone=SMALL)
answers["zone that is full by order"] = [created("n%d" % number, "A", "192.0.2.1", zone=FULL) for number in range(2)]

# Listings.

pages = list(records.list(zone_id=PAID).iter_pages())
answers["pages of records"] = [len(page.result) for page in pages]
answers["page of records"] = pages[1].result_info.model_dump()
answers["page asked for too large"] = outcome(lambda: names(PAID, per_page=5000001))
answers["records by type"] = names(PAID, type="CNAME", order="name")
answers["records by the start of the name"] = names(PAID, name={"startswith": "b"}, order="name")
answers["records by comment"] = names(PAID, comment={"present": "true"}, order="name")
answers["records by tag"] = names(PAID, tag={"exact": "owner:me"})
answers["records by content"] = names(PAID, content={"exact": "192.0.2.4"})
answers["records by one of two"] = names(
    PAID, content={"exact": "192.0.2.4"}, comment={"startswith": "aaa"}, match="any", order="name"
)
answers["records in reverse"] = names(PAID, name={"startswith": "b"}, order="name", direction="desc")
answers["records by a wrong order"] = outcome(lambda: names(PAID, order="age"))
answers["lag"] = []
for number in range(3):
    create("lag%d" % number, "A", "192.0.2.1", zone=LAGGING)
    answers["lag"].append(len(names(LAGGING)))

# Custom hostnames.

hostnames = client.custom_hostnames
ssl = {"type": "dv", "method": "http", "bundle_method": "ubiquitous", "settings": {"min_tls_version": "1.2"}}
host = lambda name, origin="proxy.free.org", **more: outcome(
    lambda: hostnames.create(zone_id=FREE, hostname=name, custom_origin_server=origin, ssl={**ssl, **more})
)
first = host("App.customer.net")
answers["custom hostname"] = [first.hostname, first.custom_origin_server, first.status, first.ssl.status]
answers["settings of its certificate"] = first.ssl.settings.min_tls_version
answers["custom hostname again"] = host("app.customer.net")
answers["custom hostname without its origin"] = host("two.customer.net", "none.free.org")
answers["custom hostname with a wildcard"] = host("*.customer.net")
answers["custom hostname with a wrong TLS version"] = host("two.customer.net", settings={"min_tls_version": "1.4"})
answers["custom hostname with a wrong authority"] = host("two.customer.net", certificate_authority="other")
second = host("two.customer.net", certificate_authority="google")
answers["custom hostnames"] = [found.hostname for found in hostnames.list(zone_id=FREE)]
answers["custom hostname got"] = hostnames.get(zone_id=FREE, custom_hostname_id=second.id).hostname
answers["custom hostname by no id"] = outcome(lambda: hostnames.get(zone_id=FREE, custom_hostname_id="none"))
answers["custom hostnames by name"] = [
    found.hostname for found in hostnames.list(zone_id=FREE, hostname={"exact": "two.customer.net"})
]
moved = hostnames.edit(zone_id=FREE, custom_hostname_id=second.id, custom_origin_server="www.free.org")
answers["custom hostname moved"] = [moved.custom_origin_server, moved.ssl.certificate_authority]
answers["custom hostname of one too many"] = [hasattr(host("three.customer.net"), "id"), host("four.customer.net")]
answers["custom hostname without quota"] = outcome(
    lambda: hostnames.create(zone_id=PAID, hostname="app.customer.net", ssl=ssl)
)
answers["custom hostname deleted"] = hostnames.delete(zone_id=FREE, custom_hostname_id=first.id).id == first.id
answers["custom hostname deleted again"] = outcome(lambda: hostnames.delete(zone_id=FREE, custom_hostname_id=first.id))

# Regional hostnames.

regions = client.addressing.regional_hostnames
region = lambda name, key, zone=PAID: outcome(
    lambda: regions.create(zone_id=zone, hostname=name, region_key=key).region_key
)
answers["regional hostname"] = region("www.paid.org", "eu")
answers["regional hostname again"] = region("www.paid.org", "us")
answers["regional hostname with a wildcard"] = region("*.paid.org", "us")
answers["regional hostname of another zone"] = region("www.free.org", "eu")
answers["regional hostname without a region"] = region("x.paid.org", "moon")
answers["regional hostname of a free zone"] = region("www.free.org", "eu", FREE)
answers["regions"] = "eu" in [found.key for found in regions.regions.list(account_id=account)]
answers["regions of another account"] = outcome(lambda: regions.regions.list(account_id="0" * 32))
answers["regional hostnames"] = [[found.hostname, found.region_key] for found in regions.list(zone_id=PAID)]
answers["regional hostname changed"] = regions.edit(zone_id=PAID, hostname="*.paid.org", region_key="ca").region_key
answers["regional hostname got"] = regions.get(zone_id=PAID, hostname="*.paid.org").region_key
answers["regional hostname deleted"] = regions.delete(zone_id=PAID, hostname="*.paid.org").success
answers["regional hostname deleted again"] = outcome(lambda: regions.delete(zone_id=PAID, hostname="*.paid.org"))

print(json.dumps(answers))
