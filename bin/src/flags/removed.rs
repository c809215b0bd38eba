//! Flags that earlier releases of external-dns had, and what to do without them.

/// Release that had the flags last, the flags, and what to do.
const REMOVED: &[(&str, &[&str], &str)] = &[
    (
        "v0.17",
        &["ibmcloud-config-file", "ibmcloud-proxied", "tencent-cloud-config-file", "tencent-cloud-zone-type"],
        "the provider is gone; use a webhook provider",
    ),
    ("v0.17", &["txt-new-format-only"], "claims are always written in the typed format; drop the flag"),
    (
        "v0.18",
        &["traefik-disable-legacy"],
        "the old group is off unless --traefik-enable-legacy is given; drop the flag",
    ),
    ("v0.20", &["cf-api-endpoint", "cf-username", "cf-password"], "the Cloud Foundry source is gone"),
    ("v0.20", &["digitalocean-api-page-size"], "the provider is gone; use a webhook provider"),
    (
        "v0.20",
        &["rfc2136-create-ptr"],
        "use --create-ptr with PTR in --managed-record-types and the reverse zones as --rfc2136-zone",
    ),
    (
        "v0.21",
        &[
            "akamai-access-token",
            "akamai-client-secret",
            "akamai-client-token",
            "akamai-edgerc-path",
            "akamai-edgerc-section",
            "akamai-serviceconsumerdomain",
            "plural-cluster",
            "plural-provider",
            "transip-account",
            "transip-keyfile",
        ],
        "the provider is gone; use a webhook provider",
    ),
    ("v0.21", &["pihole-api-version"], "only version 6 of the Pi-hole API is left; drop the flag"),
];

/// Why a flag is not known any more and what to do; `None` if it never was.
pub(super) fn reason(name: &str) -> Option<String> {
    let (last, _, advice) = REMOVED.iter().find(|(_, names, _)| names.contains(&name))?;
    Some(format!("external-dns had it last in {last}; {advice}"))
}
