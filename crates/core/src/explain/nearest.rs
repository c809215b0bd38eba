//! The known word that a misspelt one is nearest to.

/// The nearest of `known` to `word`, if it is near: it differs in at most a third of its letters.
///
/// ```
/// use zonewright_core::explain::nearest;
///
/// assert_eq!(nearest("hostnames", ["ttl", "hostname", "target"]), Some("hostname"));
/// assert_eq!(nearest("colour", ["ttl", "hostname", "target"]), None);
/// ```
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = word.to_lowercase();
    let (distance, found) = known.into_iter().map(|known| (strsim::levenshtein(&word, known), known)).min()?;
    (distance * 3 <= found.len().max(word.len())).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_far_is_not_meant() {
        let known = ["hostname", "internal-hostname", "target", "ttl"];
        for (word, expected) in [
            ("Hostname", Some("hostname")),
            ("hostnmae", Some("hostname")),
            ("host-name", Some("hostname")),
            ("targets", Some("target")),
            ("internal-hostnames", Some("internal-hostname")),
            ("tll", Some("ttl")),
            ("owner", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
