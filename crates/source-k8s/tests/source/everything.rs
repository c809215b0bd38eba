//! Invariant 9 with every source: after any events of any kinds, the incremental result equals mapping every object from
//! scratch, with templates and without.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use proptest::sample::Index as Any;
use serde_json::Value;
use tokio::time::Instant;
use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_core::source::SeenKinds;
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{Compatibility, SourceOptions};
use zonewright_source_k8s::store::{Keep, Object, ObjectKey};
use zonewright_source_k8s::templates::Templates;

use crate::support::{Engine, apply, list, unreadable};
use crate::things::{Thing, everything, subjects, surroundings};

/// Objects of every kind that lead to one another.
static THINGS: LazyLock<Vec<Thing>> = LazyLock::new(|| {
    let mut all = subjects(&everything(|_| ()));
    all.extend(surroundings());
    all
});

/// Every text that stands in them, and some that are nowhere: names of objects, hosts, addresses, words of the API.
static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut words: BTreeSet<String> = ["", "gone", "n.example.org", "9.9.9.9"].map(str::to_owned).into();
    THINGS.iter().for_each(|thing| gather(&thing.body, &mut words));
    words.into_iter().collect()
});

fn gather(tree: &Value, words: &mut BTreeSet<String>) {
    match tree {
        Value::String(text) => drop(words.insert(text.clone())),
        Value::Array(list) => list.iter().for_each(|value| gather(value, words)),
        Value::Object(map) => map.values().for_each(|value| gather(value, words)),
        _ => {}
    }
}

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    /// One of the things, with some of its texts, numbers and switches changed.
    Put(Any, Vec<(Any, Any)>),
    Delete(Any),
    Vanish(Any),
    Unreadable(Any),
    /// An object goes, and comes back under its name as one that cannot be read.
    Spoil(Any),
    /// A list of the kind of a thing, that misses every n-th object.
    Relist(Any, usize),
    /// A list that breaks off: the one that follows is another.
    BreakOff(Any),
    /// The watch of the kind of a thing is lost, or comes back.
    Lost(Any),
    Open(Any),
    Take {
        everything: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let any = any::<Any>;
    prop_oneof![
        12 => (any(), prop::collection::vec((any(), any()), 0..3)).prop_map(|(thing, changes)| Step::Put(thing, changes)),
        3 => any().prop_map(Step::Delete),
        1 => any().prop_map(Step::Vanish),
        1 => any().prop_map(Step::Unreadable),
        1 => any().prop_map(Step::Spoil),
        2 => (any(), 1..4_usize).prop_map(|(thing, skip)| Step::Relist(thing, skip)),
        1 => any().prop_map(Step::BreakOff),
        1 => any().prop_map(Step::Lost),
        1 => any().prop_map(Step::Open),
        3 => prop::bool::weighted(0.2).prop_map(|everything| Step::Take { everything }),
    ]
}

/// The cluster as it really is, and what it reports.
struct Truth {
    objects: BTreeMap<ObjectKey, Object>,
    spoilt: BTreeSet<ObjectKey>,
    /// Objects that could be read before, and cannot be now.
    stale: BTreeSet<ObjectKey>,
    keep: Keep,
}

impl Truth {
    fn events(&mut self, step: &Step) -> Vec<FeedEvent> {
        match step {
            Step::Put(thing, changes) => self.put(&changed(thing.get(&THINGS), changes)).into_iter().collect(),
            Step::Delete(at) => self.drop_one(*at).into_iter().map(FeedEvent::Deleted).collect(),
            Step::Vanish(at) => self.drop_one(*at).map(|key| FeedEvent::Removed(vec![key])).into_iter().collect(),
            Step::Unreadable(at) => {
                let key = self.key(*at);
                self.stale.extend(key.clone());
                key.map(unreadable).into_iter().collect()
            }
            Step::Spoil(at) => self.spoil(*at),
            Step::Relist(thing, skip) => self.relist(thing.get(&THINGS).kind, *skip),
            Step::BreakOff(thing) => {
                let kind = thing.get(&THINGS).kind;
                let mut events = self.list(kind);
                events.pop();
                events
            }
            Step::Lost(thing) => vec![FeedEvent::Lost(thing.get(&THINGS).kind, Instant::now())],
            Step::Open(thing) => vec![FeedEvent::Open(thing.get(&THINGS).kind)],
            Step::Take { .. } => Vec::new(),
        }
    }

    /// An object of another shape than the API gives it is none that a cluster can hold.
    fn put(&mut self, thing: &Thing) -> Option<FeedEvent> {
        let object = thing.object(&self.keep)?;
        self.objects.insert(object.key(), object.clone());
        self.spoilt.remove(&object.key());
        self.stale.remove(&object.key());
        Some(FeedEvent::Applied(object))
    }

    fn relist(&mut self, kind: Kind, skip: usize) -> Vec<FeedEvent> {
        let keys: Vec<ObjectKey> = self.of_kind(kind).iter().map(Object::key).collect();
        keys.iter().step_by(skip + 1).for_each(|key| drop(self.objects.remove(key)));
        self.list(kind)
    }

    fn spoil(&mut self, at: Any) -> Vec<FeedEvent> {
        let Some(key) = self.drop_one(at) else { return Vec::new() };
        self.spoilt.insert(key.clone());
        vec![FeedEvent::Deleted(key.clone()), unreadable(key)]
    }

    fn list(&mut self, kind: Kind) -> Vec<FeedEvent> {
        self.stale.retain(|key| key.kind != kind);
        let mut events = list(kind, self.of_kind(kind));
        let spoilt = self.spoilt.iter().filter(|key| key.kind == kind).cloned().map(unreadable);
        events.splice(1..1, spoilt);
        events
    }

    fn of_kind(&self, kind: Kind) -> Vec<Object> {
        self.objects.values().filter(|object| object.kind() == kind).cloned().collect()
    }

    fn key(&self, at: Any) -> Option<ObjectKey> {
        self.objects.keys().nth(at.index(self.objects.len().max(1))).cloned()
    }

    fn drop_one(&mut self, at: Any) -> Option<ObjectKey> {
        let key = self.key(at)?;
        self.objects.remove(&key);
        self.stale.remove(&key);
        Some(key)
    }
}

/// The thing with other words in some places.
fn changed(thing: &Thing, changes: &[(Any, Any)]) -> Thing {
    let mut thing = thing.clone();
    for (place, word) in changes {
        let mut leaves = Vec::new();
        collect(&mut thing.body, &mut leaves);
        if !leaves.is_empty() {
            let at = place.index(leaves.len());
            turn(leaves.swap_remove(at), *word);
        }
    }
    thing
}

fn collect<'v>(tree: &'v mut Value, leaves: &mut Vec<&'v mut Value>) {
    match tree {
        Value::Array(list) => list.iter_mut().for_each(|value| collect(value, leaves)),
        Value::Object(map) => map.values_mut().for_each(|value| collect(value, leaves)),
        leaf => leaves.push(leaf),
    }
}

/// Another value of the same type.
fn turn(leaf: &mut Value, word: Any) {
    *leaf = match &*leaf {
        Value::String(_) => word.get(&WORDS).clone().into(),
        Value::Bool(on) => (!on).into(),
        Value::Number(_) => word.index(100).into(),
        other => other.clone(),
    };
}

/// Options with every source: plain, with templates that add, and with templates that stand in.
fn all_options() -> [SourceOptions; 3] {
    let template = |texts: [&str; 3], combine: bool| {
        let mut settings = Settings::default();
        for (flag, text) in ["fqdn-template", "target-template", "fqdn-target-template"].into_iter().zip(texts) {
            let texts = Some(text.to_owned()).filter(|text| !text.is_empty());
            settings.set(flag, FlagValue::List(texts.into_iter().collect()), true);
        }
        everything(|options| {
            options.templates = Templates::from_settings(&settings).expect("templates");
            options.combine_fqdn_annotation = combine;
            options.compatibility = Compatibility::KopsDnsController;
        })
    };
    [
        template(["", "", ""], false),
        template(
            ["{{.Name}}.t.example.org", "9.9.9.9", "{{index .Labels \"app\"}}.p.example.org:{{.Name}}.x.org"],
            true,
        ),
        template(["{{.Name}}.{{.Namespace}}.t.example.org", "", ""], false),
    ]
}

static OPTIONS: LazyLock<[Arc<SourceOptions>; 3]> = LazyLock::new(|| all_options().map(Arc::new));

fn index(options: &Arc<SourceOptions>) -> Index {
    Index::new(Arc::clone(options), &SeenKinds::default())
}

/// A sample in the test command; many in the soak.
fn cases() -> u32 {
    if std::env::var_os("ZONEWRIGHT_SOAK").is_some() { 20_000 } else { 200 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soak_incremental_equals_from_scratch_with_every_source(
        which in any::<Any>(),
        steps in prop::collection::vec(step(), 1..100),
        little in any::<bool>(),
    ) {
        let options = which.get(&*OPTIONS);
        let mut truth = Truth { objects: BTreeMap::new(), spoilt: BTreeSet::new(), stale: BTreeSet::new(), keep: options.keep() };
        let live = index(options);
        let (mut live, mut engine) = (if little { live.keeping_little() } else { live }, Engine::default());
        for step in &steps {
            apply(&mut live, truth.events(step));
            if let Step::Take { everything } = step {
                engine.take(live.take(*everything));
            }
        }
        engine.take(live.take(false));

        let (mut fresh, mut scratch) = (index(options), Engine::default());
        apply(&mut fresh, truth.objects.into_values().map(FeedEvent::Applied));
        apply(&mut fresh, truth.spoilt.into_iter().chain(truth.stale).map(unreadable));
        scratch.take(fresh.take(true));
        prop_assert_eq!(engine.asking(), scratch.asking());

        let mut snapshot = Engine::default();
        snapshot.take(live.take(true));
        prop_assert_eq!(snapshot, engine);
    }
}

/// Else the test above would show little: with all things there, every source asks for something.
#[test]
fn every_source_has_its_say() {
    for options in OPTIONS.iter() {
        let keep = options.keep();
        let (mut index, mut engine) = (index(options), Engine::default());
        apply(&mut index, THINGS.iter().filter_map(|thing| thing.object(&keep)).map(FeedEvent::Applied));
        engine.take(index.take(true));
        let asking: BTreeSet<String> = engine.asking().into_keys().map(|(source, _)| source.to_string()).collect();
        let roles = zonewright_source_k8s::sources::roles(options);
        let all: BTreeSet<String> = roles.iter().map(|role| role.source.as_str().to_owned()).collect();
        assert_eq!(asking, all);
    }
}
