"""Makes the calls that its arguments name, one by one, and prints what became of each as JSON.

URL ZONE ROLE CALL...: a call is `zones`, `sets`, `role`, `create NAME`, or `settle [CHANGE]`, which is the
last change if it is not named.
"""

import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

URL, ZONE, ROLE, *CALLS = sys.argv[1:]


def connect(service):
    return boto3.client(
        service,
        endpoint_url=URL,
        region_name="us-east-1",
        aws_access_key_id="AKIDFAKE",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=0.5),
    )


route53, sts = connect("route53"), connect("sts")


def sets():
    page = route53.list_resource_record_sets(HostedZoneId=ZONE)
    first, following = page["ResourceRecordSets"][0], page.get("NextRecordType", "the end")
    return "%s to %s" % (first["Type"], following)


def zones():
    return "%d zones" % len(route53.list_hosted_zones()["HostedZones"])


def role():
    return sts.assume_role(RoleArn=ROLE, RoleSessionName="session")["Credentials"]["AccessKeyId"][:4]


last = None


def settle(identifier=None):
    return route53.get_change(Id=identifier or last)["ChangeInfo"]["Status"]


def create(name):
    global last
    found = {"Name": name, "Type": "A", "TTL": 300, "ResourceRecords": [{"Value": "192.0.2.1"}]}
    changes = [{"Action": "CREATE", "ResourceRecordSet": found}]
    info = route53.change_resource_record_sets(HostedZoneId=ZONE, ChangeBatch={"Changes": changes})["ChangeInfo"]
    last = info["Id"]
    return info["Status"]


def outcome(call):
    name, *arguments = call.split()
    try:
        return {"zones": zones, "sets": sets, "role": role, "create": create, "settle": settle}[name](*arguments)
    except ClientError as error:
        return error.response["Error"]["Code"] or error.response["Messages"]["Message"]
    except Exception as error:
        return type(error).__name__


print(json.dumps([outcome(call) for call in CALLS]))
