//! A history as it runs: the actors on one virtual clock.

mod approve;
mod command;
mod crowd;
mod human;
mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use zonewright_core::filter::DomainFilter;
use zonewright_core::plan::Policy;
use zonewright_core::zone::{InstanceId, Zone};
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType};
use zonewright_engine::Outcome;

use crate::cluster::Cluster;
use crate::line::{Mood, Weather, lock};
use crate::names::{is_forged, is_record, name, speaks};
use crate::peer::Peer;
use crate::rules::Rule;
use crate::setup::{Claims, INSTANCES, Setup};
use crate::step::{Action, Crowd, Flags, ManualEdit, Meanwhile, Step};
use crate::truth::{Content, Objects, Party, Right, Truth};

use self::process::Seat;

/// Everything together.
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) truth: Arc<Mutex<Truth>>,
    pub(crate) clusters: Vec<Arc<Cluster>>,
    weather: Arc<Mutex<Weather>>,
    seats: Vec<Seat>,
    peer: Peer,
    begun: Instant,
    /// Whether the last step ended with everybody at rest.
    rested: bool,
    /// Hashes of plans that were held at some time, by daemon.
    hashes: BTreeSet<(usize, String)>,
    seed: u64,
}

/// Whether a daemon that calls itself at rest may have a plan on its way: a zone that fails counts as done, also while the next
/// attempt is being made.
fn is_under_way(outcome: &Outcome) -> bool {
    outcome.unread.iter().chain(&outcome.unwritten).any(|problem| problem.what.starts_with("zone "))
}

/// An instance by its place in [`INSTANCES`].
fn instance(at: usize) -> InstanceId {
    InstanceId::from(INSTANCES[at])
}

impl World {
    pub(crate) fn new(setup: &Setup, seed: u64, tell: bool) -> Self {
        let zones = if setup.profile.rootless {
            let filter = DomainFilter::plain(&["one.test".to_owned()], &[]);
            vec![Zone { filter, ..Zone::new(&instance(0), "z0", DnsName::root()) }]
        } else {
            let zone = |(at, id, apex): (usize, String, &str)| Zone::new(&instance(at), &id, name(apex));
            setup.places().into_iter().map(zone).collect()
        };
        let party = |daemon: &crate::setup::Daemon| Party {
            owner: daemon.owner.map(str::to_owned),
            cluster: daemon.cluster,
            may_delete: setup.policy == Policy::Sync,
            may_update: setup.policy != Policy::CreateOnly,
            dry_run: daemon.dry_run,
            brake: setup.brake,
            grace: setup.grace,
            filter: None,
        };
        let parties = setup.daemons.iter().map(party).collect();
        let mut truth =
            Truth::new(setup.profile.clone(), zones, [setup.affix].into_iter().chain(setup.moves), parties, tell);
        let named = |content: &Content| (content.zone.key.zone.as_str().to_owned(), content.zone.key.to_string());
        truth.objects = match setup.claims {
            Claims::Zones => None,
            Claims::Objects => Some(Objects::default()),
            Claims::Table => Some(Objects::of_rows(truth.zones.iter().map(named).collect())),
        };
        let world = Self {
            truth: Arc::new(Mutex::new(truth)),
            clusters: (0..setup.clusters).map(|_| Cluster::new()).collect(),
            weather: Arc::default(),
            seats: setup
                .daemons
                .iter()
                .map(|_| Seat {
                    process: None,
                    drawer: Arc::default(),
                    skew: 0,
                    journal: Arc::default(),
                    flags: Flags::of(setup.policy),
                    has_moved: false,
                })
                .collect(),
            peer: Peer::new("p", setup.blunt),
            begun: Instant::now(),
            rested: true,
            hashes: BTreeSet::new(),
            setup: setup.clone(),
            seed,
        };
        world.crowd(Crowd::Back);
        world
    }

    pub(crate) fn truth(&self) -> std::sync::MutexGuard<'_, Truth> {
        lock(&self.truth)
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.truth().violation.is_some()
    }

    pub(crate) fn set_weather(&self, nonce: u64, rough: bool) {
        lock(&self.weather).turn(nonce, rough);
    }

    /// One round.
    pub(crate) async fn step(&mut self, step: &Step) {
        lock(&self.weather).turn(step.nonce, step.rough);
        {
            let mut truth = self.truth();
            truth.calm = self.rested;
            truth.writing.clear();
        }
        self.act(&step.action).await;
        if step.hasty {
            sleep(Duration::from_millis(1)).await;
            self.rested = false;
        } else {
            let outcomes = self.rest().await;
            self.rested = !outcomes.iter().any(is_under_way);
        }
        self.note_held();
        if !step.hasty {
            self.judge_rest(step.rough || !self.rested);
        }
        if self.revive().await {
            // Who has just begun may plan by what it sees now, while the next step changes that.
            self.rested = false;
        }
        self.truth().check_shadows(false);
    }

    /// Lets every daemon come to rest. Returns what they say.
    pub(crate) async fn rest(&mut self) -> Vec<Outcome> {
        sleep(Duration::from_millis(1)).await;
        let mut outcomes = Vec::new();
        for (daemon, seat) in self.seats.iter().enumerate() {
            let Some(process) = &seat.process else { continue };
            self.truth().verdicts.note(Rule::Rest, true);
            match timeout(Duration::from_mins(30), process.engine.settled()).await {
                Ok(outcome) => outcomes.push(outcome),
                Err(_) => self.truth().broken(Rule::Rest, format!("daemon {daemon} does not")),
            }
        }
        if !outcomes.iter().any(is_under_way) {
            self.truth().rested = Instant::now();
        }
        outcomes
    }

    /// Whether some daemon is in a fight.
    pub(crate) fn fights(&self) -> bool {
        self.seats.iter().filter_map(|seat| seat.process.as_ref()).any(|process| !process.engine.contested().is_empty())
    }

    pub(crate) fn holds(&self, daemon: usize) -> bool {
        self.seats[daemon].process.as_ref().is_some_and(|process| !process.engine.plans().is_empty())
    }

    async fn act(&mut self, action: &Action) {
        match action {
            Action::Put(cluster, id, spec) => {
                let forged = |data: &RData| is_forged(&RecordData::records([data.clone()]));
                if spec.wants.iter().flat_map(|(_, data)| data).any(forged) {
                    self.truth().verdicts.note(Rule::Forged, true);
                }
                self.clusters[*cluster].put(*id, spec);
            }
            Action::Blank(cluster, id) => self.clusters[*cluster].blank(*id),
            Action::Reweigh(cluster, id, meanwhile) => {
                let edits: &[ManualEdit] = match meanwhile {
                    Meanwhile::Robbed => &[ManualEdit::Remove],
                    Meanwhile::Remarked => &[ManualEdit::Remark, ManualEdit::Remove],
                    Meanwhile::Nothing | Meanwhile::Alone | Meanwhile::Succeeded(_) => &[],
                };
                if let Some(key) = self.clusters[*cluster].first_key(*id) {
                    for edit in edits {
                        self.human(&key, edit);
                    }
                }
                let cluster = &self.clusters[*cluster];
                if matches!(meanwhile, Meanwhile::Alone | Meanwhile::Succeeded(_)) {
                    cluster.leave_alone(*id);
                }
                match meanwhile {
                    Meanwhile::Succeeded(heir) => cluster.succeed(*id, *heir),
                    _ => cluster.reweigh(*id),
                }
            }
            Action::Join(cluster, id, other) => self.clusters[*cluster].join(*id, *other),
            Action::Turn(cluster, id) => self.clusters[*cluster].turn(*id),
            Action::Delete(cluster, id) => self.clusters[*cluster].delete(*id),
            Action::Vanish(cluster, id) => self.clusters[*cluster].vanish(*id),
            Action::LoseWatch(cluster, kind) => self.clusters[*cluster].lose_watch(*kind),
            Action::Empty(cluster, kind, lies) => self.clusters[*cluster].empty(*kind, *lies),
            Action::Mend(cluster, kind) => self.clusters[*cluster].mend(*kind),
            Action::Human(key, edit) => self.human(key, edit),
            Action::PeerRequest(key, request) => self.peer.request(key, request.clone()),
            Action::PeerList => self.peer.list(&lock(&self.truth)),
            Action::PeerApply => self.peer.apply(&mut lock(&self.truth)),
            Action::Restart(daemon) => {
                self.stop(*daemon).await;
                self.start(*daemon).await;
            }
            Action::Crash(daemon) => {
                if let Some(process) = &self.seats[*daemon].process {
                    process.dead.store(true, Ordering::SeqCst);
                }
                self.revive().await;
            }
            Action::Clock(daemon, by) => {
                self.stop(*daemon).await;
                self.seats[*daemon].skew += by;
                self.start(*daemon).await;
            }
            Action::Approve(daemon, pick) => self.approve_one(*daemon, *pick),
            Action::Crowd(crowd) => self.crowd(*crowd),
            Action::LoseZone(zone) => {
                let mut weather = lock(&self.weather);
                weather.lost = Some((*zone, weather.nonce.is_multiple_of(2)));
                drop(weather);
                self.truth().missing.insert(*zone);
            }
            Action::Command(daemon, command) => self.command(*daemon, command).await,
            Action::Flags(daemon, flags) => self.restart_with(*daemon, *flags).await,
            Action::State(daemon, mood) => {
                lock(&self.seats[*daemon].drawer).mood = *mood;
                if matches!(mood, Mood::Shut | Mood::Garbled) {
                    self.stop(*daemon).await;
                    self.start(*daemon).await;
                }
            }
            Action::RefuseType(rtype) => {
                let mut weather = lock(&self.weather);
                weather.refused = true;
                weather.types.insert(*rtype);
            }
            Action::Refuse(name) => {
                let mut weather = lock(&self.weather);
                weather.refused = true;
                weather.bad.insert(name.clone());
            }
            Action::Relent => {
                self.relent();
            }
            Action::Wait(seconds) => sleep(Duration::from_secs(*seconds)).await,
        }
    }

    /// The provider is at peace again. Returns whether it ever refused a name.
    pub(crate) fn relent(&self) -> bool {
        let mut weather = lock(&self.weather);
        weather.lost = None;
        weather.bad.clear();
        weather.types.clear();
        weather.refused
    }

    pub(crate) fn is_ours(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        self.truth().is_of(daemon, zone, key)
    }

    pub(crate) fn right(&self, zone: usize, key: &RecordKey) -> Right {
        self.truth().right(zone, key)
    }

    /// Every record set of a managed type.
    pub(crate) fn records(&self) -> Vec<(usize, RecordSet)> {
        let texts = self.setup.texts;
        let truth = self.truth();
        let of = |(zone, content): (usize, &crate::truth::Content)| {
            content
                .sets
                .values()
                .filter(|set| is_record(&set.key) || texts && set.key.rtype == RecordType::Txt && !speaks(set))
                .map(|set| (zone, set.clone()))
                .collect::<Vec<_>>()
        };
        truth.zones.iter().enumerate().flat_map(of).collect()
    }

    /// Whether a daemon wrote, since a moment, a name at which every object has targets.
    pub(crate) fn has_written(&self, since: Instant) -> bool {
        let daemons = 0..self.seats.len();
        let pending: BTreeSet<DnsName> = daemons.flat_map(|daemon| self.sight(daemon).pending()).collect();
        let late = |times: &std::collections::VecDeque<Instant>| times.back().is_some_and(|at| *at > since);
        self.truth().written.iter().any(|((.., name), times)| !pending.contains(name) && late(times))
    }

    /// How often each daemon wrote each name within the last hour.
    pub(crate) fn writes_of_late(&self) -> BTreeMap<(usize, usize, DnsName), usize> {
        let truth = self.truth();
        let recent = |times: &std::collections::VecDeque<Instant>| {
            times.iter().filter(|at| at.elapsed() < Duration::from_hours(1)).count()
        };
        truth.written.iter().map(|(key, times)| (key.clone(), recent(times))).collect()
    }
}
