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
    let (distance, found) = known.into_iter().map(|known| (distance(&word, known), known)).min()?;
    (distance * 3 <= found.len().max(word.len())).then_some(found)
}

/// How many letters have to be put in, taken out or replaced (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, there) in row.iter_mut().skip(1).zip(&other) {
            let replaced = diagonal + usize::from(letter != *there);
            diagonal = *cell;
            left = replaced.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (one, other, expected) in
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("hostnames", "hostname", 1)]
        {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

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
