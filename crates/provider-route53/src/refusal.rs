//! What became of the groups of a batch that failed.
//!
//! In: the failure, and the code and sentences of the service. Out: an outcome of each group. What must hold: a group is refused for
//! itself only where the service names a set of it; and a code that says that something is not there means the zone only where it is
//! the zone's.
//!
//! <https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeResourceRecordSets.html>

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_route53::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_route53::operation::change_resource_record_sets::ChangeResourceRecordSetsError as Refused;
use aws_sdk_route53::types::{CidrRoutingConfig, ResourceRecordSet};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use zonewright_aws::sentences;
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::error::Retry;
use zonewright_core::{Error, ErrorKind, RecordKey};
use zonewright_http::{Delivery, Failure};

use crate::apply::{APPLY, Wire, standing};
use crate::blame::{Named, is_conflict, is_misleading, named};

const REFUSED: &str = "InvalidChangeBatch";

/// What the service said of a batch, in either form that it has for that.
#[derive(Debug, Default)]
pub(crate) struct Said {
    code: String,
    sentences: Vec<String>,
}

impl Said {
    /// Reads an error of the service; nothing of what is none.
    pub(crate) fn of(error: &SdkError<Refused, HttpResponse>) -> Self {
        let SdkError::ServiceError(answer) = error else { return Self::default() };
        let message = answer.err().message().map(str::to_owned);
        let (code, said) = match answer.err() {
            Refused::InvalidChangeBatch(refused) => (REFUSED.to_owned(), refused.messages().to_vec()),
            other => match sentences(answer.raw()).filter(|(code, _)| code == REFUSED) {
                Some(said) => said,
                None => (other.code().unwrap_or_default().to_owned(), Vec::new()),
            },
        };
        let sentences = said.into_iter().chain(message).filter(|text| !text.is_empty()).collect();
        Self { code, sentences }
    }

    /// The sentences of a refused batch.
    fn of_batch(&self) -> &[String] {
        if self.code == REFUSED { &self.sentences } else { &[] }
    }

    /// The sentence that says that the zone may have no more sets.
    fn quota(&self) -> Option<&str> {
        self.of_batch().iter().map(String::as_str).find(|text| text.contains("MAX_RRSETS_BY_ZONE"))
    }

    /// Whether something that a set names is not there, such as a health check.
    fn lacks_a_reference(&self) -> bool {
        self.code.starts_with("NoSuch") && self.code != "NoSuchHostedZone"
    }
}

/// What became of the groups of a request that failed.
pub(crate) fn outcomes(failure: &Failure, said: &Said, groups: &[Group], part: &[(usize, Wire)]) -> Vec<Outcome> {
    let error = &failure.error;
    match failure.delivery {
        Delivery::NotSent => return part.iter().map(|_| Outcome::NotSent(error.clone())).collect(),
        Delivery::Unknown => return part.iter().map(|_| Outcome::Unknown(error.clone())).collect(),
        Delivery::Refused if said.lacks_a_reference() => return without_reference(error, said, part),
        Delivery::Refused => {}
    }
    let messages = said.of_batch();
    let mut guilty: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    // Where an object can write what a sentence says, none is believed: the offender is searched for.
    let doubted = part.iter().flat_map(|(_, wire)| wire.sets()).any(is_misleading);
    for message in messages.iter().filter(|_| !doubted) {
        for named in named(message) {
            let whose = part
                .iter()
                .map(|(at, _)| *at)
                .filter(|at| groups.get(*at).is_some_and(|group| concerns(group, &named)));
            whose.for_each(|at| guilty.entry(at).or_default().push(message));
        }
    }
    let full = said.quota().map(full);
    let too_many: BTreeSet<usize> = full.iter().flat_map(|_| without_room(part)).collect();
    let outcome = |(at, _): &(usize, Wire)| {
        if let Some(messages) = guilty.get(at) {
            let is_conflict = messages.iter().any(|text| is_conflict(text));
            let kind = if is_conflict { ErrorKind::Conflict } else { ErrorKind::Invalid };
            return Outcome::refused(Error::new(kind, APPLY, joined(messages)));
        }
        if let Some(full) = &full {
            let blame = if too_many.contains(at) { Blame::Group } else { Blame::Batch };
            return Outcome::Refused { error: full.clone(), blame };
        }
        let error = match messages.first() {
            // Where the sentence names nothing, all that it says may still be that something else stands there.
            Some(first) if is_conflict(first) && guilty.is_empty() => {
                Error::new(ErrorKind::Conflict, APPLY, error.context.clone())
            }
            _ => error.clone(),
        };
        Outcome::Refused { error, blame: Blame::Batch }
    };
    part.iter().map(outcome).collect()
}

/// Why a set that is to come has no room. Others may go.
fn full(sentence: &str) -> Error {
    let text = format!("the zone has as many record sets as its quota allows: {}", joined(&[sentence]));
    Error::new(ErrorKind::Invalid, APPLY, text).retry(Retry::Backoff)
}

/// The groups that are not sent again to a zone without room for all: of those that leave more sets than there were, all but the
/// first quarter. So the room that is left is found in a few calls, and what needs none soon goes alone.
fn without_room(part: &[(usize, Wire)]) -> impl Iterator<Item = usize> {
    let grows = |(_, wire): &&(usize, Wire)| wire.creates.len() > wire.deletes.len();
    let growing = part.iter().filter(grows);
    let again = match growing.clone().count() {
        0 | 1 => 0,
        more => more.div_ceil(4),
    };
    growing.skip(again).map(|(at, _)| *at)
}

/// A health check or the like is not there: the trouble of the sets that name it, though the answer looks like that of a zone which
/// is gone. It may be made later.
fn without_reference(error: &Error, said: &Said, part: &[(usize, Wire)]) -> Vec<Outcome> {
    let refused = |context: String| Error::new(ErrorKind::Invalid, APPLY, context).retry(Retry::Backoff);
    let ids: BTreeSet<&str> = part.iter().flat_map(|(_, wire)| wire.to()).flat_map(references).collect();
    let quoted: Vec<&str> =
        ids.into_iter().filter(|id| said.sentences.iter().any(|sentence| sentence.contains(id))).collect();
    // An id is what an object states: one that is a part of another is quoted with it.
    let is_named = |id: &str| {
        let longer = |other: &&str| other.len() > id.len() && other.contains(id);
        quoted.contains(&id) && !quoted.iter().any(longer)
    };
    let outcome = |(_, wire): &(usize, Wire)| {
        if wire.to().flat_map(references).any(is_named) {
            return Outcome::refused(refused(format!("{}: {}", said.code, said.sentences.join("; "))));
        }
        Outcome::Refused { error: refused(error.context.clone()), blame: Blame::Batch }
    };
    part.iter().map(outcome).collect()
}

/// The ids of what a set names besides its values.
fn references(set: &ResourceRecordSet) -> impl Iterator<Item = &str> {
    let collection = set.cidr_routing_config().map(CidrRoutingConfig::collection_id);
    set.health_check_id().into_iter().chain(collection)
}

fn joined(messages: &[&str]) -> String {
    let mut texts: Vec<&str> = messages.iter().map(|text| text.trim_matches(['[', ']'])).collect();
    texts.dedup();
    texts.join("; ")
}

/// Whether a group writes, or demands, the set that was named.
fn concerns(group: &Group, named: &Named) -> bool {
    let is = |key: &RecordKey| {
        key.name == named.name
            && named.rtype.is_none_or(|rtype| rtype == key.rtype)
            && named.set_id.as_deref().is_none_or(|id| key.set_id.as_ref().is_some_and(|of| of.as_str() == id))
    };
    group.changes().any(|change| is(change.key())) || standing(group).any(|set| is(&set.key))
}
