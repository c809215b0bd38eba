//! The files and flags that an API server is started with.

use serde_json::{Value, json};

use super::User;

/// The flags that are the same for every server.
pub(super) const API_FLAGS: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--service-cluster-ip-range=10.0.0.0/16,fd00:10::/108",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--authorization-mode=RBAC",
    // There is no controller that would make the service accounts which this plugin asks for.
    "--disable-admission-plugins=ServiceAccount",
    "--endpoint-reconciler-type=none",
    // Only the tests compact.
    "--etcd-compaction-interval=0",
    "--profiling=false",
];

/// `--token-auth-file`: token, name, uid, groups.
pub(super) fn tokens() -> String {
    let line = |user: User| format!("{},{},{}-uid,\"{}\"\n", user.token(), user.name(), user.name(), user.groups());
    User::ALL.into_iter().map(line).collect()
}

/// Everything at level Metadata; a request is logged when it is answered, a watch also when it begins.
pub(super) fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{ "level": "Metadata" }],
    })
}

/// A kubeconfig as JSON, which is YAML too.
pub(super) fn kubeconfig(url: &str, ca_pem: &str, user: User) -> Value {
    let cluster = json!({ "server": url, "certificate-authority-data": base64(ca_pem.as_bytes()) });
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "test", "cluster": cluster }],
        "users": [{ "name": user.name(), "user": { "token": user.token() } }],
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": user.name(), "namespace": "default" } }],
        "current-context": "test",
    })
}

/// RFC 4648, section 4.
fn base64(octets: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in octets.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for position in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * position) & 63) as usize];
            text.push(if position <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        // RFC 4648, section 10.
        let check = |text: &str, expected: &str| assert_eq!(base64(text.as_bytes()), expected);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foobar", "Zm9vYmFy");
    }
}
