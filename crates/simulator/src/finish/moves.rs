//! Where claims stand in the end after they were moved.
//!
//! In: the flags of the last start. Out: a broken rule for each record of ours whose claim stands at a former place, or at none.

use zonewright_core::plan::Policy;
use zonewright_core::{RData, RecordKey};

use crate::names::{Affix, Saying, saying};
use crate::rules::Rule;
use crate::truth::Right;
use crate::world::World;

impl World {
    /// Where the flags of the last start put claims elsewhere than former ones, each of ours stands there and at no former place.
    pub(super) fn moved(&self) {
        for (daemon, party) in self.setup.daemons.iter().enumerate() {
            let ((today, Some(former)), Some(owner)) = (self.affixes(daemon), party.owner) else { continue };
            if party.dry_run {
                continue;
            }
            for (zone, set) in self.records() {
                let inside = self.truth().parties[daemon].may_touch(&set.key.name);
                if inside && !self.is_broken() && self.is_ours(daemon, zone, &set.key) {
                    self.claim_moved(daemon, owner, (zone, &set.key), (today, former));
                }
            }
        }
    }

    fn claim_moved(
        &self,
        daemon: usize,
        owner: &str,
        (zone, key): (usize, &RecordKey),
        (today, former): (Affix, Affix),
    ) {
        let mut truth = self.truth();
        let content = &truth.zones[zone];
        let typed = |affix: Affix| -> Vec<RecordKey> {
            let places = affix.places(key, &content.zone.name).into_iter();
            places.filter(|(_, typed)| *typed).map(|(place, _)| place).collect()
        };
        let is_our_claim = |data: &RData| matches!(saying(data), Saying::Claim { owner: by, .. } if by == owner);
        let claims = |place: &RecordKey| {
            content.sets.get(place).is_some_and(|set| set.data.as_records().iter().any(is_our_claim))
        };
        let places = typed(today);
        let Some(home) = places.first() else { return };
        let left = typed(former).into_iter().find(|place| !places.contains(place) && claims(place));
        let stands = claims(home);
        // Something else stands where it belongs, or nothing may be changed that stands, by the flags or by an object.
        let hindered = !stands && content.sets.keys().any(|other| other.name == home.name)
            || self.flags(daemon).policy == Policy::CreateOnly
            || self.sight(daemon).asks(&key.name).iter().any(|ask| ask.has_policy);
        let kept = matches!(truth.right(zone, key), Right::One { policy: Some(policy), .. } if policy == "create-only");
        let hindered = hindered || kept;
        let moved = stands && left.is_none();
        truth.verdicts.note(Rule::Moved, moved || !hindered);
        if !moved && !hindered {
            let left = left.map_or_else(|| "nowhere else".to_owned(), |left| format!("at {left}"));
            let text = format!("daemon {daemon}: the claim on {key} belongs at {home} ({stands}), and is {left}");
            truth.broken(Rule::Moved, text);
        }
    }
}
