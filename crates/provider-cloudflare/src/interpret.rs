//! What of an endpoint's statement means something else here than elsewhere.
//!
//! In: one endpoint. Out: the same with its switch in the one spelling that is read later; external-dns takes all those of Go.

use std::sync::Arc;

use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;

use crate::options::PROXIED;

/// Spellings of switches (Go, `strconv.ParseBool`).
const SPELLINGS: [(&str, &[&str]); 2] =
    [("true", &["1", "t", "T", "TRUE", "True"]), ("false", &["0", "f", "F", "FALSE", "False"])];

/// Reads an endpoint.
pub(crate) fn interpret(endpoint: &Endpoint) -> Interpretation {
    let mut form = endpoint.clone();
    form.extras.edit(|extras| {
        for (key, text) in &mut extras.properties {
            // Whatever the prefix in force is.
            if key.rsplit('/').next() == Some(PROXIED)
                && let Some((plain, _)) = SPELLINGS.into_iter().find(|(_, known)| known.contains(&&**text))
            {
                *text = Arc::from(plain);
            }
        }
    });
    if form == *endpoint { Interpretation::as_stated() } else { Interpretation::forms([form]) }
}

#[cfg(test)]
mod tests {
    use zonewright_core::endpoint::{EndpointExtras, ObjectRef, Origin, Sharing, Targets, TypeMeta};
    use zonewright_core::{DnsName, RData, RecordType};

    use super::*;

    fn endpoint(proxied: &str) -> Endpoint {
        let text = |text: &str| Arc::<str>::from(text);
        let object = ObjectRef {
            types: TypeMeta::new("v1", "Service"),
            namespace: text("shop"),
            name: text("web"),
            uid: "1".into(),
        };
        Endpoint {
            name: DnsName::parse("www.example.org").unwrap(),
            rtype: RecordType::A,
            targets: Targets::Records(vec![RData::parse(RecordType::A, "192.0.2.1").unwrap()]),
            ttl: None,
            origin: Arc::new(Origin { source: text("service"), rank: 0, object, created: None, choice: None }),
            resource: None,
            sharing: Sharing::Holder,
            policy: None,
            extras: EndpointExtras {
                properties: [(text("dns.example.com/cloudflare-proxied"), text(proxied))].into(),
                ..EndpointExtras::default()
            }
            .into(),
        }
    }

    #[test]
    fn a_switch_has_one_spelling() {
        assert_eq!(interpret(&endpoint("true")), Interpretation::as_stated());
        for (given, plain) in [("T", "true"), ("0", "false"), ("True", "true")] {
            assert_eq!(interpret(&endpoint(given)), Interpretation::forms([endpoint(plain)]), "{given}");
        }
        assert_eq!(interpret(&endpoint("maybe")), Interpretation::as_stated());
    }
}
