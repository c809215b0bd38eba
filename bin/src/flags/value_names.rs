//! What the value of a flag is called in help texts and in the reference: it says what is to be given.

use zonewright_core::catalog::{FlagKind, FlagSpec};

/// Names by the end of the flag's own name; the first that fits counts.
const BY_END: &[(&str, &[&str])] = &[
    (
        "PATH",
        &["config", "-dir", "-file", "kubeconfig", "manifests", "tls-ca", "tls-client-cert", "tls-client-cert-key"],
    ),
    ("URL", &["-url", "ns1-endpoint", "pdns-server", "pihole-server"]),
    ("ADDRESS", &["-address", "listen", "connector-source-server"]),
    ("NAMESPACE", &["namespace"]),
    ("SELECTOR", &["label-filter", "annotation-filter"]),
    ("DOMAIN", &["domain-filter", "exclude-domains", "zone-name-filter", "-domain", "domains"]),
    ("NETWORK", &["net-filter", "target-net", "nat64-networks"]),
    ("TYPE", &["record-types", "service-type-filter"]),
    ("TEMPLATE", &["-template"]),
    ("PREFIX", &["-prefix"]),
    ("SUFFIX", &["-suffix"]),
    ("TARGET", &["default-targets"]),
    ("ZONE", &["-zone", "zone"]),
    ("HOST", &["-host"]),
    ("ARN", &["assume-role"]),
    ("REGION", &["-region"]),
    ("TIME", &["since"]),
    ("HASH", &["plan"]),
    ("ID", &["zone-id-filter", "-id"]),
    ("NAME", &["-name", "-username", "-keyname", "-class", "-profile", "unpin", "name", "-table", "force"]),
];

/// The name of a flag's value.
pub(super) fn value_name(spec: &FlagSpec) -> &'static str {
    match spec.kind {
        FlagKind::Bool => "",
        FlagKind::Text | FlagKind::List => of_text(spec),
        FlagKind::Secret => "SECRET",
        FlagKind::Int | FlagKind::Int64 => "NUMBER",
        FlagKind::Duration => "DURATION",
        FlagKind::Regex => "REGEX",
        FlagKind::Choice(_) | FlagKind::ChoiceList(_) => "WORD",
        FlagKind::Map => "KEY=VALUE",
    }
}

fn of_text(spec: &FlagSpec) -> &'static str {
    let of_help = [("wner id", "OWNER"), ("URL of", "URL"), ("anifests with", "PATH"), ("ARN of", "ARN")];
    let by_help = of_help.iter().find(|(words, _)| spec.help.contains(words)).map(|(_, name)| *name);
    let by_end = || BY_END.iter().find(|(_, ends)| ends.iter().any(|end| spec.name.ends_with(end)));
    by_help.or_else(|| by_end().map(|(name, _)| *name)).unwrap_or("TEXT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_to_be_given() {
        for (name, help, expected) in [
            ("kubeconfig", "Path of the kubeconfig", "PATH"),
            ("state-dir", "Folder for held plans", "PATH"),
            ("server", "URL of the API server", "URL"),
            ("webhook-provider-url", "Address of the webhook", "URL"),
            ("metrics-address", "Listen address", "ADDRESS"),
            ("txt-owner-id", "Owner id in claims", "OWNER"),
            ("from", "Manifests with external-dns' Deployment", "PATH"),
            ("from", "Owner id of the records now", "OWNER"),
            ("gateway-label-filter", "", "SELECTOR"),
            ("rfc2136-zone", "", "ZONE"),
            ("zone-id-filter", "", "ID"),
            ("cloudflare-record-comment", "", "TEXT"),
        ] {
            assert_eq!(value_name(&FlagSpec::new(name, FlagKind::Text, help)), expected, "{name}");
        }
        assert_eq!(value_name(&FlagSpec::new("interval", FlagKind::Duration, "")), "DURATION");
    }
}
