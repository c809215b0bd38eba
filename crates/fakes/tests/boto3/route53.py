"""Asks the fake what a provider asks, with the official client, and prints the answers as JSON."""

import json
import sys

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

URL, ROLE, LISTED, BUSY, FULL, FOREIGN = sys.argv[1:7]
answers = {}


def connect(service="route53", key="AKIDFAKE", secret="secret", token=None, **config):
    return boto3.client(
        service,
        endpoint_url=URL,
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=1, parameter_validation=False, **config),
    )


client = connect()


def outcome(call):
    try:
        return call()
    except ClientError as error:
        return error.response["Error"]["Code"]


# Zones.

made = client.create_hosted_zone(
    Name="Example.org", CallerReference="one", HostedZoneConfig={"Comment": "<a & b>", "PrivateZone": False}
)
zone = made["HostedZone"]["Id"]
answers["zone is made"] = [made["HostedZone"]["Name"], made["HostedZone"]["ResourceRecordSetCount"]]
answers["zone has a location"] = made["Location"].endswith(zone)
answers["zone has a comment"] = made["HostedZone"]["Config"]["Comment"]
answers["zone again"] = outcome(lambda: client.create_hosted_zone(Name="example.org", CallerReference="one"))
answers["zone without a name"] = outcome(lambda: client.create_hosted_zone(Name="a..org", CallerReference="two"))
answers["private zone without a network"] = outcome(
    lambda: client.create_hosted_zone(
        Name="example.org", CallerReference="two", HostedZoneConfig={"PrivateZone": True}
    )
)
network = {"VPCRegion": "eu-west-1", "VPCId": "vpc-1"}
private = client.create_hosted_zone(Name="example.org", CallerReference="three", VPC=network)["HostedZone"]["Id"]
found = client.get_hosted_zone(Id=private)
answers["private zone"] = [found["HostedZone"]["Config"]["PrivateZone"], found["VPCs"], "DelegationSet" in found]
found = client.get_hosted_zone(Id=zone)
answers["public zone"] = [len(found["DelegationSet"]["NameServers"]), "VPCs" in found]
answers["no zone"] = outcome(lambda: client.get_hosted_zone(Id="ZNONE"))
answers["zone of another account"] = outcome(lambda: client.get_hosted_zone(Id=FOREIGN))
pages = list(client.get_paginator("list_hosted_zones").paginate())
answers["zones"] = [found["Name"] for page in pages for found in page["HostedZones"]]
answers["zone pages"] = [len(page["HostedZones"]) for page in pages]
answers["private zones"] = len(client.list_hosted_zones(HostedZoneType="PrivateHostedZone")["HostedZones"])
answers["zones after a wrong marker"] = outcome(lambda: client.list_hosted_zones(Marker="ZNONE"))
answers["zones by a wrong count"] = outcome(lambda: client.list_hosted_zones(MaxItems="none"))
named = client.list_hosted_zones_by_name(DNSName="example.org", MaxItems="1")
answers["zones by name"] = [named["HostedZones"][0]["Name"], named["IsTruncated"], named["NextDNSName"]]
following = client.list_hosted_zones_by_name(DNSName=named["NextDNSName"], HostedZoneId=named["NextHostedZoneId"])
answers["zones by name go on"] = [found["Name"] for found in following["HostedZones"]]
answers["zones by id alone"] = outcome(lambda: client.list_hosted_zones_by_name(HostedZoneId=zone))
of_network = lambda network, **more: client.list_hosted_zones_by_vpc(VPCId=network, VPCRegion="eu-west-1", **more)
answers["zones of a network"] = outcome(lambda: [zone["Name"] for zone in of_network("vpc-1")["HostedZoneSummaries"]])
answers["zones of no network"] = outcome(lambda: [zone["Name"] for zone in of_network("vpc-none")["HostedZoneSummaries"]])

# Tags.


def tags(zone):
    found = client.list_tags_for_resource(ResourceType="hostedzone", ResourceId=zone)["ResourceTagSet"]["Tags"]
    return {tag["Key"]: tag["Value"] for tag in found}


def plain(zone):
    return zone.removeprefix("/hostedzone/")


zone, private = plain(zone), plain(private)
client.change_tags_for_resource(
    ResourceType="hostedzone", ResourceId=zone, AddTags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]
)
client.change_tags_for_resource(ResourceType="hostedzone", ResourceId=zone, RemoveTagKeys=["a"])
answers["tags"] = tags(zone)
answers["tags of the test"] = tags(LISTED)
answers["tags of none"] = outcome(lambda: tags("ZNONE"))


def many_tags(ids):
    found = client.list_tags_for_resources(ResourceType="hostedzone", ResourceIds=ids)["ResourceTagSets"]
    return {tags["ResourceId"] == zone: len(tags["Tags"]) for tags in found}


answers["tags of two"] = {str(key): value for key, value in many_tags([zone, private]).items()}
answers["tags of eleven"] = outcome(lambda: many_tags([zone] * 11))
answers["tags of a wrong kind"] = outcome(
    lambda: client.list_tags_for_resource(ResourceType="record", ResourceId=zone)
)

# Record sets.


def a(name, *values, **more):
    records = [{"Value": value} for value in values or ("192.0.2.1",)]
    return {"Name": name, "Type": "A", "TTL": 300, "ResourceRecords": records, **more}


def record(name, kind, *values, **more):
    return {**a(name, *values), "Type": kind, **more}


def alias(name, target, zone, kind="A", **more):
    target = {"HostedZoneId": zone, "DNSName": target, "EvaluateTargetHealth": False}
    return {"Name": name, "Type": kind, "AliasTarget": target, **more}


def change(*changes, to=None, by=None):
    changes = [{"Action": action, "ResourceRecordSet": found} for action, found in changes]
    batch = {"Comment": "x", "Changes": changes}
    return (by or client).change_resource_record_sets(HostedZoneId=to or zone, ChangeBatch=batch)["ChangeInfo"]


def said(*changes, to=None):
    """What the service says of changes: the status, or the code with the message."""
    try:
        return change(*changes, to=to)["Status"]
    except ClientError as error:
        return error.response["Error"]["Code"] + ": " + error.response["Error"]["Message"]


def code(*changes, to=None):
    return said(*changes, to=to).split(":")[0]


def sets(of=None):
    pages = client.get_paginator("list_resource_record_sets").paginate(HostedZoneId=of or zone)
    return [found for page in pages for found in page["ResourceRecordSets"]]


def names(of=None):
    return [found["Name"] for found in sets(of)]


answers["create"] = said(("CREATE", a("www.example.org")))
answers["create again"] = said(("CREATE", a("www.example.org")))
answers["create outside"] = said(("CREATE", a("www.example.net")))
answers["delete of other values"] = said(("DELETE", a("www.example.org", "192.0.2.2")))
answers["delete of another TTL"] = code(("DELETE", a("www.example.org", TTL=60)))
answers["delete of nothing"] = said(("DELETE", a("none.example.org")))
answers["two errors"] = said(
    ("DELETE", a("none.example.org")), ("CREATE", a("new.example.org")), ("CREATE", a("www.example.org"))
)
answers["nothing of a refused batch"] = "new.example.org." in names()
answers["upsert"] = said(("UPSERT", a("www.example.org", "192.0.2.3", "192.0.2.2")))
answers["delete then create"] = said(
    ("DELETE", a("www.example.org", "192.0.2.2", "192.0.2.3")), ("CREATE", a("www.example.org"))
)
answers["one set twice"] = said(("UPSERT", a("x.example.org")), ("UPSERT", a("x.example.org", "192.0.2.2")))
answers["no changes"] = code()
answers["no zone to change"] = code(("CREATE", a("www.example.org")), to="ZNONE")
answers["a zone of another account to change"] = code(("CREATE", a("www.example.org")), to=FOREIGN)
answers["wrong action"] = code(("REPLACE", a("x.example.org")))
answers["no type of the service"] = code(("CREATE", record("x.example.org", "DNAME", "b.org")))
answers["negative TTL"] = code(("CREATE", a("x.example.org", TTL=-1)))
answers["TTL too large"] = code(("CREATE", a("x.example.org", TTL=1 << 31)))
answers["no name"] = said(("CREATE", a("x..example.org")))
answers["value of no address"] = said(("CREATE", a("x.example.org", "nowhere")))
answers["value twice"] = said(("CREATE", a("x.example.org", "192.0.2.1", "192.0.2.1")))
answers["TXT without quotes"] = said(("CREATE", record("x.example.org", "TXT", "plain")))
answers["TXT string too long"] = said(("CREATE", record("x.example.org", "TXT", '"%s"' % ("a" * 256))))
answers["value too long"] = code(("CREATE", record("x.example.org", "TXT", " ".join(['"%s"' % ("a" * 255)] * 16))))
answers["401 values"] = code(("CREATE", a("x.example.org", *("192.0.%d.%d" % (n // 256, n % 256) for n in range(401)))))
answers["1,001 changes"] = said(*[("CREATE", a("n%d.example.org" % n)) for n in range(1001)])
answers["501 upserts"] = said(*[("UPSERT", a("n%d.example.org" % n)) for n in range(501)])
texts = ['"%s%04d"' % ("a" * 194, n) for n in range(161)]
answers["too many characters"] = said(("CREATE", record("x.example.org", "TXT", *texts)))
answers["too many characters of upserts"] = code(("UPSERT", record("x.example.org", "TXT", *texts[:81])))
answers["alias with TTL"] = said(("CREATE", alias("x.example.org", "b.example.org", zone, TTL=1)))
answers["set without values"] = code(("CREATE", {"Name": "x.example.org", "Type": "A"}))

answers["SOA deleted"] = said(("DELETE", next(found for found in sets() if found["Type"] == "SOA")))
answers["NS deleted"] = said(("DELETE", next(found for found in sets() if found["Type"] == "NS")))
answers["CNAME at the apex"] = said(("CREATE", record("example.org", "CNAME", "b.org")))
answers["CNAME beside others"] = said(("CREATE", record("www.example.org", "CNAME", "b.org")))
answers["CNAME"] = said(("CREATE", record("c.example.org", "CNAME", "b.org")))
answers["others beside a CNAME"] = said(("CREATE", a("c.example.org")))
answers["alias without its target"] = said(("CREATE", alias("x.example.org", "none.example.org", zone)))
answers["alias to another type"] = code(("CREATE", alias("x.example.org", "www.example.org", zone, "AAAA")))
answers["alias out of the zone"] = said(("CREATE", alias("x.example.org", "a.example.net", zone)))
answers["alias"] = said(("CREATE", alias("alias.example.org", "www.example.org", zone)))
balancer = alias("lb.example.org", "LB-1.us-east-1.elb.amazonaws.com", "Z35SXDOTRQ7X7K")
answers["alias of AWS"] = said(("CREATE", balancer))
answers["the wildcard"] = said(("CREATE", record("*.example.org", "TXT", '"a\\344"')))

# Routing.

WEIGHT = {"Weight": 1}
ROUTED = [
    ("w", WEIGHT, {"Weight": 0}),
    ("l", {"Region": "eu-west-1"}, {"Region": "eu-west-2"}),
    ("f", {"Failover": "PRIMARY", "HealthCheckId": "check"}, {"Failover": "SECONDARY"}),
    ("m", {"MultiValueAnswer": True}, {"MultiValueAnswer": True}),
    ("g", {"GeoLocation": {"CountryCode": "*"}}, {"GeoLocation": {"CountryCode": "US", "SubdivisionCode": "NY"}}),
    (
        "p",
        {"GeoProximityLocation": {"AWSRegion": "eu-west-1", "Bias": -99}},
        {"GeoProximityLocation": {"Coordinates": {"Latitude": "1.5", "Longitude": "-2"}, "Bias": 99}},
    ),
]
for name, one, other in ROUTED:
    name += ".routed.example.org"
    first, second = a(name, SetIdentifier="one", **one), a(name, SetIdentifier="two", **other)
    third = a(name, SetIdentifier="three", **one)
    stands = ("CREATE", first), ("CREATE", second)
    answers["routed " + name] = [
        code(*stands),
        code(("CREATE", first)),
        code(("CREATE", third)),
        code(("CREATE", a(name))),
        code(("CREATE", a(name, SetIdentifier="four", **({"Region": "eu-west-3"} if one == WEIGHT else WEIGHT)))),
        code(("DELETE", {**first, "TTL": 1})),
    ]
found = [found for found in sets() if "routed" in found["Name"]]
answers["routed sets as they are listed"] = [
    {key: value for key, value in each.items() if key not in ("Name", "Type", "TTL", "ResourceRecords")}
    for each in found
]
answers["weight too large"] = code(("CREATE", a("x.example.org", SetIdentifier="x", Weight=256)))
answers["no identifier"] = said(("CREATE", a("x.example.org", Weight=1)))
answers["identifier too long"] = code(("CREATE", a("x.example.org", SetIdentifier="x" * 129, Weight=1)))
answers["no policy"] = code(("CREATE", a("x.example.org", SetIdentifier="x")))
answers["two policies"] = code(("CREATE", a("x.example.org", SetIdentifier="x", Weight=1, Region="eu-west-1")))
answers["no collection"] = code(
    ("CREATE", a("x.example.org", SetIdentifier="x", CidrRoutingConfig={"CollectionId": "c", "LocationName": "*"}))
)
answers["no health check"] = said(("CREATE", a("x.example.org", SetIdentifier="x", Weight=1, HealthCheckId="none")))
answers["primary without a check"] = said(("CREATE", a("x.example.org", SetIdentifier="x", Failover="PRIMARY")))
answers["multivalue alias"] = code(
    ("CREATE", alias("x.example.org", "www.example.org", zone, SetIdentifier="x", MultiValueAnswer=True))
)
answers["no country"] = code(("CREATE", a("x.example.org", SetIdentifier="x", GeoLocation={"CountryCode": "UK"})))
answers["bias too large"] = code(
    ("CREATE", a("x.example.org", SetIdentifier="x", GeoProximityLocation={"AWSRegion": "eu-west-1", "Bias": 100}))
)
answers["group in another kind"] = said(("UPSERT", a("w.routed.example.org")))
answers["group changes its kind as a whole"] = code(
    *[("DELETE", found) for found in sets() if found["Name"] == "w.routed.example.org."],
    ("CREATE", a("w.routed.example.org")),
)

# Listings.

first = client.list_resource_record_sets(HostedZoneId=zone)
shown = len(first["ResourceRecordSets"])
answers["first page"] = [first["MaxItems"], first["IsTruncated"], shown, first["NextRecordType"]]
start = {"StartRecordName": "m.routed.example.org", "StartRecordType": "A", "StartRecordIdentifier": "two"}
page = client.list_resource_record_sets(HostedZoneId=zone, **start)
answers["page from an identifier"] = [each["SetIdentifier"] for each in page["ResourceRecordSets"]]
page = client.list_resource_record_sets(HostedZoneId=zone, MaxItems="1")
answers["page of one"] = [len(page["ResourceRecordSets"]), page["MaxItems"], page["IsTruncated"]]
for question, wrong in [
    ("start by type alone", {"StartRecordType": "A"}),
    ("start without type", {"StartRecordName": "a", "StartRecordIdentifier": "x"}),
    ("start by a wrong type", {"StartRecordName": "a", "StartRecordType": "DNAME"}),
    ("start by no name", {"StartRecordName": "a..b"}),
]:
    answers[question] = outcome(lambda: client.list_resource_record_sets(HostedZoneId=zone, **wrong))
answers["order"] = list(dict.fromkeys(names()))
answers["alias as it is listed"] = next(each for each in sets() if each["Name"] == "lb.example.org.")["AliasTarget"]
answers["TXT as it is listed"] = next(each for each in sets() if each["Type"] == "TXT")["ResourceRecords"]
answers["lag"] = []
for name in ("x", "y", "z"):
    change(("CREATE", a(name + ".listed.org")), to=LISTED)
    answers["lag"].append(len(names(LISTED)))

# Changes, full and busy zones, zones that go.

submitted = change(("CREATE", a("changed.example.org")))
identifier = submitted["Id"]
answers["change"] = [submitted["Comment"], identifier.startswith("/change/C"), submitted["SubmittedAt"].year > 2000]
answers["change later"] = [client.get_change(Id=identifier)["ChangeInfo"]["Status"] for _ in range(3)]
answers["no change"] = outcome(lambda: client.get_change(Id="CNONE"))
answers["full zone"] = [code(("CREATE", a("x.full.org")), to=FULL), said(("CREATE", a("y.full.org")), to=FULL)]
answers["busy zone"] = [code(("CREATE", a("x.busy.org")), to=BUSY) for _ in range(3)]
answers["zone with sets deleted"] = outcome(lambda: client.delete_hosted_zone(Id=zone))
answers["zone deleted"] = client.delete_hosted_zone(Id=private)["ChangeInfo"]["Status"]
answers["deleted zone"] = [
    outcome(lambda: client.get_hosted_zone(Id=private)),
    outcome(lambda: names(private)),
    code(("CREATE", a("www.example.org")), to=private),
]

# Keys and roles.

sts = connect("sts")
answers["caller"] = sts.get_caller_identity()["Account"]


def assume(**arguments):
    return sts.assume_role(RoleArn=ROLE, RoleSessionName="session", **arguments)["Credentials"]


answers["role without its external id"] = outcome(assume)
one, two = assume(ExternalId="x"), assume(ExternalId="x")
answers["credentials differ"] = one["AccessKeyId"] != two["AccessKeyId"] and one["SessionToken"] != two["SessionToken"]
answers["credentials end"] = one["Expiration"].year > 2000


def triple(credentials):
    return [credentials[part] for part in ("AccessKeyId", "SecretAccessKey", "SessionToken")]


def zones_with(key, secret="secret", token=None):
    other = connect(key=key, secret=secret, token=token)
    return [found["Name"] for found in other.list_hosted_zones()["HostedZones"]]


answers["zones of a role"] = zones_with(*triple(one))
answers["role with a wrong token"] = outcome(lambda: zones_with(*triple(one)[:2], two["SessionToken"]))
answers["role with a wrong secret"] = outcome(lambda: zones_with(one["AccessKeyId"], "other", one["SessionToken"]))
answers["key with a wrong secret"] = outcome(lambda: zones_with("AKIDFAKE", "other"))
answers["caller of a role"] = connect("sts", *triple(one)).get_caller_identity()["Arn"]
unsigned = connect("sts", signature_version=UNSIGNED)


def by_token(token):
    return unsigned.assume_role_with_web_identity(RoleArn=ROLE, RoleSessionName="session", WebIdentityToken=token)


web = by_token("jwt")["Credentials"]
answers["zones of a web identity"] = zones_with(*triple(web))
answers["wrong web identity"] = outcome(lambda: by_token("other"))
answers["role for too short"] = outcome(lambda: assume(ExternalId="x", DurationSeconds=1))
answers["unknown key"] = outcome(lambda: zones_with("AKIDOTHER"))
answers["expired key"] = outcome(lambda: zones_with("AKIDOLD"))
answers["no signature"] = outcome(connect(signature_version=UNSIGNED).list_hosted_zones)

print(json.dumps(answers))
