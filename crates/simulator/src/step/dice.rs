//! One step after another, drawn from the seed.

use zonewright_core::capability::RoutingSupport;
use zonewright_core::endpoint::ObjectPolicy;
use zonewright_core::plan::Policy;
use zonewright_core::rdata::Txt;
use zonewright_core::record::SetId;
use zonewright_core::{DnsName, RData, RecordKey, RecordType, Ttl};

use super::{Action, Command, Crowd, Flags, ManualEdit, Meanwhile, Pick, Step};
use crate::chance::Chance;
use crate::cluster::{Id, KINDS, Sees, Spec};
use crate::line::Mood;
use crate::names::{FORGED, TEXTS, data_of, name};
use crate::setup::{Company, Setup};

/// Draws steps for one setup.
pub(crate) struct Dice<'a> {
    pub(crate) chance: &'a mut Chance,
    pub(crate) setup: &'a Setup,
    names: Vec<DnsName>,
}

pub(crate) const OBJECTS: usize = 5;

impl<'a> Dice<'a> {
    pub(crate) fn new(chance: &'a mut Chance, setup: &'a Setup) -> Self {
        let count = 2 + chance.below(4);
        let mut names: Vec<DnsName> = (0..count).map(|n| name(&format!("n{n}.one.test"))).collect();
        if chance.percent(25) {
            names.push(name("*.one.test"));
        }
        if chance.percent(25) {
            names.push(name("one.test"));
        }
        for zone in setup.zones.iter().skip(1) {
            names.extend([name(zone), name(&format!("n0.{zone}"))]);
        }
        Self { chance, setup, names }
    }

    /// The steps of a history.
    pub(crate) fn steps(&mut self) -> Vec<Step> {
        let count = 6 + self.chance.below(34);
        let rough = *self.chance.pick(&[0, 15, 40]);
        let hasty = *self.chance.pick(&[0, 20, 50]);
        (0..count)
            .map(|_| Step {
                action: self.action(),
                hasty: self.chance.percent(hasty),
                rough: self.chance.percent(rough),
                nonce: self.chance.next(),
            })
            .collect()
    }

    fn cluster(&mut self) -> usize {
        self.chance.below(self.setup.clusters)
    }

    fn daemon(&mut self) -> usize {
        self.chance.below(self.setup.daemons.len())
    }

    fn id(&mut self) -> Id {
        Id { kind: usize::from(self.chance.percent(30)), number: self.chance.below(OBJECTS) }
    }

    /// A key that may be asked for: some with a set identifier, whether or not the provider knows such.
    fn asked_key(&mut self) -> RecordKey {
        let name = self.chance.pick(&self.names).clone();
        let rtype = self.chance.weigh(&[
            (56, RecordType::A),
            (15, RecordType::Aaaa),
            (23, RecordType::Cname),
            (3, RecordType::Mx),
            (3, RecordType::Srv),
        ]);
        let marked = self.setup.set_ids && self.chance.percent(50);
        let id: &&str = if marked { self.chance.pick(&["a", "b", "c"]) } else { &"" };
        let set_id = SetId::new(id);
        RecordKey { name, rtype, set_id }
    }

    /// A key that can be there.
    fn key(&mut self) -> RecordKey {
        let RecordKey { name, rtype, set_id } = self.asked_key();
        RecordKey { name, rtype, set_id: set_id.filter(|_| self.setup.profile.capability.set_ids) }
    }

    fn data(&mut self, rtype: RecordType, author: u8) -> RData {
        data_of(author, self.chance.below(4), rtype)
    }

    fn spec(&mut self) -> Spec {
        let mut spec = Spec::default();
        let count = self.chance.weigh(&[(5, 0), (60, 1), (25, 2), (10, 3)]);
        for _ in 0..count {
            let key = self.asked_key();
            if spec.wants.iter().any(|(other, _)| *other == key) {
                continue;
            }
            let members =
                if key.rtype == RecordType::Cname { 1 } else { self.chance.weigh(&[(75, 1), (20, 2), (5, 3)]) };
            let mut all: Vec<RData> = Vec::new();
            for _ in 0..members {
                let data = self.data(key.rtype, 1);
                if !all.contains(&data) {
                    all.push(data);
                }
            }
            spec.wants.push((key, all));
        }
        if self.setup.profile.capability.one_kind && self.chance.percent(25) {
            self.more_sets(&mut spec);
        }
        if self.setup.texts && self.chance.percent(35) {
            spec.wants.push(self.text());
        }
        if self.chance.percent(15) {
            spec.ttl = Ttl::from_secs(*self.chance.pick(&[5, 60, 600]));
        }
        let weighted = matches!(self.setup.profile.capability.routing, RoutingSupport::PerSet(_));
        if weighted && self.chance.percent(60) {
            spec.weight = Some(*self.chance.pick(&[0, 1, 20]));
        }
        if self.chance.percent(5) {
            spec.pending.push(self.chance.pick(&self.names).clone());
        }
        spec.unknown = self.chance.percent(3);
        if self.chance.percent(6) {
            spec.policy = Some(self.chance.pick(&ObjectPolicy::ALL).0);
        }
        spec.union = self.chance.percent(10);
        if self.setup.twins && self.chance.percent(60) {
            spec.choice = Some(self.chance.below(self.setup.instances()));
        }
        spec
    }

    /// Asks for the first record under every identifier.
    fn more_sets(&mut self, spec: &mut Spec) {
        let Some((first, _)) = spec.wants.first().cloned() else { return };
        for id in ["a", "b", "c"] {
            let key = RecordKey { set_id: SetId::new(id), ..first.clone() };
            if spec.wants.iter().all(|(other, _)| *other != key) {
                let data = self.data(key.rtype, 1);
                spec.wants.push((key, vec![data]));
            }
        }
    }

    /// A text of an object: a harmless one, or one that reads like a claim on a record, in one of the ways in which claims are
    /// read.
    fn text(&mut self) -> (RecordKey, Vec<RData>) {
        let n = self.chance.below(3);
        let plain = RecordKey::simple(name(&format!("{TEXTS}{n}.one.test")), RecordType::Txt);
        if self.chance.percent(50) {
            return (plain, vec![self.data(RecordType::Txt, 1)]);
        }
        let key = self.asked_key();
        let places = self.setup.affix.places(&key, &name("one.test"));
        let owner = *self.chance.pick(&["d0", "d1", "p"]);
        let claim = format!("heritage=external-dns,external-dns/owner={owner},external-dns/resource={FORGED}/ns/o{n}");
        let says = match self.chance.below(5) {
            0 => claim.to_uppercase(),
            1 => format!("  {claim}"),
            2 => format!("heritage=zonewright-intent,zonewright/record=00/A/n0.one.test,zonewright/claim={claim}"),
            _ => claim,
        };
        let place = places.first().map_or(plain, |(place, _)| place.clone());
        (place, vec![RData::Txt(Txt::from_text(&says))])
    }

    fn edit(&mut self) -> Action {
        let mut key = self.key();
        if self.chance.percent(12) {
            key.rtype = if self.chance.percent(50) { RecordType::Caa } else { RecordType::Txt };
        }
        let edit = match self.chance.below(100) {
            0..45 => ManualEdit::Write(self.data(key.rtype, 2)),
            45..55 => ManualEdit::Add(self.data(key.rtype, 2)),
            55..75 => ManualEdit::Remove,
            75..82 => ManualEdit::Disown,
            82..87 => ManualEdit::Age(self.chance.percent(30)),
            87..92 => ManualEdit::Assign(self.chance.weigh(&[(1, "stranger"), (1, "d0"), (1, "d1")])),
            92..93 => ManualEdit::Remark,
            93..94 => ManualEdit::Unlabel,
            94..97 => ManualEdit::Dispute,
            _ => ManualEdit::Scribble,
        };
        Action::Human(key, edit)
    }

    fn peer(&mut self) -> Action {
        match self.chance.below(10) {
            0..4 => {
                let key = self.key();
                let data = self.data(key.rtype, 3);
                Action::PeerRequest(key, Some(data))
            }
            4..5 => Action::PeerRequest(self.key(), None),
            5..7 => Action::PeerList,
            _ => Action::PeerApply,
        }
    }

    fn flags(&mut self) -> Flags {
        let kinds = self.chance.weigh(&[(70, [true, true]), (15, [true, false]), (15, [false, true])]);
        Flags {
            sees: Sees { kinds, prefix: self.chance.percent(75) },
            policy: self.chance.weigh(&[(75, Policy::Sync), (15, Policy::UpsertOnly), (10, Policy::CreateOnly)]),
            narrow: self.chance.percent(20),
            moved: self.setup.moves.is_some() && self.chance.percent(75),
        }
    }

    fn command(&mut self) -> Action {
        let name = self.chance.pick(&self.names).clone();
        let command = match self.chance.below(100) {
            0..20 => Command::Adopt,
            20..45 => Command::Transfer(name, self.chance.weigh(&[(1, "stranger"), (1, "d0"), (1, "d1")])),
            45..60 => Command::Release(name),
            60..75 => Command::Drain(name),
            _ => Command::Undo(*self.chance.pick(&[5, 60, 600])),
        };
        Action::Command(self.daemon(), command)
    }

    fn mood(&mut self) -> Mood {
        *self.chance.pick(&[Mood::Well, Mood::Full, Mood::Shut, Mood::Garbled])
    }

    fn pick(&mut self) -> Pick {
        let number = self.chance.below(8);
        self.chance.weigh(&[(70, Pick::One(number)), (22, Pick::Former(number)), (8, Pick::Wrong)])
    }

    /// In a crowd much is held, and somebody looks at it.
    fn crowd(&mut self) -> Action {
        let share = *self.chance.pick(&[8, 30, 60, 100]);
        match self.chance.below(100) {
            0..35 => Action::Crowd(Crowd::Vanish(share)),
            35..45 => Action::Crowd(Crowd::Delete(share)),
            45..65 => Action::Crowd(Crowd::Back),
            65..75 => Action::Crowd(Crowd::Move),
            _ => Action::Approve(self.daemon(), self.pick()),
        }
    }

    /// Where all sets of a name have one kind of routing policy, objects often change it, also while something is in doubt, and people
    /// put sets beside theirs, take some away, and write beside their claims.
    fn routing(&mut self) -> Action {
        let kind = self.chance.below(KINDS.len());
        let claimless = self.setup.company == Company::Claimless;
        match self.chance.below(100) {
            0..15 if !claimless => {
                let key = self.key();
                let edit = match self.chance.below(3) {
                    0 => ManualEdit::Write(self.data(key.rtype, 2)),
                    1 => ManualEdit::Remove,
                    _ => ManualEdit::Remark,
                };
                Action::Human(key, edit)
            }
            0..25 => Action::Join(self.cluster(), self.id(), self.id()),
            25..55 => {
                let heir = self.id();
                let meanwhile = self.chance.weigh(&[
                    (40, Meanwhile::Nothing),
                    (20, Meanwhile::Robbed),
                    (10, Meanwhile::Remarked),
                    (15, Meanwhile::Alone),
                    (15, Meanwhile::Succeeded(heir)),
                ]);
                let by_hand = matches!(meanwhile, Meanwhile::Robbed | Meanwhile::Remarked);
                let meanwhile = if claimless && by_hand { Meanwhile::Nothing } else { meanwhile };
                Action::Reweigh(self.cluster(), self.id(), meanwhile)
            }
            55..70 => Action::LoseWatch(self.cluster(), kind),
            70..80 => Action::Empty(self.cluster(), kind, false),
            _ => Action::Mend(self.cluster(), kind),
        }
    }

    fn action(&mut self) -> Action {
        let claimless = self.setup.company == Company::Claimless;
        if self.setup.crowd > 0 && self.chance.percent(25) {
            return self.crowd();
        }
        if self.setup.commands && self.chance.percent(12) {
            return self.command();
        }
        if self.setup.profile.capability.one_kind && self.chance.percent(30) {
            return self.routing();
        }
        let roll = self.chance.below(1000);
        match roll {
            // Where claims move there are more restarts with other flags.
            0..40 if self.setup.moves.is_some() => Action::Flags(self.daemon(), self.flags()),
            0..385 => Action::Put(self.cluster(), self.id(), self.spec()),
            385..400 => Action::Turn(self.cluster(), self.id()),
            400..430 => Action::Blank(self.cluster(), self.id()),
            430..510 => Action::Delete(self.cluster(), self.id()),
            510..550 => Action::Vanish(self.cluster(), self.id()),
            550..570 => Action::LoseWatch(self.cluster(), self.chance.below(KINDS.len())),
            570..590 => Action::Empty(self.cluster(), self.chance.below(KINDS.len()), self.chance.percent(50)),
            590..620 => Action::Mend(self.cluster(), self.chance.below(KINDS.len())),
            620..740 if !claimless => self.edit(),
            740..830 if self.setup.peer => self.peer(),
            830..850 => Action::Restart(self.daemon()),
            850..865 => Action::Crash(self.daemon()),
            865..875 => {
                let by = *self.chance.pick(&[-7_200, -60, 60, 7_200]);
                Action::Clock(self.daemon(), by)
            }
            875..890 => Action::Approve(self.daemon(), self.pick()),
            890..895 => Action::LoseZone(self.chance.below(self.setup.places().len())),
            895..905 => Action::Refuse(self.chance.pick(&self.names).clone()),
            905..911 => Action::Relent,
            911..917 => Action::RefuseType(*self.chance.pick(&[RecordType::Aaaa, RecordType::Aaaa, RecordType::Cname])),
            917..927 => Action::Flags(self.daemon(), self.flags()),

            927..940 => Action::State(self.daemon(), self.mood()),
            _ => Action::Wait(*self.chance.pick(&[1, 1, 5, 15, 40, 70, 200, 700])),
        }
    }
}
