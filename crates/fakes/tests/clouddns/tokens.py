"""Gets tokens in every way that the vendor's library knows. URL FOLDER key: makes a key pair, prints the public one as JSON.
URL FOLDER ask: prints what each way leads to."""

import json
import os
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

URL, FOLDER, WHAT = sys.argv[1:]
PEM = serialization.Encoding.PEM


def private(key):
    return key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


def make():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


if WHAT == "key":
    key = make()
    with open(os.path.join(FOLDER, "key.pem"), "w") as file:
        file.write(private(key))
    public = key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    print(json.dumps(public.decode()))
    sys.exit()

import google.auth
import google.auth.exceptions
import google.auth.transport.requests
from google.auth import compute_engine, identity_pool
from google.auth.compute_engine import _metadata
from google.oauth2 import credentials, service_account
from googleapiclient.discovery import build

SCOPES = ["https://www.googleapis.com/auth/ndev.clouddns.readwrite"]
EMAIL = "dns@p.iam.gserviceaccount.com"
transport = google.auth.transport.requests.Request()


def zones(found):
    """The zones that these credentials lead to, or why they lead to none."""
    try:
        found.refresh(transport)
    except google.auth.exceptions.RefreshError as error:
        detail = error.args[1] if len(error.args) > 1 else None
        if isinstance(detail, dict) and "error_description" in detail:
            return "%s: %s" % (detail["error"], detail["error_description"])
        return "403" if "403" in str(error) or "PERMISSION_DENIED" in str(error) else str(error.args[0])
    except google.auth.exceptions.OAuthError as error:
        return "invalid_grant" if "invalid_grant" in str(error) else str(error)
    api = build("dns", "v1", static_discovery=True, cache_discovery=False, credentials=found, client_options={"api_endpoint": URL})
    return [zone["name"] for zone in api.managedZones().list(project="p").execute()["managedZones"]]


def account(key, email=EMAIL):
    info = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": key,
        "client_email": email,
        "token_uri": URL + "/token",
    }
    return service_account.Credentials.from_service_account_info(info, scopes=SCOPES)


def user(secret):
    return credentials.Credentials(None, refresh_token="refresh", token_uri=URL + "/token", client_id="id", client_secret=secret)


def federated(token, impersonated=None):
    path = os.path.join(FOLDER, "token")
    with open(path, "w") as file:
        file.write(token)
    info = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/pool",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": URL + "/v1/token",
        "credential_source": {"file": path},
    }
    if impersonated:
        info["service_account_impersonation_url"] = URL + "/v1/projects/-/serviceAccounts/%s:generateAccessToken" % impersonated
    return identity_pool.Credentials.from_info(info, scopes=SCOPES)


with open(os.path.join(FOLDER, "key.pem")) as file:
    known = file.read()
answers = {
    "service account": zones(account(known)),
    "service account with another key": zones(account(private(make()))),
    "unknown service account": zones(account(known, "other@p.iam.gserviceaccount.com")),
    "user": zones(user("secret")),
    "another user": zones(user("wrong")),
    "machine": zones(compute_engine.Credentials()),
    "project of the machine": _metadata.get_project_id(transport),
    "federated": zones(federated("projected")),
    "federated with another token": zones(federated("other")),
    "impersonated": zones(federated("projected", EMAIL)),
    "impersonated without the right": zones(federated("projected", "other@p.iam.gserviceaccount.com")),
}
print(json.dumps(answers))
