//! The form in which the provider would read back what is wanted.
//!
//! In: drafts of names. Out: the same, adjusted by the provider, each set for itself. What must hold: a set that is refused, or of
//! which nothing is known now, is its own affair; a name with one of the latter is left as it is, deletes included.

use std::sync::Arc;

use zonewright_core::capability::RoutingSupport;
use zonewright_core::contend::Wanted;
use zonewright_core::endpoint::Note;
use zonewright_core::error::{Error, Result};
use zonewright_core::name::DnsName;
use zonewright_core::options::{LABEL_PREFIX, OptionValue};
use zonewright_core::plan::Placed;
use zonewright_core::provider::{Adjustment, Provider};
use zonewright_core::record::RecordSet;
use zonewright_core::zone::Zone;

/// What a name shall hold, before the provider adjusted it.
pub(crate) struct Draft {
    pub(crate) name: DnsName,
    pub(crate) sets: Vec<(RecordSet, Arc<Wanted>)>,
}

/// What the provider made of drafts.
#[derive(Default)]
pub(crate) struct AdjustedDrafts {
    /// Names with what they shall hold.
    pub(crate) placed: Vec<(DnsName, Vec<Placed>)>,
    /// What it cannot publish.
    pub(crate) refused: Vec<Arc<Wanted>>,
    /// Names of which it is not known now.
    pub(crate) unknown: Vec<(DnsName, Error)>,
    /// What objects should know.
    pub(crate) notes: Vec<Note>,
}

/// Asks the provider; `labelled` says that the request names the object that asks, as external-dns does.
///
/// # Errors
/// Nothing of it is known: the provider does not answer.
pub(crate) async fn adjust(
    provider: &dyn Provider,
    zone: &Zone,
    drafts: Vec<Draft>,
    labelled: bool,
) -> Result<AdjustedDrafts> {
    let sets: Vec<RecordSet> = drafts
        .iter()
        .flat_map(|draft| &draft.sets)
        .map(|(set, wanted)| {
            let mut set = set.clone();
            if labelled {
                label(&mut set, wanted);
            }
            set
        })
        .collect();
    let answers = if sets.is_empty() { Vec::new() } else { provider.adjust(zone, &sets).await };
    if let Some(error) = all_unknown(&answers) {
        return Err(error);
    }
    let in_set = matches!(provider.capability(Some(zone)).routing, RoutingSupport::InSet(_));
    let mut answers = answers.into_iter();
    let mut out = AdjustedDrafts::default();
    for Draft { name, sets } in drafts {
        let (mut placed, mut unknown) = (Vec::new(), None);
        for (_, wanted) in sets {
            let object = &wanted.origin.object;
            match answers.next() {
                Some(Adjustment::As { sets, notes }) => {
                    let note =
                        |text: String| Note::warning(object, "RecordAdjusted", format!("{}: {text}", wanted.key));
                    out.notes.extend(notes.into_iter().map(note));
                    placed.extend(sets.into_iter().map(|mut set| {
                        set.options.drop_labels();
                        Placed { set, wanted: wanted.clone(), in_set }
                    }));
                }
                Some(Adjustment::Refused(why)) => {
                    let text = format!("{}: the provider cannot publish it: {why}", wanted.key);
                    out.notes.push(Note::warning(object, "RecordUnsupported", text));
                    out.refused.push(wanted);
                }
                Some(Adjustment::Unknown(error)) => unknown = unknown.or(Some(error)),
                None => unknown = unknown.or_else(|| Some(no_answer())),
            }
        }
        match unknown {
            Some(error) => out.unknown.push((name, error)),
            None => out.placed.push((name, placed)),
        }
    }
    Ok(out)
}

fn no_answer() -> Error {
    Error::new(zonewright_core::ErrorKind::Protocol, "adjust records", "the provider gave no answer for a set")
}

/// The error of the first set, where nothing is known of any.
fn all_unknown(answers: &[Adjustment]) -> Option<Error> {
    let error = |answer: &Adjustment| match answer {
        Adjustment::Unknown(error) => Some(error.clone()),
        Adjustment::As { .. } | Adjustment::Refused(_) => None,
    };
    answers.iter().all(|answer| error(answer).is_some()).then(|| error(answers.first()?)).flatten()
}

/// The labels of the object that asks, as a peer of the webhook protocol is given them.
fn label(set: &mut RecordSet, wanted: &Wanted) {
    let labels = wanted.labels.iter().map(|(key, value)| (&**key, value));
    for (key, value) in labels.chain(wanted.resource.iter().map(|resource| ("resource", resource))) {
        set.options.set(&format!("{LABEL_PREFIX}{key}"), OptionValue::Text(value.clone()));
    }
}
