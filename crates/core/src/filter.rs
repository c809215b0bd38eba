//! Which names are in scope: domain filters by suffix or by regular expression.

use regex::Regex;

use crate::name::DnsName;

/// A filter on names, from four flags. If either regular expression is set the plain lists are not looked at, as in
/// external-dns.
#[derive(Debug, Clone, Default)]
pub struct DomainFilter {
    mode: Mode,
}

#[derive(Debug, Clone)]
enum Mode {
    Plain { include: Vec<Suffix>, exclude: Vec<Suffix> },
    Regex { include: Option<Regex>, exclude: Option<Regex> },
}

/// Two filters are equal if they were given the same lists or the same expressions.
impl PartialEq for DomainFilter {
    fn eq(&self, other: &Self) -> bool {
        let text = |regex: &Option<Regex>| regex.as_ref().map(|regex| regex.as_str().to_owned());
        match (&self.mode, &other.mode) {
            (Mode::Plain { include: a, exclude: b }, Mode::Plain { include: c, exclude: d }) => a == c && b == d,
            (Mode::Regex { include: a, exclude: b }, Mode::Regex { include: c, exclude: d }) => {
                text(a) == text(c) && text(b) == text(d)
            }
            _ => false,
        }
    }
}

impl Eq for DomainFilter {}

impl Default for Mode {
    fn default() -> Self {
        Self::Plain { include: Vec::new(), exclude: Vec::new() }
    }
}

/// One entry of a plain filter, in Unicode form without a final dot.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Suffix(String);

/// A filter that cannot be built.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FilterError {
    /// A regular expression does not compile.
    #[error("--{flag} {pattern:?} is no regular expression in RE2 syntax: {source}")]
    Regex {
        /// The flag's name.
        flag: &'static str,
        /// The text given.
        pattern: String,
        /// What is wrong with it.
        source: regex::Error,
    },
}

impl Suffix {
    /// Trims blanks, takes off one final dot, decodes A-labels; `None` for an entry that says nothing.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return None;
        }
        let (unicode, _) = idna::uts46::Uts46::new().to_unicode(
            text.as_bytes(),
            idna::AsciiDenyList::EMPTY,
            idna::uts46::Hyphens::Allow,
        );
        Some(Self(unicode.into_owned()))
    }

    fn matches(&self, name: &str) -> bool {
        let entry = self.0.as_str();
        if entry.starts_with('.') {
            return name.ends_with(entry);
        }
        name == entry || name.strip_suffix(entry).is_some_and(|head| head.ends_with('.'))
    }
}

impl DomainFilter {
    /// A filter by suffixes. An entry with a leading dot matches only names below it; an empty list includes everything.
    pub fn plain(include: &[String], exclude: &[String]) -> Self {
        let parse = |list: &[String]| list.iter().filter_map(|text| Suffix::parse(text)).collect();
        Self { mode: Mode::Plain { include: parse(include), exclude: parse(exclude) } }
    }

    /// A filter by regular expressions, unanchored, on the lower-case Unicode form; an empty text is no expression.
    ///
    /// # Errors
    /// [`FilterError::Regex`] names the flag.
    pub fn regex(include: &str, exclude: &str) -> Result<Self, FilterError> {
        let compile = |flag, pattern: &str| match pattern {
            "" => Ok(None),
            _ => Regex::new(pattern).map(Some).map_err(|source| FilterError::Regex {
                flag,
                pattern: pattern.to_owned(),
                source,
            }),
        };
        let include = compile("regex-domain-filter", include)?;
        let exclude = compile("regex-domain-exclusion", exclude)?;
        Ok(Self { mode: Mode::Regex { include, exclude } })
    }

    /// The filter of the four flags together.
    ///
    /// # Errors
    /// As [`DomainFilter::regex`].
    pub fn new(include: &[String], exclude: &[String], regex: &str, regex_exclude: &str) -> Result<Self, FilterError> {
        if regex.is_empty() && regex_exclude.is_empty() {
            Ok(Self::plain(include, exclude))
        } else {
            Self::regex(regex, regex_exclude)
        }
    }

    /// The flags by which a name is out of scope, as they would be given; `None` if it is in scope.
    ///
    /// ```
    /// use zonewright_core::DnsName;
    /// use zonewright_core::filter::DomainFilter;
    ///
    /// let filter = DomainFilter::plain(&["example.com".to_owned()], &["x.example.com".to_owned()]);
    /// let excluding = |text: &str| filter.excluding(&DnsName::parse(text).unwrap());
    /// assert_eq!(excluding("a.example.net").as_deref(), Some("--domain-filter=example.com"));
    /// assert_eq!(excluding("a.x.example.com").as_deref(), Some("--exclude-domains=x.example.com"));
    /// assert_eq!(excluding("a.example.com"), None);
    /// ```
    pub fn excluding(&self, name: &DnsName) -> Option<String> {
        if self.matches(name) {
            return None;
        }
        let unicode = name.to_unicode();
        let flags = |flag: &str, list: &mut dyn Iterator<Item = &Suffix>| {
            list.map(|suffix| format!("--{flag}={}", suffix.0)).collect::<Vec<_>>().join(" ")
        };
        Some(match &self.mode {
            Mode::Plain { include, exclude } => {
                let excluded = flags("exclude-domains", &mut exclude.iter().filter(|suffix| suffix.matches(&unicode)));
                if excluded.is_empty() { flags("domain-filter", &mut include.iter()) } else { excluded }
            }
            Mode::Regex { exclude: Some(regex), .. } if regex.is_match(&unicode) => {
                format!("--regex-domain-exclusion={regex}")
            }
            Mode::Regex { include, .. } => {
                format!("--regex-domain-filter={}", include.as_ref().map_or("", Regex::as_str))
            }
        })
    }

    /// The suffixes that are included, as they were given; none where everything is, or where a regular expression says.
    pub fn domains(&self) -> Vec<&str> {
        match &self.mode {
            Mode::Plain { include, .. } => include.iter().map(|suffix| suffix.0.as_str()).collect(),
            Mode::Regex { .. } => Vec::new(),
        }
    }

    /// Whether a name is in scope.
    pub fn matches(&self, name: &DnsName) -> bool {
        let unicode = &*name.to_unicode();
        match &self.mode {
            Mode::Plain { include, exclude } => {
                (include.is_empty() || include.iter().any(|suffix| suffix.matches(unicode)))
                    && !exclude.iter().any(|suffix| suffix.matches(unicode))
            }
            Mode::Regex { include, exclude } => {
                !exclude.as_ref().is_some_and(|regex| regex.is_match(unicode))
                    && include.as_ref().is_none_or(|regex| regex.is_match(unicode))
            }
        }
    }

    /// Whether a zone of this name can hold names in scope: it lies in scope itself, or above an included suffix. Regular
    /// expressions are asked about the zone's own name, as external-dns does.
    pub fn matches_zone(&self, zone: &DnsName) -> bool {
        let unicode = &*zone.to_unicode();
        let above = |suffix: &Suffix| {
            let entry = suffix.0.trim_start_matches('.');
            zone.is_root() || entry == unicode || entry.strip_suffix(unicode).is_some_and(|head| head.ends_with('.'))
        };
        match &self.mode {
            Mode::Plain { include, exclude } if self.matches(zone) || include.iter().any(above) => {
                !exclude.iter().any(|suffix| suffix.matches(unicode))
            }
            Mode::Plain { .. } => false,
            Mode::Regex { .. } => self.matches(zone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DnsName {
        DnsName::parse(text).unwrap()
    }

    fn plain(include: &[&str], exclude: &[&str]) -> DomainFilter {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        DomainFilter::plain(&owned(include), &owned(exclude))
    }

    #[test]
    fn plain_entries_match_whole_labels() {
        for (include, exclude, matching, other) in [
            (
                vec!["example.org"],
                vec![],
                vec!["example.org", "a.example.org", "EXAMPLE.ORG.", "*.example.org", "_x._tcp.example.org"],
                vec!["anexample.org", "org"],
            ),
            (vec![".example.org"], vec![], vec!["a.example.org"], vec!["example.org", "bexample.org"]),
            (vec!["a.com,b.com"], vec![], vec![], vec!["a.com", "x.b.com"]),
            (vec![], vec!["example.org"], vec!["other.net"], vec!["example.org", "a.example.org"]),
            (vec!["example.org", "."], vec![], vec!["a.example.org"], vec!["a.net"]),
            (vec!["", " "], vec![], vec!["anything.at.all"], vec![]),
            (vec!["domain.tld"], vec!["ex.domain.tld"], vec!["foo.domain.tld"], vec!["foo.ex.domain.tld"]),
            (vec!["faß.de"], vec![], vec!["faß.de", "xn--fa-hia.de"], vec!["fass.de"]),
            (vec!["49.168.192.in-addr.arpa"], vec![], vec!["2.49.168.192.in-addr.arpa"], vec![]),
        ] {
            let filter = plain(&include, &exclude);
            for text in matching {
                assert!(filter.matches(&name(text)), "{include:?} takes {text}");
            }
            for text in other {
                assert!(!filter.matches(&name(text)), "{include:?} leaves {text}");
            }
        }
    }

    #[test]
    fn expressions_are_unanchored_and_see_unicode() {
        let filter = DomainFilter::regex("\\.org$", "").unwrap();
        assert!(filter.matches(&name("A.ORG.")));
        let filter = DomainFilter::new(&["plain.com".to_owned()], &[], "", "^x\\.").unwrap();
        assert!(!filter.matches(&name("x.org")) && filter.matches(&name("y.org")), "lists are not looked at");
        let filter = DomainFilter::regex("(?:😍|🤩)\\.org$", "").unwrap();
        assert!(filter.matches(&name("xn--r28h.org")));
        let error = DomainFilter::regex("(?<=a)b", "").unwrap_err().to_string();
        assert!(error.contains("--regex-domain-filter"), "{error}");
    }

    #[test]
    fn equal_filters_were_given_the_same() {
        let regex = |include: &str, exclude: &str| DomainFilter::regex(include, exclude).unwrap();
        assert_eq!(plain(&["Example.org."], &[]), plain(&["example.org"], &[]));
        assert_ne!(plain(&["example.org"], &[]), plain(&[], &["example.org"]));
        assert_eq!(regex("a", "b"), regex("a", "b"));
        assert_ne!(regex("a", ""), regex("", "a"));
        assert_ne!(DomainFilter::default(), regex("", ""));
    }

    #[test]
    fn zones_above_a_filter_hold_names_in_scope() {
        let filter = plain(&["team.example.org"], &["x.team.example.org"]);
        for (zone, expected) in [
            ("example.org", true),
            ("team.example.org", true),
            ("a.team.example.org", true),
            ("other.org", false),
            ("x.team.example.org", false),
        ] {
            assert_eq!(filter.matches_zone(&name(zone)), expected, "{zone}");
        }
    }
}
