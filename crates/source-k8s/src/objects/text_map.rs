//! Labels and annotations in as little memory as they need: one text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A small map from text to text, sorted by key. Kept as netstrings in one piece of memory: the length of each key and each value
/// in decimal digits, a colon, and the text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct TextMap(Box<str>);

impl TextMap {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// All pairs in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (key, after) = netstring(rest)?;
            let (value, after) = netstring(after)?;
            rest = after;
            Some((key, value))
        })
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops the pairs whose key is not wanted.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        if self.iter().any(|(key, _)| !wanted(key)) {
            *self = Self::of(self.iter().filter(|(key, _)| wanted(key)));
        }
    }

    /// Of pairs in the order of their keys.
    fn of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut text = String::new();
        for part in pairs.flat_map(|(key, value)| [key, value]) {
            text.push_str(&part.len().to_string());
            text.push(':');
            text.push_str(part);
        }
        Self(text.into())
    }
}

/// The first netstring of a text, and what follows it.
fn netstring(text: &str) -> Option<(&str, &str)> {
    let (length, rest) = text.split_once(':')?;
    rest.split_at_checked(length.parse().ok()?)
}

impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for TextMap {
    /// Of pairs with equal keys the last one stays.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let map: BTreeMap<Box<str>, Box<str>> =
            pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self::of(map.iter().map(|(key, value)| (&**key, &**value)))
    }
}

impl From<&TextMap> for BTreeMap<String, String> {
    fn from(map: &TextMap) -> Self {
        map.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_texts_are_kept() {
        let pairs = [("", "1:a"), ("12:", ""), ("a", "x"), ("key", "\u{0}3:ä")];
        let map: TextMap = pairs.into_iter().rev().collect();
        assert_eq!(map.iter().collect::<Vec<_>>(), pairs);
        assert!(pairs.iter().all(|(key, value)| map.get(key) == Some(value)));
        assert_eq!((map.get("1"), map.is_empty()), (None, false));
        assert!(TextMap::default().is_empty() && TextMap::default().iter().next().is_none());
    }

    #[test]
    fn what_is_not_wanted_is_dropped() {
        let mut map: TextMap = [("a", "1"), ("b", "2"), ("b", "3")].into_iter().collect();
        map.retain(|key| key != "a");
        assert_eq!(map, [("b", "3")].into_iter().collect());
        map.retain(|_| false);
        assert_eq!(map, TextMap::default());
    }
}
