//! Which wanted set each adjusted endpoint came from.
//!
//! In: the sets that were asked about, and what the peer made of them. Out: each answer with the position of its set.
//! An answer is matched by name, type and set identifier; where the peer changed the type (a CNAME that became an A),
//! by name and set identifier. A set without an answer is not wanted: the peer left it out.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::record::SetId;
use zonewright_core::{DnsName, RecordKey, RecordSet};

use crate::convert::{decode, plain};
use crate::once_log::OnceLog;
use crate::wire::Endpoint;

/// An answer, and the position of the set that it belongs to.
#[derive(Debug)]
pub(crate) struct Adjusted {
    pub(crate) from: usize,
    pub(crate) set: RecordSet,
}

/// Matches answers to what was asked, and logs what does not match.
pub(crate) fn matched(
    sets: &[RecordSet],
    asked: &[(usize, Endpoint)],
    answers: Vec<Endpoint>,
    log: &OnceLog,
) -> Vec<Adjusted> {
    let answers: Vec<(Endpoint, RecordSet)> = answers.into_iter().filter_map(|one| readable(one, log)).collect();
    let questions = Questions::of(sets, asked, &answers);
    let (mut out, mut seen, mut answered) = (Vec::with_capacity(answers.len()), BTreeSet::new(), BTreeSet::new());
    for (endpoint, set) in &answers {
        let Some((from, question)) = questions.find(&set.key) else {
            unasked(&set.key, log);
            continue;
        };
        answered.insert(*from);
        // The very same text is the very same set, also where the text says less than the set did.
        let unchanged = Endpoint { labels: question.labels.clone(), ..endpoint.clone() } == *question;
        let set = if unchanged { plain(&sets[*from]) } else { set.clone() };
        if seen.insert(set.key.clone()) {
            out.push(Adjusted { from: *from, set });
        } else {
            repeated(&set.key, log);
        }
    }
    asked.iter().filter(|(from, _)| !answered.contains(from)).for_each(|(from, _)| left_out(&sets[*from].key, log));
    out.sort_by_key(|one| one.from);
    out
}

/// What was asked, by what an answer can be matched by.
struct Questions<'a> {
    exact: BTreeMap<&'a RecordKey, &'a (usize, Endpoint)>,
    /// By name and set identifier; those that have no answer of their own type come first.
    beside: BTreeMap<(&'a DnsName, Option<&'a SetId>), &'a (usize, Endpoint)>,
}

impl<'a> Questions<'a> {
    fn of(sets: &'a [RecordSet], asked: &'a [(usize, Endpoint)], answers: &[(Endpoint, RecordSet)]) -> Self {
        let answered: BTreeSet<&RecordKey> = answers.iter().map(|(_, set)| &set.key).collect();
        let mut questions = Self { exact: BTreeMap::new(), beside: BTreeMap::new() };
        let (taken, open): (Vec<_>, Vec<_>) = asked.iter().partition(|(from, _)| answered.contains(&sets[*from].key));
        for question in open.into_iter().chain(taken) {
            let key = &sets[question.0].key;
            questions.exact.entry(key).or_insert(question);
            questions.beside.entry((&key.name, key.set_id.as_ref())).or_insert(question);
        }
        questions
    }

    /// The question that an answer of this key belongs to.
    fn find(&self, key: &RecordKey) -> Option<&'a (usize, Endpoint)> {
        self.exact.get(key).or_else(|| self.beside.get(&(&key.name, key.set_id.as_ref()))).copied()
    }
}

fn repeated(key: &RecordKey, log: &OnceLog) {
    log.once(
        &format!("{key} twice"),
        &format!("answered POST /adjustendpoints with {key} more than once"),
        "has each name, type and set identifier once",
        "the first one counts",
    );
}

fn readable(endpoint: Endpoint, log: &OnceLog) -> Option<(Endpoint, RecordSet)> {
    match decode(&endpoint, None) {
        Ok(set) => Some((endpoint, set)),
        Err(error) => {
            log.once(
                &format!("adjusted name {:?}", endpoint.name),
                &format!("answered POST /adjustendpoints with the name {:?}: {error}", endpoint.name),
                "has domain names",
                "this endpoint is left out",
            );
            None
        }
    }
}

fn unasked(key: &RecordKey, log: &OnceLog) {
    log.once(
        &format!("unasked {key}"),
        &format!("answered POST /adjustendpoints with {key}, whose name and set identifier nobody asked about"),
        "has the endpoints that were sent, changed as the provider needs them",
        "this endpoint is left out",
    );
}

fn left_out(key: &RecordKey, log: &OnceLog) {
    log.once(
        &format!("left out {key}"),
        &format!("left {key} out of its answer to POST /adjustendpoints"),
        "lets a provider leave out what it cannot hold",
        "what is published for it stays, and its object is told; the log of the provider may say why",
    );
}
