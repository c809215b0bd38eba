//! What a history begins with: the provider's kind, the zones, and who is there.

use std::time::Duration;

use zonewright_core::contend::SameName;
use zonewright_core::guard::Brake;
use zonewright_core::plan::Policy;

use crate::chance::{Chance, mix};
use crate::names::{AFFIXES, Affix};
use crate::profile::{Profile, profiles, reading};

/// Who shares the zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    /// One daemon.
    Solo,
    /// One daemon that keeps no claims.
    Claimless,
    /// Two processes of one daemon, on one cluster.
    Twins,
    /// Daemons of different owners, each with its cluster.
    Rivals(usize),
    /// Two clusters under one owner id: a misconfiguration.
    Namesakes,
    /// One daemon, and one more that only says what it would do.
    Shadowed,
}

/// Where claims are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Claims {
    /// In TXT records beside what they are for.
    #[default]
    Zones,
    /// In objects beside the daemon.
    Objects,
    /// In the rows of a table.
    Table,
}

/// The names of provider instances, by which objects choose.
pub(crate) const INSTANCES: [&str; 2] = ["sim", "twin"];

/// One daemon.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    pub(crate) owner: Option<&'static str>,
    pub(crate) cluster: usize,
    pub(crate) dry_run: bool,
}

/// What a history begins with.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a draw of its own")]
pub(crate) struct Setup {
    pub(crate) profile: Profile,
    pub(crate) zones: Vec<&'static str>,
    /// Whether each daemon has a second instance, with a twin of the first zone: of the same name, with other records.
    pub(crate) twins: bool,
    /// How many names a crowd of objects asks for from the beginning on, so that shares and floors bind.
    pub(crate) crowd: usize,
    pub(crate) claims: Claims,
    pub(crate) affix: Affix,
    /// Where claims are to stand after a restart with other settings (`--txt-former-prefix` and its kin).
    pub(crate) moves: Option<Affix>,
    pub(crate) company: Company,
    pub(crate) daemons: Vec<Daemon>,
    pub(crate) clusters: usize,
    /// Whether people give commands on claims, and undo.
    pub(crate) commands: bool,
    /// Whether objects, people and peers ask for records with set identifiers.
    pub(crate) set_ids: bool,
    /// Whether objects ask for texts too.
    pub(crate) texts: bool,
    pub(crate) peer: bool,
    /// Whether the peer adds and takes away single records without looking.
    pub(crate) blunt: bool,
    pub(crate) policy: Policy,
    pub(crate) same_name: SameName,
    pub(crate) brake: Brake,
    pub(crate) grace: Duration,
    pub(crate) interval: Duration,
}

/// What the caller narrows.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Only the provider of this name.
    pub profile: Option<String>,
    /// Only providers whose groups need several writes or whose reads lag, or only the others.
    pub staged: Option<bool>,
    /// Where claims are kept.
    pub claims: Claims,
}

impl Scope {
    /// Whether only some kinds of providers are played.
    pub fn is_narrow(&self) -> bool {
        self.profile.is_some() || self.staged.is_some()
    }
}

impl Setup {
    pub(crate) fn draw(chance: &mut Chance, scope: &Scope) -> Self {
        let fits = |profile: &Profile| {
            scope.profile.as_ref().is_none_or(|name| profile.name == name)
                && scope.staged.is_none_or(|staged| (profile.staged || !profile.lag.is_zero()) == staged)
        };
        let all: Vec<Profile> = profiles().into_iter().filter(fits).collect();
        let profile = match (all.is_empty(), reading()) {
            (true, Some(reading)) if fits(&reading) => reading,
            (true, _) => profiles().remove(0),
            (false, reading) => {
                let drawn = chance.pick(&all).clone();
                let instead = drawn.name == "additive"
                    && scope.profile.is_none()
                    && mix(chance.clone().next(), 1).is_multiple_of(2);
                reading.filter(|_| instead).unwrap_or(drawn)
            }
        };
        let company = chance.weigh(&[
            (42, Company::Solo),
            (5, Company::Claimless),
            (10, Company::Twins),
            (22, Company::Rivals(2)),
            (5, Company::Rivals(3)),
            (8, Company::Namesakes),
            (8, Company::Shadowed),
        ]);
        let daemon = |owner, cluster| Daemon { owner: Some(owner), cluster, dry_run: false };
        let daemons = match company {
            Company::Solo => vec![daemon("d0", 0)],
            Company::Claimless => vec![Daemon { owner: None, cluster: 0, dry_run: false }],
            Company::Twins => vec![daemon("d0", 0), daemon("d0", 0)],
            Company::Rivals(2) => vec![daemon("d0", 0), daemon("d1", 1)],
            Company::Rivals(_) => vec![daemon("d0", 0), daemon("d1", 1), daemon("d2", 2)],
            Company::Namesakes => vec![daemon("d0", 0), daemon("d0", 1)],
            Company::Shadowed => vec![daemon("d0", 0), Daemon { dry_run: true, ..daemon("d0", 0) }],
        };
        let zones: &[&str] = chance.weigh(&[
            (55, &["one.test"][..]),
            (25, &["one.test", "sub.one.test"]),
            (10, &["one.test", "two.test"]),
            (10, &["one.test", "two.test", "three.test"]),
        ]);
        // A peer without zones has one pseudo-zone.
        let zones = if profile.rootless { &zones[..1] } else { zones };
        // Of an owner's records in a table less is counted than of his texts, so the floor binds in more histories there.
        let small = if scope.claims == Claims::Table { 12 } else { 4 };
        let crowd = chance.weigh(&[(95 - small, 0), (small, 12), (5, 120)]);
        let brake = Brake {
            min_deletes: *chance.pick(&[1, 2, 4, 20]),
            percent: *chance.pick(&[10, 50]),
            process_min_deletes: *chance.pick(&[2, 4, 20]),
            process_percent: *chance.pick(&[10, 50]),
            window: Duration::from_mins(10),
            owner_floor: *chance.pick(&[0, 3, 10]),
            ..Brake::default()
        };
        let affix = if chance.percent(60) { AFFIXES[0] } else { *chance.pick(&AFFIXES) };
        let others: Vec<Affix> = AFFIXES.into_iter().filter(|other| *other != affix).collect();
        let moves = chance.percent(50).then(|| *chance.pick(&others));
        // Where sets can all have one kind of routing policy there is more to see, and few kinds of providers can.
        let may_route = profile.clone().with_set_ids().with_one_kind().capability.one_kind;
        let set_ids = chance.percent(if may_route { 50 } else { 25 });
        // Drawn apart, so that the other histories stay what they were.
        // A table knows records by name alone, and so cannot be used with several instances.
        let twins =
            !profile.rootless && scope.claims != Claims::Table && mix(chance.clone().next(), 2).is_multiple_of(8);
        let profile = if set_ids { profile.with_set_ids() } else { profile };
        let one_kind = set_ids && !mix(chance.clone().next(), 4).is_multiple_of(3);
        let profile = if one_kind { profile.with_one_kind() } else { profile };
        // What goes when sets change their kind is little, and binds only where little may go.
        let brake = if profile.capability.one_kind && mix(chance.clone().next(), 5).is_multiple_of(2) {
            Brake { min_deletes: 1, process_min_deletes: 1, ..brake }
        } else {
            brake
        };
        Self {
            set_ids,
            commands: chance.percent(25),
            texts: chance.percent(25),
            zones: zones.to_vec(),
            twins,
            crowd,
            affix,
            moves: None,
            clusters: daemons.iter().map(|daemon| daemon.cluster + 1).max().unwrap_or(1),
            peer: company != Company::Claimless && chance.percent(30),
            blunt: chance.percent(50),
            policy: chance.weigh(&[(80, Policy::Sync), (12, Policy::UpsertOnly), (8, Policy::CreateOnly)]),
            same_name: if chance.percent(80) { SameName::Holder } else { SameName::Union },
            brake,
            grace: Duration::from_mins(if chance.percent(50) { 1 } else { 5 }),
            interval: Duration::from_mins(if chance.percent(50) { 1 } else { 3 }),
            claims: scope.claims,
            profile,
            company,
            daemons,
        }
        .moving_to(moves)
    }

    /// Every zone: the instance that it is of, its id there, and its apex. A twin has the id that its brother has.
    pub(crate) fn places(&self) -> Vec<(usize, String, &'static str)> {
        let own = self.zones.iter().enumerate().map(|(at, apex)| (0, format!("z{at}"), *apex));
        let twin = self.zones.first().filter(|_| self.twins).map(|apex| (1, "z0".to_owned(), *apex));
        own.chain(twin).collect()
    }

    /// How many instances each daemon has.
    pub(crate) fn instances(&self) -> usize {
        if self.twins { 2 } else { 1 }
    }

    /// Lets claims move, where one owner alone reads them: whoever shares a zone has to know where claims stood.
    fn moving_to(self, moves: Option<Affix>) -> Self {
        let alone = matches!(self.company, Company::Solo | Company::Shadowed) && !self.peer;
        let fits = alone && self.claims == Claims::Zones && !self.commands && !self.texts;
        Self { moves: moves.filter(|_| fits), ..self }
    }
}

impl std::fmt::Display for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "Provider of kind {:?}; zones {}.", self.profile.name, self.zones.join(", "))?;
        for (at, daemon) in self.daemons.iter().enumerate() {
            let owner = daemon.owner.unwrap_or("nobody (registry noop)");
            let dry = if daemon.dry_run { ", dry run" } else { "" };
            writeln!(f, "Daemon {at}: owner {owner}, cluster {}{dry}.", daemon.cluster)?;
        }
        if self.twins {
            let [first, second] = INSTANCES;
            writeln!(f, "Each has two instances, {first} and {second}; {second} has a zone {} too.", self.zones[0])?;
        }
        if self.crowd > 0 {
            writeln!(f, "In cluster 0 a crowd of objects asks for {} names.", self.crowd)?;
        }
        let Affix { prefix, suffix } = self.affix;
        let claims = match self.claims {
            Claims::Zones => format!("with prefix {prefix:?} and suffix {suffix:?}"),
            Claims::Objects => "in objects beside the zones".to_owned(),
            Claims::Table => format!("in a table; as texts with prefix {prefix:?} and suffix {suffix:?}"),
        };
        if let Some(Affix { prefix, suffix }) = self.moves {
            writeln!(f, "With other flags they go to prefix {prefix:?} and suffix {suffix:?}, and back.")?;
        }
        writeln!(f, "Claims {claims}; policy {:?}; names shared by {:?}.", self.policy, self.same_name)?;
        writeln!(
            f,
            "Brake: {} deletes or {} % in 10 min, {} or {} % of all zones, floor {}; grace {} s; interval {} s.",
            self.brake.min_deletes,
            self.brake.percent,
            self.brake.process_min_deletes,
            self.brake.process_percent,
            self.brake.owner_floor,
            self.grace.as_secs(),
            self.interval.as_secs()
        )?;
        if self.set_ids {
            let there =
                if self.profile.capability.set_ids { "which the provider knows" } else { "which it does not know" };
            writeln!(f, "Some ask for records with set identifiers, {there}.")?;
            if self.profile.capability.one_kind {
                writeln!(f, "All sets of a name and type have one kind of routing policy.")?;
            }
        }
        if self.peer {
            let manner = if self.blunt { "adds and removes records without looking" } else { "writes all or nothing" };
            writeln!(f, "A peer, owner p, {manner}.")?;
        }
        Ok(())
    }
}
