//! The source `fake`: made-up records, new ones at each reading, for trying a provider out.
//!
//! In come the domains that `--fqdn-template` gives for a pod named `fake`, else `example.com`; out comes one endpoint of
//! each type for each domain, in the ranges that are set apart for documentation (RFC 5737, RFC 3849).

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::templates::Templates;

/// The names are others in each reading, and the same in each process.
const SEED: u64 = 9673;

/// The generator.
#[derive(Debug)]
pub(crate) struct Fake {
    domains: Vec<String>,
    random: SmallRng,
}

impl Fake {
    pub(crate) fn new(templates: &Templates) -> Self {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fake", "namespace": "default"}});
        let mut domains = templates.domains(&pod);
        if domains.is_empty() {
            domains.push("example.com".to_owned());
        }
        Self { domains, random: SmallRng::seed_from_u64(SEED) }
    }

    /// The next list, in the JSON form of a DNSEndpoint's `spec.endpoints`.
    pub(crate) fn endpoints(&mut self) -> Vec<Value> {
        let domains = self.domains.clone();
        domains.iter().flat_map(|domain| self.of(domain)).collect()
    }

    fn of(&mut self, domain: &str) -> Vec<Value> {
        let count = self.domains.len();
        let v4: Vec<String> = (0..count).map(|_| self.v4()).collect();
        let v6: Vec<String> = (0..count).map(|_| self.v6()).collect();
        let reverse: Vec<String> = self.v4().split('.').rev().map(str::to_owned).collect();
        let heritage = "\"heritage=external-dns,external-dns/owner=fake\"";
        let naptr = format!("100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:info@{domain}!\" .");
        let (word, host) = (self.name(4, domain), self.name(4, domain));
        [
            (self.name(4, domain), "A", v4),
            (self.name(4, domain), "AAAA", v6),
            (self.name(4, domain), "CNAME", vec![host.clone()]),
            (self.name(4, domain), "TXT", vec![heritage.to_owned()]),
            (format!("_sip._udp.{domain}"), "SRV", vec![format!("10 20 5060 {host}.")]),
            (domain.to_owned(), "NS", vec![self.name(3, domain)]),
            (format!("{}.in-addr.arpa", reverse.join(".")), "PTR", vec![host]),
            (domain.to_owned(), "MX", vec![format!("10 {word}")]),
            (format!("_sip._udp.{domain}"), "NAPTR", vec![naptr]),
            (self.name(4, domain), "DNAME", vec![self.name(4, domain)]),
        ]
        .into_iter()
        .map(|(name, rtype, targets)| endpoint(&name, rtype, &targets))
        .collect()
    }

    fn name(&mut self, letters: usize, domain: &str) -> String {
        let word: String = (0..letters).map(|_| char::from(self.random.random_range(b'a'..=b'z'))).collect();
        format!("{word}.{domain}")
    }

    fn v4(&mut self) -> String {
        format!("192.0.2.{}", self.random.random_range(1..=253))
    }

    fn v6(&mut self) -> String {
        format!("2001:db8::{:x}:{:x}", self.random.random::<u16>(), self.random.random::<u16>())
    }
}

fn endpoint(name: &str, rtype: &str, targets: &[String]) -> Value {
    json!({
        "dnsName": name, "recordType": rtype, "targets": targets, "setIdentifier": "fake",
        "labels": {"resource": format!("fake/default/{name}")},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{FeedEvent, polled};
    use crate::index::Index;
    use crate::kind::Kind;
    use crate::options::{SourceKind, SourceOptions};

    #[test]
    fn one_good_endpoint_of_each_type() {
        let options = SourceOptions { sources: vec![SourceKind::Fake], ..SourceOptions::default() };
        let mut fake = Fake::new(&options.templates);
        let (first, second) = (fake.endpoints(), fake.endpoints());
        assert_eq!((first.len(), second.len()), (10, 10));
        assert_ne!(first, second);
        assert_eq!(Fake::new(&options.templates).endpoints(), first, "the same in each process");
        let mut index =
            Index::new(std::sync::Arc::new(options.clone()), &zonewright_core::source::SeenKinds::default());
        let events: Vec<FeedEvent> = polled::list(Kind::Fake, first, &options);
        for event in events {
            index.apply(event, tokio::time::Instant::now());
        }
        let mut types = Vec::new();
        for update in index.take(true).objects {
            let zonewright_core::source::ObjectState::Present(mapped) = update.state else { continue };
            assert_eq!(mapped.notes, [], "nothing is wrong with them");
            types.extend(mapped.endpoints.iter().map(|e| e.rtype.to_string()));
        }
        types.sort();
        assert_eq!(types, ["A", "AAAA", "CNAME", "DNAME", "MX", "NAPTR", "NS", "PTR", "SRV", "TXT"]);
    }
}
