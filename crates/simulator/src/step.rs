//! What happens: one step of somebody, drawn from the seed, and told in a sentence.

use std::fmt;

use zonewright_core::endpoint::ObjectPolicy;
use zonewright_core::{DnsName, RData, RecordKey, RecordType, Ttl};

use crate::chance::Chance;
use crate::cluster::{Id, KINDS, Spec};
use crate::names::{data, name};
use crate::setup::{Company, Setup};

/// What a human does to one record or to what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Puts a record there, or another one in its place.
    Write(RData),
    /// Adds a member to it.
    Add(RData),
    /// Takes it away.
    Remove,
    /// Takes its claim away.
    Disown,
    /// Writes another owner into its claim.
    Assign(&'static str),
    /// Adds a text beside its claim.
    Remark,
    /// Adds a stranger's claim beside it.
    Dispute,
    /// Damages its claim.
    Scribble,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Put(usize, Id, Spec),
    Blank(usize, Id),
    Delete(usize, Id),
    Vanish(usize, Id),
    LoseWatch(usize, usize),
    Empty(usize, usize, bool),
    Mend(usize, usize),
    Human(RecordKey, Deed),
    PeerWish(RecordKey, Option<RData>),
    PeerList,
    PeerApply,
    Restart(usize),
    Crash(usize),
    Clock(usize, i64),
    Approve(usize),
    LoseZone(usize),
    Refuse(DnsName),
    Relent,
    Wait(u64),
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// Whether the next step comes before the daemons are at rest.
    pub(crate) hasty: bool,
    /// Whether calls may fail.
    pub(crate) rough: bool,
    /// What faults and pauses are drawn from.
    pub(crate) nonce: u64,
}

/// Draws steps for one setup.
pub(crate) struct Dice<'a> {
    pub(crate) chance: &'a mut Chance,
    pub(crate) setup: &'a Setup,
    names: Vec<DnsName>,
}

const OBJECTS: usize = 5;

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
        if setup.zones.len() > 1 {
            names.extend(["sub.one.test", "n0.sub.one.test"].map(name));
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

    fn key(&mut self) -> RecordKey {
        let name = self.chance.pick(&self.names).clone();
        let rtype = self.chance.weigh(&[(60, RecordType::A), (15, RecordType::Aaaa), (25, RecordType::Cname)]);
        RecordKey::simple(name, rtype)
    }

    /// Data that tells who wrote it: 1 for objects, 2 for humans, 3 for the peer.
    fn data(&mut self, rtype: RecordType, author: u8) -> RData {
        let n = self.chance.below(4);
        match rtype {
            RecordType::A => data(rtype, &format!("192.0.{author}.{n}")),
            RecordType::Aaaa => data(rtype, &format!("2001:db8:{author}::{n}")),
            RecordType::Cname => data(rtype, &format!("t{n}.author{author}.test")),
            RecordType::Mx => data(rtype, &format!("{n} mail.author{author}.test")),
            _ => data(RecordType::Txt, &format!("\"text {n} of {author}\"")),
        }
    }

    fn spec(&mut self) -> Spec {
        let mut spec = Spec::default();
        let count = self.chance.weigh(&[(5, 0), (60, 1), (25, 2), (10, 3)]);
        for _ in 0..count {
            let key = self.key();
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
        if self.chance.percent(15) {
            spec.ttl = Ttl::from_secs(*self.chance.pick(&[5, 60, 600]));
        }
        if self.chance.percent(5) {
            spec.pending.push(self.chance.pick(&self.names).clone());
        }
        spec.unknown = self.chance.percent(3);
        if self.chance.percent(6) {
            spec.policy = Some(self.chance.pick(&ObjectPolicy::ALL).0);
        }
        spec.union = self.chance.percent(10);
        spec
    }

    fn deed(&mut self) -> Action {
        let mut key = self.key();
        if self.chance.percent(12) {
            key.rtype = if self.chance.percent(50) { RecordType::Mx } else { RecordType::Txt };
        }
        let deed = match self.chance.below(100) {
            0..45 => Deed::Write(self.data(key.rtype, 2)),
            45..55 => Deed::Add(self.data(key.rtype, 2)),
            55..75 => Deed::Remove,
            75..82 => Deed::Disown,
            82..92 => Deed::Assign(self.chance.weigh(&[(1, "stranger"), (1, "d0"), (1, "d1")])),
            92..94 => Deed::Remark,
            94..97 => Deed::Dispute,
            _ => Deed::Scribble,
        };
        Action::Human(key, deed)
    }

    fn peer(&mut self) -> Action {
        match self.chance.below(10) {
            0..4 => {
                let key = self.key();
                let data = self.data(key.rtype, 3);
                Action::PeerWish(key, Some(data))
            }
            4..5 => Action::PeerWish(self.key(), None),
            5..7 => Action::PeerList,
            _ => Action::PeerApply,
        }
    }

    fn action(&mut self) -> Action {
        let claimless = self.setup.company == Company::Claimless;
        let roll = self.chance.below(1000);
        match roll {
            0..400 => Action::Put(self.cluster(), self.id(), self.spec()),
            400..430 => Action::Blank(self.cluster(), self.id()),
            430..510 => Action::Delete(self.cluster(), self.id()),
            510..550 => Action::Vanish(self.cluster(), self.id()),
            550..570 => Action::LoseWatch(self.cluster(), self.chance.below(KINDS.len())),
            570..590 => Action::Empty(self.cluster(), self.chance.below(KINDS.len()), self.chance.percent(50)),
            590..620 => Action::Mend(self.cluster(), self.chance.below(KINDS.len())),
            620..740 if !claimless => self.deed(),
            740..830 if self.setup.peer => self.peer(),
            830..850 => Action::Restart(self.daemon()),
            850..865 => Action::Crash(self.daemon()),
            865..875 => {
                let by = *self.chance.pick(&[-7_200, -60, 60, 7_200]);
                Action::Clock(self.daemon(), by)
            }
            875..890 => Action::Approve(self.daemon()),
            890..895 => Action::LoseZone(self.chance.below(2)),
            895..905 => Action::Refuse(self.chance.pick(&self.names).clone()),
            905..912 => Action::Relent,
            _ => Action::Wait(*self.chance.pick(&[1, 1, 5, 15, 40, 70, 200, 700])),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(cluster, id, spec) => write!(f, "In cluster {cluster}, {id} asks for {spec}."),
            Self::Blank(cluster, id) => write!(f, "In cluster {cluster}, {id} loses its addresses."),
            Self::Delete(cluster, id) => write!(f, "In cluster {cluster}, {id} is deleted."),
            Self::Vanish(cluster, id) => write!(f, "In cluster {cluster}, {id} is gone from a new list."),
            Self::LoseWatch(cluster, kind) => write!(f, "Cluster {cluster}: the watch of {} is lost.", KINDS[*kind].1),
            Self::Empty(cluster, kind, lies) => {
                let doubt = if *lies { "as if that were all" } else { "and it is in doubt" };
                write!(f, "Cluster {cluster}: a list of {} comes back empty, {doubt}.", KINDS[*kind].1)
            }
            Self::Mend(cluster, kind) => {
                write!(f, "Cluster {cluster}: {} are listed and watched again.", KINDS[*kind].1)
            }
            Self::Human(key, deed) => match deed {
                Deed::Write(data) => write!(f, "A human makes {key} hold {data}."),
                Deed::Add(data) => write!(f, "A human adds {data} to {key}."),
                Deed::Remove => write!(f, "A human takes {key} away."),
                Deed::Disown => write!(f, "A human takes the claim on {key} away."),
                Deed::Assign(owner) => write!(f, "A human makes the claim on {key} one of {owner}."),
                Deed::Dispute => write!(f, "A human adds a stranger's claim beside that on {key}."),
                Deed::Remark => write!(f, "A human adds a text beside the claim on {key}."),
                Deed::Scribble => write!(f, "A human damages the claim on {key}."),
            },
            Self::PeerWish(key, Some(data)) => write!(f, "The peer is asked for {key} {data}."),
            Self::PeerWish(key, None) => write!(f, "The peer is not asked for {key} any more."),
            Self::PeerList => write!(f, "The peer lists the zones."),
            Self::PeerApply => write!(f, "The peer writes what it planned from its last list."),
            Self::Restart(daemon) => write!(f, "Daemon {daemon} is restarted."),
            Self::Crash(daemon) => write!(f, "Daemon {daemon} dies and is started again."),
            Self::Clock(daemon, by) => write!(f, "The clock of daemon {daemon} jumps by {by} s; it is started again."),
            Self::Approve(daemon) => write!(f, "Somebody approves what daemon {daemon} holds."),
            Self::LoseZone(zone) => write!(f, "The list of zones leaves out number {zone}."),
            Self::Refuse(name) => write!(f, "The provider refuses {name} from now on."),
            Self::Relent => write!(f, "The provider refuses no name any more, and lists all zones."),
            Self::Wait(seconds) => write!(f, "{seconds} s pass."),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.action.fmt(f)?;
        if self.rough {
            f.write_str(" Calls may fail.")?;
        }
        if self.hasty {
            f.write_str(" Nobody waits.")?;
        }
        Ok(())
    }
}
