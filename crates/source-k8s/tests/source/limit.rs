//! How many names one annotation gives (`--max-names-per-annotation`), and which.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use zonewright_core::DnsName;
use zonewright_core::endpoint::Mapped;
use zonewright_core::source::{ObjectState, Presence, PublishedNames, SeenKinds};
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::SourceOptions;

use crate::support::{apply, balancer, list, options};

/// What is published, as the test says.
#[derive(Default)]
struct Zone(Mutex<BTreeMap<String, Presence>>);

impl Zone {
    fn set(&self, names: &[(&str, Presence)]) {
        *self.0.lock().unwrap() = names.iter().map(|(name, presence)| ((*name).to_owned(), *presence)).collect();
    }
}

impl PublishedNames for Zone {
    fn presence(&self, name: &DnsName, resource: Option<&Arc<str>>) -> Presence {
        assert_eq!(resource.map(|label| &**label), Some("service/a/web"));
        self.0.lock().unwrap().get(name.as_str()).copied().unwrap_or(Presence::Free)
    }
}

fn index(limit: usize) -> Index {
    let options = SourceOptions { max_names_per_annotation: limit, ..options() };
    Index::new(Arc::new(options), &SeenKinds::default())
}

/// What the one object asks for now.
fn mapped(index: &mut Index) -> Mapped {
    index.take(false);
    let update = index.take(true).objects.remove(0);
    let ObjectState::Present(mapped) = update.state else { panic!("it is there") };
    Mapped::clone(&mapped)
}

fn names(mapped: &Mapped) -> Vec<&str> {
    mapped.endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect()
}

fn put(index: &mut Index, hosts: &str) {
    apply(index, [FeedEvent::Applied(balancer("a", "web", hosts, "192.0.2.1"))]);
}

#[test]
fn the_first_names_and_a_note_about_the_others() {
    for (limit, expected, reported) in [
        (2, &["a.test", "d.test"][..], true),
        (3, &["a.test", "c.test", "d.test"], false),
        (0, &["a.test", "c.test", "d.test"], false),
    ] {
        let mut index = index(limit);
        apply(&mut index, list(Kind::Service, [balancer("a", "web", "d.test,a.test,d.test,c.test", "192.0.2.1")]));
        let mapped = mapped(&mut index);
        assert_eq!(names(&mapped), expected, "{limit}");
        let notes: Vec<(&str, bool)> = mapped
            .notes
            .iter()
            .map(|n| {
                (
                    n.reason,
                    n.message.contains("3 names, at most 2") && n.message.contains("1 are left out, the first: c.test"),
                )
            })
            .collect();
        assert_eq!(notes, if reported { vec![("TooManyNames", true)] } else { Vec::new() }, "{:?}", mapped.notes);
    }
}

#[test]
fn what_is_published_comes_first_and_nothing_is_chosen_before_that_is_known() {
    use Presence::{Held, Unread};
    let (mut index, zone) = (index(2), Arc::new(Zone::default()));
    index.use_published(zone.clone());
    let all = ["a.test", "b.test", "c.test", "d.test"];
    zone.set(&all.map(|name| (name, Unread)));
    put(&mut index, &all.join(","));
    let unknown = mapped(&mut index);
    assert!(unknown.endpoints.is_empty() && unknown.notes.is_empty(), "{unknown:?}");
    assert_eq!(unknown.unknown[0].resource.as_deref(), Some("service/a/web"), "what it has published stays");
    zone.set(&[("d.test", Held)]);
    assert!(index.published_read() && index.is_dirty());
    let known = mapped(&mut index);
    assert_eq!(names(&known), ["a.test", "d.test"]);
    assert!(known.unknown.is_empty());
    // More than may be new, but all of it is published.
    zone.set(&all.map(|name| (name, Held)));
    put(&mut index, "e.test,a.test,b.test,c.test,d.test");
    assert_eq!(names(&mapped(&mut index)), all);
    // An object that no longer chooses is not mapped again.
    put(&mut index, "a.test");
    assert_eq!(names(&mapped(&mut index)), ["a.test"]);
    assert!(!index.published_read() && !index.is_dirty());
}

#[test]
fn what_becomes_known_while_it_is_mapped_counts() {
    let (mut index, zone) = (index(1), Arc::new(Zone::default()));
    index.use_published(zone.clone());
    zone.set(&[("a.test", Presence::Unread), ("b.test", Presence::Unread)]);
    put(&mut index, "a.test,b.test");
    let batch = index.begin().map();
    zone.set(&[("b.test", Presence::Held)]);
    assert!(index.published_read());
    index.finish(batch, false);
    assert_eq!(names(&mapped(&mut index)), ["b.test"]);
}
