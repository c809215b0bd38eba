//! The nearest known word for one that is not known.

/// The known word that is most like `word`, if any is like it at all.
pub(super) fn of<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let like = known.into_iter().filter(|known| !known.is_empty()).map(|known| {
        // A beginning that was typed is as good as a letter that was not.
        let starts = word.chars().count() > 2 && known.starts_with(word);
        (if starts { 0.95 } else { strsim::jaro_winkler(word, known) }, known)
    });
    like.filter(|(likeness, _)| *likeness > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant() {
        let known =
            ["service", "ingress", "rfc2136", "cloudflare", "plans", "plan", "history", "sync", "upsert-only", ""];
        for (word, expected) in [
            ("servcie", Some("service")),
            ("rfc2163", Some("rfc2136")),
            ("cloudfare", Some("cloudflare")),
            ("plnas", Some("plans")),
            ("hist", Some("history")),
            ("synk", Some("sync")),
            ("upsert", Some("upsert-only")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(of(word, known), expected, "{word}");
        }
    }
}
