//! Selectors that stand in objects.

use super::parse::{is_key, is_label_value};
use super::{MetadataSelector, Requirement, Test};
use crate::objects::{LabelRequirement, LabelSelector};

/// Why a selector in an object is none. Nothing is matched by it, as in Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectSelectorError {
    /// A key or value that labels cannot have.
    #[error("{word:?} is no {what}")]
    Word {
        /// The key or value.
        word: String,
        /// What it should be.
        what: &'static str,
    },
    /// An operator that there is not.
    #[error("operator {0:?} is unknown; expected In, NotIn, Exists or DoesNotExist")]
    Operator(String),
    /// Values with an operator that takes none, or none with one that needs them.
    #[error("operator {operator} of key {key:?} has {found} values, expected {expected}")]
    Values {
        /// The key.
        key: String,
        /// The operator.
        operator: String,
        /// Number of values.
        found: usize,
        /// What it should be.
        expected: &'static str,
    },
}

impl TryFrom<&LabelSelector> for MetadataSelector {
    type Error = ObjectSelectorError;

    /// All requirements of a selector in an object.
    fn try_from(selector: &LabelSelector) -> Result<Self, ObjectSelectorError> {
        let labels = selector.match_labels.iter().map(|(key, value)| {
            let test = Test::Equal(label_value(value)?);
            Ok(Requirement { key: label_key(key)?, test })
        });
        labels.chain(selector.match_expressions.iter().map(requirement)).collect::<Result<_, _>>().map(Self)
    }
}

fn requirement(stated: &LabelRequirement) -> Result<Requirement, ObjectSelectorError> {
    let wrong = |expected| ObjectSelectorError::Values {
        key: stated.key.clone(),
        operator: stated.operator.clone(),
        found: stated.values.len(),
        expected,
    };
    let values = || match stated.values.as_slice() {
        [] => Err(wrong("at least one")),
        values => values.iter().map(|value| label_value(value)).collect(),
    };
    let none = |test| if stated.values.is_empty() { Ok(test) } else { Err(wrong("none")) };
    let test = match stated.operator.as_str() {
        "In" => Test::In(values()?),
        "NotIn" => Test::NotIn(values()?),
        "Exists" => none(Test::Exists)?,
        "DoesNotExist" => none(Test::Missing)?,
        other => return Err(ObjectSelectorError::Operator(other.to_owned())),
    };
    Ok(Requirement { key: label_key(&stated.key)?, test })
}

fn label_key(key: &str) -> Result<String, ObjectSelectorError> {
    word(key, is_key, "label key")
}

fn label_value(value: &str) -> Result<String, ObjectSelectorError> {
    word(value, is_label_value, "label value")
}

fn word(text: &str, is: impl Fn(&str) -> bool, what: &'static str) -> Result<String, ObjectSelectorError> {
    let text = text.to_owned();
    if is(&text) { Ok(text) } else { Err(ObjectSelectorError::Word { word: text, what }) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::TextMap;

    fn read(selector: Value) -> Result<MetadataSelector, ObjectSelectorError> {
        MetadataSelector::try_from(&serde_json::from_value::<LabelSelector>(selector).expect("the API can hold this"))
    }

    fn expression(operator: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": "team", "operator": operator, "values": values}]})
    }

    #[test]
    fn what_matches() {
        let labels = [("team", "foo")].into_iter().collect::<TextMap>();
        let other = [("tier", "x")].into_iter().collect::<TextMap>();
        for (selector, on_foo, on_other) in [
            (json!({}), true, true),
            (json!({"matchLabels": null, "matchExpressions": null}), true, true),
            (json!({"matchLabels": {"team": "foo"}}), true, false),
            (json!({"matchLabels": {"team": "foo", "tier": "x"}}), false, false),
            (expression("In", &["bar", "foo"]), true, false),
            (expression("NotIn", &["foo"]), false, true),
            (expression("Exists", &[]), true, false),
            (expression("DoesNotExist", &[]), false, true),
            (
                json!({"matchLabels": {"team": "foo"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}),
                false,
                false,
            ),
        ] {
            let parsed = read(selector.clone()).expect("a selector");
            assert_eq!((parsed.matches(&labels), parsed.matches(&other)), (on_foo, on_other), "{selector}");
        }
    }

    #[test]
    fn what_is_none() {
        for (selector, expected) in [
            (expression("Equals", &["a"]), "operator \"Equals\" is unknown"),
            (expression("In", &[]), "operator In of key \"team\" has 0 values, expected at least one"),
            (expression("Exists", &["a"]), "has 1 values, expected none"),
            (expression("NotIn", &["a b"]), "\"a b\" is no label value"),
            (json!({"matchLabels": {"-": "a"}}), "\"-\" is no label key"),
            (json!({"matchLabels": {"a": "/"}}), "\"/\" is no label value"),
        ] {
            let error = read(selector).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
