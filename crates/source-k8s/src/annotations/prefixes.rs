//! The prefixes in force (`--annotation-prefix`).

/// The prefix of external-dns since its version 0.22, and ours.
pub const DEFAULT_PREFIX: &str = "external-dns.kubernetes.io/";
/// The prefix of external-dns up to its version 0.21.
pub const ALPHA_PREFIX: &str = "external-dns.alpha.kubernetes.io/";

/// At least one prefix, in the order in which they are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefixes(Vec<Box<str>>);

/// A text that is no annotation prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation prefix {0:?} must not be empty and must end in \"/\", as {DEFAULT_PREFIX} does")]
pub struct PrefixError(String);

impl Prefixes {
    /// The prefixes of a flag's values; none of them means the default.
    ///
    /// # Errors
    /// One is empty or does not end in `/`.
    pub fn parse(values: &[impl AsRef<str>]) -> Result<Self, PrefixError> {
        let mut prefixes: Vec<Box<str>> = Vec::new();
        for value in values.iter().map(AsRef::as_ref) {
            if value.trim_end_matches('/').is_empty() || !value.ends_with('/') {
                return Err(PrefixError(value.to_owned()));
            }
            if !prefixes.iter().any(|prefix| **prefix == *value) {
                prefixes.push(Box::from(value));
            }
        }
        Ok(if prefixes.is_empty() { Self::default() } else { Self(prefixes) })
    }

    /// The prefixes in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|prefix| &**prefix)
    }

    /// The one that is asked first.
    pub fn first(&self) -> &str {
        self.0.first().map_or(DEFAULT_PREFIX, |prefix| prefix)
    }

    /// A single prefix.
    pub(crate) fn one(prefix: &str) -> Self {
        Self(vec![Box::from(prefix)])
    }

    /// The well-known prefix that is not in force, where the other one is.
    pub(crate) fn other_known(&self) -> Option<&'static str> {
        match (self.contains(DEFAULT_PREFIX), self.contains(ALPHA_PREFIX)) {
            (true, false) => Some(ALPHA_PREFIX),
            (false, true) => Some(DEFAULT_PREFIX),
            _ => None,
        }
    }

    /// Whether `prefix` is in force.
    pub fn contains(&self, prefix: &str) -> bool {
        self.iter().any(|own| own == prefix)
    }
}

impl Default for Prefixes {
    fn default() -> Self {
        Self(vec![Box::from(DEFAULT_PREFIX)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing() {
        for (values, expected) in [
            (&[][..], Some(&[DEFAULT_PREFIX][..])),
            (&["a/"], Some(&["a/"])),
            (&["a/", "b/", "a/"], Some(&["a/", "b/"])),
            (&[""], None),
            (&["/"], None),
            (&["a/", "b"], None),
        ] {
            let parsed = Prefixes::parse(values).ok();
            assert_eq!(
                parsed.as_ref().map(|p| p.iter().collect::<Vec<_>>()),
                expected.map(<[_]>::to_vec),
                "{values:?}"
            );
        }
        let error = Prefixes::parse(&["b"]).unwrap_err().to_string();
        assert!(error.contains("\"b\"") && error.contains("end in \"/\""), "{error}");
    }
}
