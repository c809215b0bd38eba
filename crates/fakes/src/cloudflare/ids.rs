//! Ids and times as the service writes them.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The account that all zones belong to.
pub(super) const ACCOUNT: &str = "00000000000000000000000000000fac";

/// 32 hexadecimal digits, always the same ones for a text.
pub(super) fn id(text: &str) -> String {
    Sha256::digest(text).iter().take(16).fold(String::new(), |mut id, byte| {
        // Writing into a string does not fail.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// Whether a text has the form of an id.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The time now, to the microsecond.
pub(super) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_form() {
        assert!(is_id(&id("a")) && is_id(ACCOUNT));
        assert_ne!(id("a"), id("b"));
        assert!(!is_id("a") && !is_id(&"g".repeat(32)));
        assert_eq!(now().len(), "2026-01-02T03:04:05.678901Z".len());
    }
}
