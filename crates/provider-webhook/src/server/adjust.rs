//! POST /adjustendpoints: endpoints in the form in which they would be read back.
//!
//! In: what a caller wants. Out: the same in canonical spelling, as the provider publishes it (an alias in place of a host name, a
//! routing policy in place of its properties), lowered to what the zone can hold, without properties that the provider does not
//! know, and as the provider itself adjusts it. Asking again with the answer gives the answer. What
//! cannot be understood, or has no place here, comes back as it is: left out it would count as not wanted, and it is refused
//! with the reason when it comes to be written.

use std::collections::BTreeMap;

use zonewright_core::provider::Adjustment;
use zonewright_core::{RecordSet, Result};

use super::{Server, form};
use crate::wire::Endpoint;

/// One zone's share: the positions of the endpoints, and what they ask for.
#[derive(Debug, Default)]
struct Share {
    places: Vec<usize>,
    sets: Vec<RecordSet>,
}

impl Server {
    /// Adjusts endpoints.
    ///
    /// # Errors
    /// The zones are not known, or the provider does not answer.
    pub(super) async fn adjust(&self, asked: Vec<Endpoint>) -> Result<Vec<Endpoint>> {
        let zones = self.zones().await?;
        let mut shares: BTreeMap<usize, Share> = BTreeMap::new();
        let mut answers: Vec<(usize, Endpoint)> = Vec::with_capacity(asked.len());
        self.with_places(&zones, |places| {
            for (at, endpoint) in asked.iter().enumerate() {
                if let Ok((place, sets)) = places.adjustable(endpoint) {
                    let share = shares.entry(place).or_default();
                    share.places.extend(sets.iter().map(|_| at));
                    share.sets.extend(sets);
                } else {
                    answers.push((at, endpoint.clone()));
                }
            }
        });
        for (place, share) in shares {
            let Some(zone) = zones.get(place) else { continue };
            let adjusted = self.provider.adjust(zone, &share.sets).await;
            for (at, adjustment) in share.places.into_iter().zip(adjusted) {
                let Some(endpoint) = asked.get(at) else { continue };
                match adjustment {
                    Adjustment::As { sets, .. } => answers.extend(sets.iter().map(|set| (at, spelled(set, endpoint)))),
                    // It is refused with the reason when it comes to be written.
                    Adjustment::Refused(_) => answers.push((at, endpoint.clone())),
                    Adjustment::Unknown(error) => return Err(error),
                }
            }
        }
        answers.sort_by_key(|(at, _)| *at);
        Ok(answers.into_iter().map(|(_, endpoint)| endpoint).collect())
    }
}

/// A set as the protocol has it, with the labels that came with it.
fn spelled(set: &RecordSet, asked: &Endpoint) -> Endpoint {
    form::encode(set).map_or_else(|_| asked.clone(), |endpoint| endpoint.labelled(asked.labels.clone()))
}
