//! Kubernetes selectors: the text of `--label-filter` and `--annotation-filter` in, a test over labels or annotations out.
//!
//! The grammar is that of the Kubernetes API (concepts/overview/working-with-objects/labels): requirements separated by
//! commas, all of which must hold. What must hold here: a text that does not parse is an error with the place in it,
//! never a selector that matches everything.

mod object;
mod parse;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

pub use self::object::ObjectSelectorError;
use self::parse::Parser;
pub(crate) use self::parse::is_label_value;
use crate::objects::TextMap;

/// Requirements that must all hold; none of them match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Equal(String),
    Unequal(String),
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Missing,
    Greater(i64),
    Less(i64),
}

/// As it would be given: `a=b,c in (d,e),!f`.
impl fmt::Display for MetadataSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Requirement { key, test }) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            let list = |words: &BTreeSet<String>| words.iter().map(String::as_str).collect::<Vec<_>>().join(",");
            match test {
                Test::Equal(value) => write!(f, "{key}={value}"),
                Test::Unequal(value) => write!(f, "{key}!={value}"),
                Test::In(words) => write!(f, "{key} in ({})", list(words)),
                Test::NotIn(words) => write!(f, "{key} notin ({})", list(words)),
                Test::Exists => f.write_str(key),
                Test::Missing => write!(f, "!{key}"),
                Test::Greater(than) => write!(f, "{key}>{than}"),
                Test::Less(than) => write!(f, "{key}<{than}"),
            }?;
        }
        Ok(())
    }
}

/// Why a text is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// Something else was expected at this place.
    #[error("selector {text:?}: found {found:?}, expected {expected}")]
    Syntax {
        /// The whole text.
        text: String,
        /// What stands there; empty at the end.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// A key or value that labels cannot have.
    #[error("selector {text:?}: {word:?} is no {what}")]
    Word {
        /// The whole text.
        text: String,
        /// The key or value.
        word: String,
        /// What it should be.
        what: &'static str,
    },
    /// An operator that annotation filters do not have.
    #[error("{operator:?} is not a valid label selector operator; expected =, ==, in, notin, a key, or ! and a key")]
    Operator {
        /// The operator as the Kubernetes API names it.
        operator: &'static str,
    },
}

impl MetadataSelector {
    /// Parses the full syntax: `k=v`, `k==v`, `k!=v`, `k in (a, b)`, `k notin (a, b)`, `k`, `!k`, `k>1`, `k<1`.
    ///
    /// # Errors
    /// [`SelectorError`] says what stands where something else was expected.
    pub fn labels(text: &str) -> Result<Self, SelectorError> {
        Parser::new(text).requirements().map(Self)
    }

    /// Parses the syntax of annotation filters, which lack `!=`, `<` and `>`. Of two `=` for one key the last holds.
    ///
    /// # Errors
    /// As [`MetadataSelector::labels`], and for the operators that are not taken.
    pub fn annotations(text: &str) -> Result<Self, SelectorError> {
        let mut kept: Vec<Requirement> = Vec::new();
        for requirement in Self::labels(text)?.0 {
            match requirement.test {
                Test::Unequal(_) => return Err(SelectorError::Operator { operator: "!=" }),
                Test::Greater(_) => return Err(SelectorError::Operator { operator: "gt" }),
                Test::Less(_) => return Err(SelectorError::Operator { operator: "lt" }),
                Test::Equal(_) => kept.retain(|k| k.key != requirement.key || !matches!(k.test, Test::Equal(_))),
                Test::In(_) | Test::NotIn(_) | Test::Exists | Test::Missing => {}
            }
            kept.push(requirement);
        }
        Ok(Self(kept))
    }

    /// Whether all requirements hold.
    pub fn matches(&self, map: &TextMap) -> bool {
        self.0.iter().all(|requirement| requirement.test.holds(map.get(&requirement.key)))
    }

    /// The keys that it reads.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|requirement| requirement.key.as_str())
    }

    /// Whether it matches everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Test {
    /// An absent key meets the negative tests, as in Kubernetes.
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Equal(wanted) => value == Some(wanted),
            Self::Unequal(unwanted) => value != Some(unwanted),
            Self::In(wanted) => value.is_some_and(|value| wanted.contains(value)),
            Self::NotIn(unwanted) => value.is_none_or(|value| !unwanted.contains(value)),
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::Greater(bound) => number().is_some_and(|n| n > *bound),
            Self::Less(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

impl FromStr for MetadataSelector {
    type Err = SelectorError;

    /// As [`MetadataSelector::labels`].
    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::labels(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(pairs: &str) -> TextMap {
        pairs.split_whitespace().map(|pair| pair.split_once('=').expect("pairs are k=v")).collect()
    }

    #[test]
    fn a_selector_is_shown_as_it_would_be_given() {
        for text in ["", "a=1", "a!=1,b", "!a", "a in (1,2)", "a notin (1),b>3,c<4"] {
            assert_eq!(text.parse::<MetadataSelector>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn what_matches() {
        for (selector, pairs, expected) in [
            ("", "a=1", true),
            ("  ", "", true),
            ("a=1", "a=1", true),
            ("a = 1", "a=1", true),
            ("a==1", "a=1", true),
            ("a=1", "a=2", false),
            ("a=1", "", false),
            ("a=", "a=", true),
            ("a=", "a=1", false),
            ("a!=1", "a=2", true),
            ("a!=1", "", true),
            ("a!=1", "a=1", false),
            ("a in (1, 2)", "a=2", true),
            ("a in (1,2)", "a=3", false),
            ("a in (1,2)", "", false),
            ("a in (,2)", "a=", true),
            ("a notin (1,2)", "a=3", true),
            ("a notin (1,2)", "", true),
            ("a notin (1,2)", "a=1", false),
            ("a", "a=x", true),
            ("a", "b=x", false),
            ("!a", "b=x", true),
            ("! a", "a=x", false),
            ("a>5", "a=6", true),
            ("a>5", "a=5", false),
            ("a<5", "a=4", true),
            ("a<5", "a=x", false),
            ("a<5", "", false),
            ("a=1,b=2", "a=1 b=2", true),
            ("a=1,b=2", "a=1", false),
            ("in=in", "in=in", true),
            ("a.b/c in (Global, OnlyLocal)", "a.b/c=OnlyLocal", true),
            ("a=1,a=2", "a=2", false),
        ] {
            let parsed = MetadataSelector::labels(selector).unwrap();
            assert_eq!(parsed.matches(&map(pairs)), expected, "{selector:?} on {pairs:?}");
        }
    }

    #[test]
    fn what_does_not_parse() {
        for (text, expected) in [
            ("=test", "found \"=\", expected a key"),
            ("a,", "found \"\", expected a key"),
            ("a,,b", "found \",\", expected a key"),
            ("a b", "found \"b\", expected an operator"),
            ("a in", "found \"\", expected ("),
            ("a in 1", "found \"1\", expected ("),
            ("a in ()", "expected at least one value"),
            ("a in (1", "expected a comma or )"),
            ("!a=1", "found \"=\", expected a comma"),
            ("a=b c", "found \"c\", expected a comma"),
            ("a=b/c", "\"b/c\" is no label value"),
            ("a=-b", "\"-b\" is no label value"),
            ("a/b/c=1", "\"a/b/c\" is no label key"),
            ("-a", "\"-a\" is no label key"),
            ("a>x", "\"x\" is no whole number"),
            ("a>", "found \"\", expected a whole number"),
            ("a=ü", "is no label value"),
        ] {
            let error = MetadataSelector::labels(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn annotation_filters_have_fewer_operators() {
        for (text, operator) in [("a!=1", "!="), ("a>1", "gt"), ("a<1", "lt")] {
            let error = MetadataSelector::annotations(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{operator:?} is not a valid label selector operator")), "{error}");
        }
        assert!(MetadataSelector::annotations("=test").is_err());
        let last = MetadataSelector::annotations("a=1,b==3,a=2").unwrap();
        assert!(last.matches(&map("a=2 b=3")) && !last.matches(&map("a=1 b=3")));
        let set = MetadataSelector::annotations("a in (1,2),!b,c,d notin (x)").unwrap();
        assert!(set.matches(&map("a=1 c=")) && !set.matches(&map("a=1 b= c=")));
        assert_eq!(set.keys().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }

    proptest! {
        #[test]
        fn never_panics(text in "[ab1=!(),<> \\t/.ü-]{0,20}") {
            if let Ok(selector) = MetadataSelector::labels(&text) {
                selector.matches(&map("a=1 b=ab"));
            }
        }
    }
}
