//! Labels and annotations in as little memory as they need: a sorted slice of pairs.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A small map from text to text, sorted by key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct TextMap(Box<[(Box<str>, Box<str>)]>);

impl TextMap {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }

    /// All pairs in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops the pairs whose key is not wanted.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        if self.0.iter().any(|(key, _)| !wanted(key)) {
            let all = std::mem::take(&mut self.0);
            self.0 = all.into_iter().filter(|(key, _)| wanted(key)).collect();
        }
    }
}

impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for TextMap {
    /// Of pairs with equal keys the last one stays.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let map: std::collections::BTreeMap<Box<str>, Box<str>> =
            pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self(map.into_iter().collect())
    }
}

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs)
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = TextMap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from text to text")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextMap, A::Error> {
        let mut pairs: Vec<(Box<str>, Box<str>)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<Box<str>, Option<Box<str>>>()? {
            pairs.push((key, value.unwrap_or_default()));
        }
        Ok(pairs.into_iter().collect())
    }
}
