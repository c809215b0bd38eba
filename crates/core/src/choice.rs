//! Which provider instances an object's records go to.
//!
//! In: the names that an object states (`zonewright.dev/provider`), and the names by which an instance is chosen. Out: whether the
//! instance takes the object's records. What must hold: an object that states no name goes to every instance that does not ask to be
//! named, so that with one instance nothing has to be said.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::zone::InstanceId;

/// The annotation or label by which an object names instances, separated by commas; the annotation counts before the label.
pub const CHOICE: &str = "zonewright.dev/provider";

/// The instances that an object names; at least one.
///
/// ```
/// use zonewright_core::choice::{Choice, Chooser};
/// use zonewright_core::zone::InstanceId;
///
/// let choice = Choice::parse("internal, lab").unwrap();
/// let internal = Chooser::new(&InstanceId::from("internal"));
/// assert!(internal.takes(Some(&choice)) && internal.takes(None));
/// assert!(!Chooser::new(&InstanceId::from("public")).takes(Some(&choice)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Choice(Arc<Vec<Arc<str>>>);

impl Choice {
    /// Reads a list of names; `None` if there is none in it.
    pub fn parse(text: &str) -> Option<Self> {
        let names: BTreeSet<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        (!names.is_empty()).then(|| Self(Arc::new(names.into_iter().map(Arc::from).collect())))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter()
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

/// By which names an instance is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chooser {
    /// The names that mean it. Several instances may share one (`public` for two providers, say).
    pub names: BTreeSet<Arc<str>>,
    /// Whether it takes only objects that name it.
    pub named_only: bool,
}

impl Chooser {
    /// Chosen by the instance's own name, and by all objects that name none.
    pub fn new(instance: &InstanceId) -> Self {
        Self { names: BTreeSet::from([Arc::from(instance.as_str())]), named_only: false }
    }

    /// Whether an object with this choice belongs to the instance.
    pub fn takes(&self, choice: Option<&Choice>) -> bool {
        choice.map_or(!self.named_only, |choice| choice.names().any(|name| self.names.contains(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_what() {
        let chooser = |names: &[&str], named_only| Chooser {
            names: names.iter().map(|name| Arc::from(*name)).collect(),
            named_only,
        };
        for (names, named_only, choice, expected) in [
            (&["a"][..], false, "", true),
            (&["a"], true, "", false),
            (&["a"], true, "a", true),
            (&["a"], false, "b", false),
            (&["a"], false, "b ,a,", true),
            (&["a", "split"], true, "split", true),
            (&["a"], false, "A", false),
            (&["a"], false, " , ", true),
        ] {
            assert_eq!(
                chooser(names, named_only).takes(Choice::parse(choice).as_ref()),
                expected,
                "{names:?} {choice:?}"
            );
        }
        assert_eq!(Choice::parse("b,a, b").unwrap().to_string(), "a, b");
    }
}
