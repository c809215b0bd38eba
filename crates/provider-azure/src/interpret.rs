//! What the service would publish for an endpoint: metadata in their one spelling, from either form in which objects state them.

use std::sync::Arc;

use zonewright_core::endpoint::{Endpoint, Note};
use zonewright_core::interpret::Interpretation;

use crate::options::{KEYS, METADATA, TAGS, parse, spell};

/// Reads an endpoint.
pub(crate) fn interpret(endpoint: &Endpoint) -> Interpretation {
    let is_ours = |key: &str| key == TAGS || key.starts_with(METADATA);
    if !endpoint.extras.properties.keys().any(|key| is_ours(key)) {
        return Interpretation::as_stated();
    }
    let (mut metadata, left) = parse(endpoint.extras.properties.get(TAGS).map_or("", |text| text));
    for (key, value) in &endpoint.extras.properties {
        if let Some(key) = key.strip_prefix(METADATA).filter(|_| **key != *KEYS) {
            metadata.insert(key.to_owned(), value.to_string());
        }
    }
    let mut form = endpoint.clone();
    form.extras.edit(|extras| {
        extras.properties.retain(|key, _| !is_ours(key));
        if !metadata.is_empty() {
            extras.properties.insert(Arc::from(TAGS), Arc::from(spell(&metadata)));
        }
    });
    let note = |part: String| {
        let text = format!("{} {}: {TAGS}: {part:?} is left out; expected key=value", endpoint.name, endpoint.rtype);
        Note::warning(&endpoint.origin.object, "InvalidOption", text)
    };
    Interpretation { notes: left.into_iter().map(note).collect(), ..Interpretation::forms([form]) }
}

#[cfg(test)]
mod tests {
    use zonewright_core::endpoint::{EndpointExtras, ObjectRef, Origin, Sharing, Targets, TypeMeta};
    use zonewright_core::{DnsName, RData, RecordType};

    use super::*;

    fn read(stated: &[(&str, &str)]) -> (Vec<String>, usize) {
        let text = |text: &str| Arc::<str>::from(text);
        let object = ObjectRef {
            types: TypeMeta::new("v1", "Service"),
            namespace: text("shop"),
            name: text("web"),
            uid: "1".into(),
        };
        let endpoint = Endpoint {
            name: DnsName::parse("www.example.org").unwrap(),
            rtype: RecordType::A,
            targets: Targets::Records(vec![RData::parse(RecordType::A, "192.0.2.1").unwrap()]),
            ttl: None,
            origin: Arc::new(Origin { source: text("service"), rank: 0, object, created: None, choice: None }),
            resource: None,
            sharing: Sharing::Holder,
            policy: None,
            extras: EndpointExtras {
                properties: stated.iter().map(|(key, value)| (text(key), text(value))).collect(),
                ..EndpointExtras::default()
            }
            .into(),
        };
        let Interpretation { forms, notes, .. } = interpret(&endpoint);
        let form = forms.map_or(endpoint, |mut forms| forms.remove(0));
        (form.extras.properties.iter().map(|(key, value)| format!("{key}:{value}")).collect(), notes.len())
    }

    #[test]
    fn both_forms_are_one() {
        for (stated, properties, notes) in [
            (vec![], vec![], 0),
            (vec![("other/x", "1")], vec!["other/x:1"], 0),
            (vec![(TAGS, "b=2, a=1")], vec!["azure/tags:a=1,b=2"], 0),
            (vec![("azure/metadata-a", "1"), (KEYS, "a,b"), ("azure/metadata-b", "2")], vec!["azure/tags:a=1,b=2"], 0),
            (vec![(TAGS, "a=1"), ("azure/metadata-a", "3")], vec!["azure/tags:a=3"], 0),
            (vec![(TAGS, "a=1,nothing")], vec!["azure/tags:a=1"], 1),
            (vec![(TAGS, "")], vec![], 0),
        ] {
            let properties = properties.into_iter().map(str::to_owned).collect();
            assert_eq!(read(&stated), (properties, notes), "{stated:?}");
        }
    }
}
