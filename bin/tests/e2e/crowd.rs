//! Two real zones with 5,000 records of others in each, and a person who edits them all the time.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{Algorithm, DnsServer, Key, ZoneSpec, require};

use crate::daemon::{CommandLine, state_folder, text};
use crate::dice::Dice;
use crate::manifests::{folder, write};
use crate::{LATER, until};

const ZONES: [&str; 2] = ["one.test", "two.test"];
const FOREIGN: usize = 5_000;

/// How many times the person edits: one edit stands for a minute. An hour of them; a day in the long run.
fn edits() -> usize {
    if std::env::var_os("ZONEWRIGHT_SOAK").is_some() { 1_440 } else { 60 }
}

/// What others have: `name TTL IN type data`, without the zone.
fn foreign() -> (String, BTreeSet<String>) {
    let mut text = String::new();
    let mut lines = BTreeSet::new();
    for n in 0..FOREIGN {
        let (rtype, data) = match n % 5 {
            0 => ("A", format!("203.0.113.{}", n % 250)),
            1 => ("AAAA", format!("2001:db8::{n:x}")),
            2 => ("TXT", format!("\"text {n}\"")),
            3 => ("CNAME", "elsewhere.example.".to_owned()),
            _ => ("MX", "10 mail.example.".to_owned()),
        };
        let _ = writeln!(text, "f{n} 300 IN {rtype} {data}");
        lines.insert(format!("f{n} 300 IN {rtype} {data}"));
    }
    (text, lines)
}

/// A Service with one name in each zone.
fn manifest(n: usize, address: usize) -> String {
    let hosts: Vec<String> = ZONES.iter().map(|zone| format!("s{n}.{zone}")).collect();
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: s{n}\n  namespace: default\n  annotations:\n    \
         external-dns.kubernetes.io/hostname: {}\nspec: {{type: LoadBalancer}}\nstatus: {{loadBalancer: {{ingress: [{{ip: \
         192.0.2.{address}}}]}}}}\n",
        hosts.join(",")
    )
}

/// The zone without what makes it one (SOA, NS and its address): records of others, and ours with their claims.
fn split(dns: &DnsServer, zone: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let short = |record: String| record.replacen(&format!(".{zone}."), "", 1);
    let frame =
        |record: &String| record.contains(" IN SOA ") || record.contains(" IN NS ") || record.starts_with("ns1 ");
    let records = dns.axfr(zone).into_iter().map(short).filter(|record| !frame(record));
    records.partition(|record| record.starts_with('f'))
}

/// One edit by hand: a record of theirs comes, goes or changes, and now and then one of ours.
fn edit(dice: &mut Dice, lines: &mut BTreeSet<String>, zone: &str, round: usize) -> String {
    let which = lines.iter().nth(dice.below(lines.len())).cloned().unwrap_or_default();
    let delete = |line: &str| {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        format!("update delete {}.{zone} {} {}", words[0], words[3], words[4])
    };
    let add = |line: &str| {
        let (name, rest) = line.split_once(' ').expect("name and rest");
        format!("update add {name}.{zone} {rest}")
    };
    match dice.below(4) {
        0 => {
            let line = format!("fresh{round} 300 IN A 203.0.113.{}", dice.below(250));
            lines.insert(line.clone());
            add(&line)
        }
        1 => {
            lines.remove(&which);
            delete(&which)
        }
        2 => {
            let name = which.split(' ').next().unwrap_or_default().to_owned();
            let line = format!("{name} 77 IN A 203.0.113.{}", 1 + dice.below(250));
            let others = format!("{name} ");
            lines.retain(|line| !line.starts_with(&others));
            lines.insert(line.clone());
            format!("update delete {name}.{zone}\n{}", add(&line))
        }
        _ => format!("update delete s{}.{zone} A", dice.below(40)),
    }
}

#[test]
fn soak_an_hour_of_edits_by_others_leaves_their_part_to_the_letter() {
    require!(Bind.tools());
    let key = Key::with_algorithm("ddns", Algorithm::HmacSha256);
    let (records, lines) = foreign();
    let zones: Vec<ZoneSpec> = ZONES.iter().map(|zone| ZoneSpec::new(zone, &records)).collect();
    let dns = Bind.start(&zones, std::slice::from_ref(&key));
    let (folder, state) = (folder(), state_folder());
    for n in 0..40 {
        write(folder.path(), &format!("s{n}.yaml"), &manifest(n, 1));
    }
    let line = CommandLine::default().args(&["--provider=rfc2136", "--rfc2136-host=127.0.0.1", "--policy=sync"]);
    let line = line.args(&["--metrics-address=127.0.0.1:0", "--source=service", "--interval=1s", "--txt-owner-id=me"]);
    let line = line.args(&["--rfc2136-tsig-secret-alg=hmac-sha256", "--rfc2136-tsig-keyname=ddns"]);
    let line = ZONES.iter().fold(line, |line, zone| line.arg(format!("--rfc2136-zone={zone}")));
    let line = line.arg(format!("--rfc2136-port={}", dns.addr().port())).arg(format!("--state-dir={}", state.1));
    let line = line.arg(format!("--manifests={}", text(folder.path())));
    let daemon = line.env("EXTERNAL_DNS_RFC2136_TSIG_SECRET", &key.secret).start();
    let ours = |zone: &str| split(&dns, zone).1.len();
    until("all names", LATER, || ZONES.iter().all(|zone| ours(zone) == 80));

    let (mut dice, mut expected) = (Dice(20_261_121), ZONES.map(|_| lines.clone()));
    for round in 0..edits() {
        for (zone, lines) in ZONES.iter().zip(&mut expected) {
            dns.nsupdate(&edit(&mut dice, lines, zone, round));
        }
        let address = 2 + dice.below(200);
        write(folder.path(), &format!("s{}.yaml", dice.below(40)), &manifest(dice.below(40), address));
    }
    // Files were swapped among Services at will: at the end each has its own again.
    for n in 0..40 {
        write(folder.path(), &format!("s{n}.yaml"), &manifest(n, 250));
    }
    let whole =
        |zone: &str| split(&dns, zone).1.iter().filter(|record| record.contains(" A 192.0.2.250")).count() == 40;
    until("our records to be whole again", 4 * LATER, || ZONES.iter().all(|zone| whole(zone) && ours(zone) == 80));
    for (zone, expected) in ZONES.iter().zip(&expected) {
        let (theirs, _) = split(&dns, zone);
        let difference: Vec<&String> = theirs.symmetric_difference(expected).collect();
        assert_eq!(difference, Vec::<&String>::new(), "{zone}");
    }
    drop(daemon);
}
