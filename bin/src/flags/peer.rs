//! The flags of external-dns that belong to its providers and registries, whether or not Zonewright has these: one table.
//!
//! A row is what is known of a flag whose owner is not compiled in, or does not exist here: it is parsed and typed like any
//! other, so that a command line that carries it still works, and otherwise not looked at. Where an entry of the catalogue
//! declares the flag, the entry's own words take the place of the row. So no row changes when a provider is added.

use zonewright_core::catalog::FlagKind::{Bool, Choice, Duration, Int, Int64, List, Map, Secret, Text};
use zonewright_core::catalog::FlagSpec;

use super::owner::{FlagGroup, FlagOwner};

const fn flag(name: &'static str, kind: zonewright_core::catalog::FlagKind, help: &'static str) -> FlagSpec {
    FlagSpec::new(name, kind, help)
}

const AWS: &str = "Providers aws and aws-sd, registry dynamodb";

/// How any AWS service is reached.
const AWS_ACCESS: &[FlagSpec] = &[
    flag("aws-assume-role", Text, "ARN of the role to assume"),
    flag("aws-assume-role-external-id", Secret, "External id for assuming the role"),
    flag("aws-api-retries", Int, "Number of times that a throttled call is made in all").or("3"),
];

/// Every value that external-dns takes for `--provider`.
pub(super) const PROVIDERS: &[&str] = &[
    "alibabacloud",
    "aws",
    "aws-sd",
    "azure",
    "azure-dns",
    "azure-private-dns",
    "civo",
    "cloudflare",
    "coredns",
    "dnsimple",
    "exoscale",
    "godaddy",
    "google",
    "inmemory",
    "linode",
    "ns1",
    "oci",
    "ovh",
    "pdns",
    "pihole",
    "rfc2136",
    "scaleway",
    "skydns",
    "webhook",
];

/// Every value that external-dns takes for `--registry`.
pub(super) const REGISTRIES: &[&str] = &["aws-sd", "crd", "dynamodb", "noop", "txt"];

/// External-dns' flags of providers and registries, by those that have them.
pub(super) const FLAGS: &[FlagGroup] = &[
    FlagGroup {
        heading: "Registry crd",
        owner: FlagOwner::Registries(&["crd"]),
        flags: &[flag("crd-registry-namespace", Text, "Namespace of the DNSRecord objects; empty: the current one")],
    },
    FlagGroup {
        heading: "Registry dynamodb",
        owner: FlagOwner::Registries(&["dynamodb"]),
        flags: &[
            flag("dynamodb-region", Text, "AWS region of the table; empty: what the environment says"),
            flag("dynamodb-table", Text, "Name of the table, or its ARN").or("external-dns"),
        ],
    },
    FlagGroup { heading: AWS, owner: FlagOwner::Providers(&["aws", "aws-sd"]), flags: AWS_ACCESS },
    FlagGroup { heading: AWS, owner: FlagOwner::Registries(&["dynamodb"]), flags: AWS_ACCESS },
    FlagGroup {
        heading: "Provider aws",
        owner: FlagOwner::Providers(&["aws"]),
        flags: &[
            flag("aws-zone-tags", List, "Only zones with this tag, key or key=value; repeatable"),
            flag("aws-profile", List, "Credentials profile; repeatable"),
            flag("aws-batch-change-size", Int, "Changes in one batch").or("1000"),
            flag("aws-batch-change-size-bytes", Int, "Bytes of values in one batch").or("32000"),
            flag("aws-batch-change-size-values", Int, "Values in one batch").or("1000"),
            flag("aws-batch-change-interval", Duration, "Pause between batches").or("1s"),
            flag("aws-evaluate-target-health", Bool, "Alias records follow the health of their target").or("true"),
            flag("aws-prefer-cname", Bool, "CNAME in place of alias records"),
            flag("aws-zones-cache-duration", Duration, "How long the list of zones is kept").or("0s"),
            flag("aws-zone-match-parent", Bool, "Also zones above a domain filter"),
        ],
    },
    FlagGroup {
        heading: "Several providers",
        owner: FlagOwner::Providers(&[
            "aws",
            "alibabacloud",
            "cloudflare",
            "dnsimple",
            "google",
            "ns1",
            "oci",
            "azure",
            "azure-dns",
            "azure-private-dns",
        ]),
        flags: &[flag("zone-id-filter", List, "Only zones whose id ends like this; repeatable")],
    },
    FlagGroup {
        heading: "Several providers",
        owner: FlagOwner::Providers(&["cloudflare"]),
        flags: &[
            flag("batch-change-size", Int, "Changes in one batch").or("200"),
            flag("batch-change-interval", Duration, "Pause between batches").or("1s"),
        ],
    },
    FlagGroup {
        heading: "Several providers",
        owner: FlagOwner::Providers(&["pdns", "rfc2136"]),
        flags: &[
            flag("tls-ca", Text, "File with the authorities that are trusted"),
            flag("tls-client-cert", Text, "File with the client certificate"),
            flag("tls-client-cert-key", Text, "File with the key of the client certificate"),
        ],
    },
    FlagGroup {
        heading: "Provider alibabacloud",
        owner: FlagOwner::Providers(&["alibabacloud"]),
        flags: &[
            flag("alibaba-cloud-config-file", Text, "Configuration file").or("/etc/kubernetes/alibaba-cloud.json"),
            flag("alibaba-cloud-zone-type", Choice(&["", "public", "private"]), "Kind of zones"),
        ],
    },
    FlagGroup {
        heading: AWS,
        owner: FlagOwner::Providers(&["aws", "aws-sd"]),
        flags: &[flag("aws-zone-type", Choice(&["", "public", "private"]), "Kind of zones")],
    },
    FlagGroup { heading: AWS, owner: FlagOwner::Providers(&["aws", "aws-sd"]), flags: AWS_ACCESS },
    FlagGroup { heading: AWS, owner: FlagOwner::Registries(&["dynamodb"]), flags: AWS_ACCESS },
    FlagGroup {
        heading: "Provider aws",
        owner: FlagOwner::Providers(&["aws"]),
        flags: &[
            flag("aws-zone-tags", List, "Only zones with this tag, key or key=value; repeatable"),
            flag("aws-profile", List, "Credentials profile; repeatable"),
            flag("aws-batch-change-size", Int, "Changes in one batch").or("1000"),
            flag("aws-batch-change-size-bytes", Int, "Bytes of values in one batch").or("32000"),
            flag("aws-batch-change-size-values", Int, "Values in one batch").or("1000"),
            flag("aws-batch-change-interval", Duration, "Pause between batches").or("1s"),
            flag("aws-evaluate-target-health", Bool, "Alias records follow the health of their target").or("true"),
            flag("aws-prefer-cname", Bool, "CNAME in place of alias records"),
            flag("aws-zones-cache-duration", Duration, "How long the list of zones is kept").or("0s"),
            flag("aws-zone-match-parent", Bool, "Also zones above a domain filter"),
        ],
    },
    FlagGroup {
        heading: "Provider aws-sd",
        owner: FlagOwner::Providers(&["aws-sd"]),
        flags: &[
            flag("aws-sd-service-cleanup", Bool, "Delete services that became empty"),
            flag("aws-sd-create-tag", Map, "Tag of services that are created, key=value; repeatable"),
        ],
    },
    FlagGroup {
        heading: "Providers azure",
        owner: FlagOwner::Providers(&["azure", "azure-dns", "azure-private-dns"]),
        flags: &[
            flag("azure-config-file", Text, "Path of azure.json").or("/etc/kubernetes/azure.json"),
            flag(
                "azure-resource-group",
                Text,
                "Resource group in place of the file's; *: every one of the subscription",
            ),
            flag("azure-subscription-id", Text, "Subscription in place of the file's"),
            flag("azure-user-assigned-identity-client-id", Text, "Client id of the managed identity"),
            flag("azure-zones-cache-duration", Duration, "How long the list of zones is kept").or("0s"),
            flag("azure-maxretries-count", Int, "Repeats of a failed call; negative: none").or("3"),
            flag("zone-name-filter", List, "Only zones whose name ends like this; repeatable"),
        ],
    },
    FlagGroup {
        heading: "Provider cloudflare",
        owner: FlagOwner::Providers(&["cloudflare"]),
        flags: &[
            flag("cloudflare-proxied", Bool, "Proxy records whose object does not say"),
            flag("cloudflare-custom-hostnames", Bool, "Manage custom host names"),
            flag(
                "cloudflare-custom-hostnames-min-tls-version",
                Choice(&["1.0", "1.1", "1.2", "1.3"]),
                "Least TLS version of custom host names",
            )
            .or("1.0"),
            flag(
                "cloudflare-custom-hostnames-certificate-authority",
                Choice(&["google", "ssl_com", "lets_encrypt", "none"]),
                "Authority of custom host names; none: not sent",
            )
            .or("none"),
            flag("cloudflare-dns-records-per-page", Int, "Records on one page of a listing, at most 5000").or("5000"),
            flag("cloudflare-regional-services", Bool, "Manage regional host names"),
            flag("cloudflare-region-key", Text, "Region of records whose object does not say"),
            flag("cloudflare-record-comment", Text, "Comment of records whose object does not say"),
        ],
    },
    FlagGroup {
        heading: "Provider coredns",
        owner: FlagOwner::Providers(&["coredns", "skydns"]),
        flags: &[
            flag("coredns-prefix", Text, "Prefix of the keys in etcd").or("/skydns/"),
            flag("coredns-strictly-owned", Bool, "Keep the owner in the value, and read only our own"),
        ],
    },
    FlagGroup {
        heading: "Provider exoscale",
        owner: FlagOwner::Providers(&["exoscale"]),
        flags: &[
            flag("exoscale-apienv", Text, "API environment").or("api"),
            flag("exoscale-apizone", Text, "API zone").or("ch-gva-2"),
            flag("exoscale-apikey", Secret, "API key"),
            flag("exoscale-apisecret", Secret, "API secret"),
            flag("exoscale-zones-cache-duration", Duration, "How long the list of zones is kept").or("0s"),
        ],
    },
    FlagGroup {
        heading: "Provider godaddy",
        owner: FlagOwner::Providers(&["godaddy"]),
        flags: &[
            flag("godaddy-api-key", Secret, "API key"),
            flag("godaddy-api-secret", Secret, "API secret"),
            flag("godaddy-api-ttl", Int64, "TTL in seconds of records that state none").or("0"),
            flag("godaddy-api-ote", Bool, "Use the test API"),
        ],
    },
    FlagGroup {
        heading: "Provider google",
        owner: FlagOwner::Providers(&["google"]),
        flags: &[
            flag("google-project", Text, "Project"),
            flag("google-batch-change-size", Int, "Changes in one batch").or("1000"),
            flag("google-batch-change-interval", Duration, "Pause between batches").or("1s"),
            flag("google-zone-visibility", Choice(&["", "public", "private"]), "Kind of zones"),
        ],
    },
    FlagGroup {
        heading: "Provider inmemory",
        owner: FlagOwner::Providers(&["inmemory"]),
        flags: &[flag("inmemory-zone", List, "Zone to create at start; repeatable")],
    },
    FlagGroup {
        heading: "Provider ns1",
        owner: FlagOwner::Providers(&["ns1"]),
        flags: &[
            flag("ns1-endpoint", Text, "API address"),
            flag("ns1-ignoressl", Bool, "Do not verify TLS certificates"),
            flag("ns1-min-ttl", Int, "Least TTL in seconds").or("0"),
        ],
    },
    FlagGroup {
        heading: "Provider oci",
        owner: FlagOwner::Providers(&["oci"]),
        flags: &[
            flag("oci-config-file", Text, "Configuration file").or("/etc/kubernetes/oci.yaml"),
            flag("oci-compartment-ocid", Text, "Compartment"),
            flag("oci-zone-scope", Choice(&["", "GLOBAL", "PRIVATE"]), "Kind of zones; empty: both").or("GLOBAL"),
            flag("oci-auth-instance-principal", Bool, "Authenticate as the instance"),
            flag("oci-zones-cache-duration", Duration, "How long the list of zones is kept").or("0s"),
        ],
    },
    FlagGroup {
        heading: "Provider ovh",
        owner: FlagOwner::Providers(&["ovh"]),
        flags: &[
            flag("ovh-endpoint", Text, "Name of the API endpoint").or("ovh-eu"),
            flag("ovh-api-rate-limit", Int, "Calls per second").or("20"),
            flag("ovh-enable-cname-relative", Bool, "CNAME targets without final dot are relative to the zone"),
        ],
    },
    FlagGroup {
        heading: "Provider pdns",
        owner: FlagOwner::Providers(&["pdns"]),
        flags: &[
            flag("pdns-server", Text, "API address").or("http://localhost:8081"),
            flag("pdns-server-id", Text, "Server id").or("localhost"),
            flag("pdns-api-key", Secret, "API key"),
            flag("pdns-skip-tls-verify", Bool, "Do not verify TLS certificates"),
        ],
    },
    FlagGroup {
        heading: "Provider pihole",
        owner: FlagOwner::Providers(&["pihole"]),
        flags: &[
            flag("pihole-server", Text, "Server address"),
            flag("pihole-password", Secret, "Password"),
            flag("pihole-tls-skip-verify", Bool, "Do not verify TLS certificates"),
        ],
    },
    FlagGroup {
        heading: "Provider rfc2136",
        owner: FlagOwner::Providers(&["rfc2136"]),
        flags: &[
            flag("rfc2136-host", List, "Server; repeatable"),
            flag("rfc2136-port", Int, "Port").or("0"),
            flag("rfc2136-zone", List, "Zone; repeatable"),
            flag("rfc2136-insecure", Bool, "Do not sign"),
            flag("rfc2136-tsig-keyname", Text, "Name of the TSIG key"),
            flag("rfc2136-tsig-secret", Secret, "TSIG key in base64"),
            flag("rfc2136-tsig-secret-alg", Text, "TSIG algorithm"),
            flag("rfc2136-axfr", Bool, "List zones by transfer"),
            flag("rfc2136-tsig-axfr", Bool, "Deprecated: use --rfc2136-axfr"),
            flag("rfc2136-min-ttl", Duration, "Least TTL").or("0s"),
            flag("rfc2136-gss-tsig", Bool, "Sign updates by Kerberos (GSS-TSIG)"),
            flag("rfc2136-kerberos-username", Text, "Kerberos user"),
            flag("rfc2136-kerberos-password", Secret, "Kerberos password"),
            flag("rfc2136-kerberos-realm", Text, "Kerberos realm"),
            flag("rfc2136-batch-change-size", Int, "Changes in one message, at least 1").or("50"),
            flag("rfc2136-use-tls", Bool, "DNS over TLS"),
            flag("rfc2136-skip-tls-verify", Bool, "Do not verify TLS certificates"),
            flag(
                "rfc2136-load-balancing-strategy",
                Choice(&["random", "round-robin", "disabled"]),
                "Which of several servers is asked",
            )
            .or("disabled"),
        ],
    },
    FlagGroup {
        heading: "Provider webhook",
        owner: FlagOwner::Providers(&["webhook"]),
        flags: &[
            flag("webhook-provider-url", Text, "Address of the webhook").or("http://localhost:8888"),
            flag("webhook-provider-read-timeout", Duration, "Longest wait for an answer").or("5s"),
            flag("webhook-provider-write-timeout", Duration, "Longest time to send a request").or("10s"),
            flag("webhook-provider-read-header-timeout", Duration, "Server: longest wait for the headers").or("5s"),
            flag("webhook-provider-idle-timeout", Duration, "Server: how long an idle connection is kept").or("30s"),
            flag("webhook-provider-max-body-size", Int64, "Most bytes in a body; 0 or less: no limit").or("33554432"),
        ],
    },
];
