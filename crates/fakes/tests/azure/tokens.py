"""Gets tokens in every way that the vendor's library knows. URL FOLDER make: makes keys with their certificates, and prints the
first certificate as JSON. URL FOLDER ask: prints what each way leads to. The library demands TLS of an authority: its requests go
through a transport that leaves it out."""

import base64
import datetime
import json
import os
import sys
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

URL, FOLDER, WHAT = sys.argv[1:]
PEM = serialization.Encoding.PEM


def make(name):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    certificate = certificate.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    certificate = certificate.sign(key, hashes.SHA256()).public_bytes(PEM)
    key = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(key + certificate)
    return key.decode(), certificate.decode()


if WHAT == "make":
    known, other = make("known"), make("other")
    # A key that does not belong to the certificate beside it.
    with open(os.path.join(FOLDER, "mixed"), "w") as file:
        file.write(other[0] + known[1])
    print(json.dumps(known[1]))
    sys.exit()

import jwt
import requests
from azure.core.exceptions import ClientAuthenticationError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.pipeline.transport import RequestsTransport
from azure.identity import CertificateCredential, ClientSecretCredential, ManagedIdentityCredential, WorkloadIdentityCredential
from azure.mgmt.dns import DnsManagementClient

SCOPE = "https://management.azure.com/.default"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
HOST = URL.split("://")[1]


class Plain(RequestsTransport):
    """Leaves TLS out."""

    def send(self, request, **more):
        request.url = request.url.replace("https://", "http://")
        return super().send(request, **more)


class Bearer(SansIOHTTPPolicy):
    def __init__(self, token):
        self.token = token

    def on_request(self, request):
        request.http_request.headers["Authorization"] = "Bearer " + self.token


def why(text):
    start = text.find("AADSTS")
    return text[start:].split(" Trace ID")[0] if start >= 0 else text.splitlines()[0]


def zones(make):
    """The zones that these credentials lead to, or why they lead to none."""
    try:
        token = make().get_token(SCOPE)
    except (ClientAuthenticationError, ValueError) as error:
        return why(str(error))
    assert abs(token.expires_on - time.time() - 1800) < 60, token
    api = DnsManagementClient("unused", "sub", base_url=URL, authentication_policy=Bearer(token.token))
    return [zone.name for zone in api.zones.list_by_resource_group("group")]


plain = {"authority": HOST, "disable_instance_discovery": True, "retry_total": 0}


def secret(text, tenant="tenant", client="app"):
    return lambda: ClientSecretCredential(tenant, client, text, transport=Plain(), **plain)


def certificate(name, client="app"):
    path = os.path.join(FOLDER, name)
    return lambda: CertificateCredential("tenant", client, path, transport=Plain(), **plain)


def workload(text):
    path = os.path.join(FOLDER, "token")

    def make():
        with open(path, "w") as file:
            file.write(text)
        return WorkloadIdentityCredential(tenant_id="tenant", client_id="workload", token_file_path=path, transport=Plain(), **plain)

    return make


def machine(client=None):
    return lambda: ManagedIdentityCredential(client_id=client, retry_total=0)


def imds(headers={"Metadata": "true"}, **parameters):
    parameters = {"api-version": "2018-02-01", "resource": "https://management.azure.com/", **parameters}
    return requests.get(URL + "/metadata/identity/oauth2/token", headers=headers, params=parameters)


def posted(tenant="tenant", **fields):
    fields = {"grant_type": "client_credentials", "client_id": "app", "client_secret": "secret", "scope": SCOPE, **fields}
    answer = requests.post(URL + "/%s/oauth2/v2.0/token" % tenant, data={name: value for name, value in fields.items() if value})
    body = answer.json()
    if answer.status_code == 200:
        return sorted(body)
    return "%d %s %s" % (answer.status_code, body["error"], why(body["error_description"]))


def asserted(algorithm="PS256", header="x5t#S256", name="known", **claims):
    """What an assertion leads to that the library does not make."""
    with open(os.path.join(FOLDER, name), "rb") as file:
        pem = file.read()
    digest = hashes.SHA1() if header == "x5t" else hashes.SHA256()
    thumbprint = x509.load_pem_x509_certificate(pem).fingerprint(digest)
    thumbprint = base64.urlsafe_b64encode(thumbprint).decode().rstrip("=")
    now = int(time.time())
    claims = {"aud": URL + "/tenant/oauth2/v2.0/token", "iss": "app", "sub": "app", "jti": "1", "nbf": now, "exp": now + 300, **claims}
    key = serialization.load_pem_private_key(pem, None)
    assertion = jwt.encode(claims, key, algorithm=algorithm, headers={header: thumbprint})
    return posted(client_secret="", client_assertion=assertion, client_assertion_type=ASSERTION)


throttled = requests.post(URL + "/tenant/oauth2/v2.0/token")
answer = imds().json()
answers = {
    "throttled": [throttled.status_code, throttled.headers.get("retry-after")],
    "secret": zones(secret("secret")),
    "another secret": zones(secret("wrong")),
    "unknown application": zones(secret("secret", client="other")),
    "unknown tenant": zones(secret("secret", tenant="other")),
    "certificate": zones(certificate("known")),
    "another certificate": zones(certificate("other")),
    "certificate with another key": zones(certificate("mixed")),
    "workload": zones(workload("projected")),
    "another workload": zones(workload("e30.e30.e30")),
    "machine": zones(machine()),
    "identity of the machine": zones(machine("identity")),
    "identity of another machine": zones(machine("other")),
    "expires_in is a text": answer["expires_in"],
    "expires_on is a text": isinstance(answer["expires_on"], str),
    "no header": imds(headers={}).json()["error_description"],
    "no resource": imds(resource="").status_code,
    "no secret": posted(client_secret=""),
    "another tenant": posted("other"),
    "another grant": posted(grant_type="password"),
    "another scope": posted(scope="https://management.azure.com"),
    "wrong secret": posted(client_secret="wrong"),
    "malformed assertion": posted(client_secret="", client_assertion="x", client_assertion_type=ASSERTION),
    "PS256": asserted(),
    "RS256": asserted("RS256", "x5t"),
    "RS512": asserted("RS512", "x5t"),
    "assertion of another key": asserted(name="mixed"),
    "assertion that is over": asserted(exp=int(time.time()) - 600),
    "assertion for another endpoint": asserted(aud=URL + "/other/oauth2/v2.0/token"),
    "assertion of another application": asserted(sub="other"),
}
print(json.dumps(answers))
