//! Everything at once: objects churn on a real API server, the DNS server, the API server and the daemon are frozen, killed
//! and stopped at random, and a person edits the zone with `nsupdate`. Afterwards what stands is what the objects ask for,
//! what the person wrote stands, no claim is left over, and there is silence.
//!
//! The dice fall by a seed that is printed (`CHAOS_SEED` repeats it); a real system's timing is its own all the same, so a
//! failing run prints its whole story. `ZONEWRIGHT_SOAK` makes it an hour, `CHAOS_SECONDS` any length.

mod faults;
mod objects;
mod people;
mod story;
mod verdict;

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use zonewright_testkit::DnsSoftware::{self, Bind};
use zonewright_testkit::KubeApi;

use self::faults::{Fault, Runner, Victim};
use self::objects::Objects;
use self::people::People;
use self::story::Story;
use crate::cluster::{Space, own};
use crate::daemon::state_folder;
use crate::dice::Dice;
use crate::site::Site;
use crate::{each_server, needs};

/// The dice of the test command: a failure should come from a change.
const SEED: u64 = 20_261_123;

/// The longest pause between two events.
const PAUSE: usize = 120;

each_server!(soak_after_all_faults_the_zone_is_right_and_silent);

fn soak_after_all_faults_the_zone_is_right_and_silent(software: DnsSoftware) {
    let (seconds, soak) = if software == Bind { (25, 3_600) } else { (10, 900) };
    World::new(software, 1).play(length(seconds, soak));
}

/// Two daemons of one owner, as in a roll-out without leader election: they see the same objects, so that neither may harm
/// what the other does.
#[test]
fn soak_two_daemons_of_one_owner_settle_too() {
    needs!(Bind);
    World::new(Bind, 2).play(length(12, 900));
}

/// All that takes part. The daemons end first.
struct World {
    runners: Vec<Runner>,
    faults: Vec<Fault>,
    objects: Objects,
    people: People,
    dice: Dice,
    /// How long a long fault lasts.
    long: Duration,
    site: Site,
    kube: KubeApi,
    story: Story,
}

impl World {
    #[track_caller]
    fn new(software: DnsSoftware, daemons: usize) -> Self {
        let seed = seed();
        let (kube, site) = (own(), Site::start(software));
        let space = Space::new(&kube);
        let mut objects = Objects::new(&space.name);
        let mut dice = Dice(seed);
        objects.begin(&kube, &mut dice);
        let line = site.line(&space).arg("--interval=1s");
        drop(space);
        let runners = (0..daemons).map(|_| Runner::start(line.clone(), state_folder())).collect();
        let name = format!("{software:?} with {daemons} daemon(s)");
        let (people, long) = (People::default(), Duration::from_secs(if is_soak() { 60 } else { 6 }));
        Self { runners, faults: Vec::new(), objects, people, dice, long, site, kube, story: Story::new(name, seed) }
    }

    /// Lets everything happen for so long, mends what is broken, and judges.
    #[track_caller]
    fn play(mut self, length: Duration) {
        let end = Instant::now() + length;
        while Instant::now() < end {
            self.step();
        }
        self.heal_all();
        self.objects.restore(&self.kube);
        self.story.note("all faults are over");
        self.settles();
        println!("{} events, {} records of people", self.story.len(), self.people.lines().len());
    }

    #[track_caller]
    fn step(&mut self) {
        self.heal_what_is_due();
        self.daemons_run();
        match self.dice.below(100) {
            0..7 => self.harm(),
            7..65 if self.works(Victim::Api) => {
                let event = self.objects.act(&self.kube, &mut self.dice);
                self.story.note(event);
            }
            65..92 if self.works(Victim::Dns) => {
                let event = self.people.act(&self.site, &mut self.dice);
                self.story.note(event);
            }
            92.. if self.works(Victim::Dns) => self.people_have_theirs(),
            _ => {}
        }
        // The moments are to be random, too: there is nothing to wait for.
        std::thread::sleep(Duration::from_millis(u64::try_from(self.dice.below(PAUSE)).unwrap_or(0)));
    }
}

fn is_soak() -> bool {
    std::env::var_os("ZONEWRIGHT_SOAK").is_some()
}

fn length(seconds: u64, soak: u64) -> Duration {
    let given = std::env::var("CHAOS_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(given.unwrap_or(if is_soak() { soak } else { seconds }))
}

/// `CHAOS_SEED`; else by chance in the long run, and always the same in the test command.
fn seed() -> u64 {
    let given = std::env::var("CHAOS_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| if is_soak() { RandomState::new().hash_one(0) } else { SEED })
}
