//! What may be shown of addresses and of what others say.

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

/// Longest excerpt of a body in a message, in characters.
const LONGEST: usize = 200;

/// Credentials shorter than this are not looked for in bodies: they would match by chance.
const SHORTEST_SECRET: usize = 6;

/// An address for messages: scheme, host, port and path. User, password, query and fragment may hold secrets.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that cannot have either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// The beginning of a text, on one line.
pub fn shortened(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}

/// The text without these credentials, which a service may have repeated: neither a whole header value nor its last word.
pub fn without(text: &str, secrets: &[SecretString]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        let whole = secret.expose_secret().trim();
        let token = whole.rsplit(' ').next().unwrap_or(whole);
        for part in [whole, token] {
            if part.len() >= SHORTEST_SECRET && text.contains(part) {
                text = text.replace(part, "[redacted]");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (url, expected) in [
            ("https://me:pass@a.example:8443/x/y?token=t#f", "https://a.example:8443/x/y"),
            ("http://a.example", "http://a.example/"),
            ("http://[::1]:80/", "http://[::1]/"),
        ] {
            assert_eq!(shown(&url.parse().unwrap()), expected);
        }
    }

    #[test]
    fn excerpts_are_short_and_on_one_line() {
        assert_eq!(shortened(" a\n\tb\u{7} "), "a  b ");
        assert_eq!(shortened(&"x".repeat(300)).len(), LONGEST);
    }

    #[test]
    fn repeated_credentials_are_taken_out() {
        let secrets = ["Bearer s3cret-token".into(), "tiny".into()];
        for (text, expected) in [
            ("no access with s3cret-token!", "no access with [redacted]!"),
            ("got Bearer s3cret-token", "got [redacted]"),
            ("tiny words stay", "tiny words stay"),
        ] {
            assert_eq!(without(text, &secrets), expected);
        }
    }
}
