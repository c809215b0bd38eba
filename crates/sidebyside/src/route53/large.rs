//! A zone that takes minutes to list: when does a name stand that is asked for meanwhile?
//!
//! In: the two programs, and a zone of 400,000 record sets of others at a service that takes five requests a second. Out: seconds.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::time::sleep;
use zonewright_fakes::route53::{RecordSet, Route53};

use zonewright_sidebyside::cloud::{Programs, Which};
use zonewright_sidebyside::shapes::service;

const ACCOUNT: &str = "000000000001";
/// Record sets of others.
const SETS: usize = 400_000;
/// Requests a second that the service allows: its own limit, by account.
const RATE: usize = 5;
/// When the second object comes, after the start.
const MEANWHILE: Duration = Duration::from_mins(1);
/// When it is given up.
const LIMIT: Duration = Duration::from_mins(10);

const FLAGS: &[&str] = &[
    "--source=service",
    "--registry=txt",
    "--policy=sync",
    "--txt-owner-id=x",
    "--domain-filter=test",
    "--interval=1m",
];

/// Plays it to both, and prints what came of it.
///
/// # Errors
/// A program cannot be started, or ends.
pub(crate) async fn measure(programs: &Programs) -> Result<()> {
    println!(
        "| {SETS} record sets, {RATE} requests a second | first name after | one that came after a minute | requests |"
    );
    println!("|---|---|---|---|");
    for which in [Which::Zonewright, Which::ExternalDns] {
        println!("| {} | {} |", which.name(), play(programs, which).await?);
    }
    Ok(())
}

async fn play(programs: &Programs, which: Which) -> Result<String> {
    let fake = Route53::start();
    let zone = fake.add_zone(ACCOUNT, "zone.test", false, &[]);
    fake.set_limit(&zone, 2 * SETS);
    for n in 0..SETS {
        fake.put(&zone, RecordSet::new(&format!("r{n}.zone.test."), "A", 60, &["198.51.100.1"]));
    }
    fake.set_rate(Some(RATE));
    let object = |name: &str| service(name, &format!("{name}.zone.test"), &["192.0.2.1"], &[]);
    let first = [object("first")];
    let both = [object("first"), object("later")];
    // external-dns reads its objects from a server that has both from the start on: it asks for them after the listing.
    let objects = if which == Which::Zonewright { &first[..] } else { &both[..] };
    let began = Instant::now();
    let program = programs.start(which, &fake, objects, FLAGS).await?;
    let (mut times, mut replaced) = ([None, None], which == Which::ExternalDns);
    while times.iter().any(Option::is_none) {
        if began.elapsed() > LIMIT {
            break;
        }
        if !replaced && began.elapsed() > MEANWHILE {
            program.replace(&both)?;
            replaced = true;
        }
        for (time, name) in times.iter_mut().zip(["first", "later"]) {
            let stands = fake.stands(&zone, &format!("{name}.zone.test."), "A");
            if time.is_none() && stands {
                *time = Some(began.elapsed());
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
    let requests = fake.requests();
    let said = program.end().await?;
    let shown = |time: Option<Duration>, after: Duration| match time {
        Some(time) => format!("{:.1} s", time.saturating_sub(after).as_secs_f64()),
        None => format!("not within {} min", LIMIT.as_secs() / 60),
    };
    if which == Which::Zonewright && times.iter().any(Option::is_none) {
        bail!("Zonewright has not served both:\n{said}");
    }
    Ok(format!("{} | {} | {requests}", shown(times[0], Duration::ZERO), shown(times[1], MEANWHILE)))
}
