//! JSON keys as Go field names: `dnsNames` is `DNSNames`. In comes a key; out comes the name by which a template may call
//! it where the type of its object is not known.

/// Words that Go writes in capitals throughout.
const CAPITALS: &[&str] = &[
    "acl", "api", "arn", "ca", "cidr", "cpu", "crd", "db", "dns", "http", "https", "id", "ip", "json", "jwk", "jwt",
    "os", "pem", "rbac", "sql", "ssl", "tcp", "tls", "ttl", "udp", "uid", "uuid", "uri", "url", "vm", "xml", "yaml",
];

/// The Go name of `key`: the first letter in upper case, or the whole leading word if it is an abbreviation.
pub(crate) fn go_name(key: &str) -> String {
    let end = key.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(key.len());
    let (word, rest) = key.split_at(end);
    if CAPITALS.contains(&word) {
        return word.to_ascii_uppercase() + rest;
    }
    upper_first(key)
}

/// `key` with its first letter in upper case.
pub(crate) fn upper_first(key: &str) -> String {
    let mut chars = key.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::go_name;

    #[test]
    fn leading_abbreviations_are_written_in_capitals() {
        for (key, expected) in [
            ("url", "URL"),
            ("dnsNames", "DNSNames"),
            ("hostname", "Hostname"),
            ("hostnames", "Hostnames"),
            ("ipAddress", "IPAddress"),
            ("ips", "Ips"),
            ("clusterIP", "ClusterIP"),
            ("Already", "Already"),
            ("éa", "Éa"),
            ("", ""),
        ] {
            assert_eq!(go_name(key), expected, "{key}");
        }
    }
}
