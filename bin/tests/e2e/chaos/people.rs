//! Somebody with the key and `nsupdate`: he adds and removes records of his own, takes names over, and damages ours.
//!
//! What he does is certain: each message carries what he expects to find, and a message that was refused changed nothing. So
//! what is his at the end is known to the letter.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::site::{Site, ZONE};

/// A name at which something of ours was changed is left alone for so long: three changes within 10 minutes are a fight, for
/// which the daemon has other rules.
const REST: Duration = Duration::from_mins(11);

/// The record types of which a foreign record keeps a name for its owner.
const MANAGED: [&str; 3] = ["A", "AAAA", "CNAME"];

/// The person, and what is his in the zone.
#[derive(Debug, Default)]
pub(super) struct People {
    /// As `name TTL type data`.
    lines: BTreeSet<String>,
    /// Names that were ours and became his.
    taken: BTreeSet<String>,
    /// When he last changed something of ours at a name.
    touched: BTreeMap<String, Instant>,
    /// Makes what he writes different each time.
    count: usize,
}

/// Records and claims of the daemons at one name.
struct Ours {
    name: String,
    records: Vec<String>,
    claims: Vec<String>,
}

impl People {
    /// What is his.
    pub(super) fn lines(&self) -> &BTreeSet<String> {
        &self.lines
    }

    /// Whether this name was ours before it was his.
    pub(super) fn took(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// Whether he has something at this name that keeps it for him: a record of a managed type, or another owner's claim
    /// for one.
    pub(super) fn hold(&self, name: &str) -> bool {
        let claim = format!("a-{name} ");
        self.lines.iter().any(|line| {
            let mut words = line.split(' ');
            let own = words.next() == Some(name) && words.nth(1).is_some_and(|rtype| MANAGED.contains(&rtype));
            own || line.starts_with(&claim)
        })
    }

    /// One message of his; returns what it was, and whether it was taken.
    pub(super) fn act(&mut self, site: &Site, dice: &mut Dice) -> String {
        self.count += 1;
        match dice.below(12) {
            0 | 1 => self.add_elsewhere(site, dice),
            2..5 => self.add_before_us(site, dice),
            5 => self.remove_own(site, dice),
            6 => self.delete_ours(site, dice),
            7 => self.add_to_ours(site, dice),
            8 | 9 => self.take(site, dice),
            10 => self.disown(site, dice),
            _ => self.change_own(site, dice),
        }
    }

    /// A record at a name that no object asks for.
    fn add_elsewhere(&mut self, site: &Site, dice: &mut Dice) -> String {
        let line = self.line(dice, &format!("h{}", self.count));
        self.send(site, "adds", "", &add(&line), &[line])
    }

    /// A record at a name that objects ask for now and then, where nothing stands.
    fn add_before_us(&mut self, site: &Site, dice: &mut Dice) -> String {
        let name = format!("pre{}", 3 + 4 * dice.below(6));
        let mut line = self.line(dice, &name);
        if dice.chance(15) {
            let claim = "heritage=external-dns,external-dns/owner=someone-else,external-dns/resource=service/x";
            line = format!("a-{name} 120 TXT \"{claim}/{}\"", self.count);
        }
        let nothing = format!("prereq nxdomain {name}.{ZONE}\nprereq nxdomain a-{name}.{ZONE}\n");
        self.send(site, "is first with", &nothing, &add(&line), &[line])
    }

    fn remove_own(&mut self, site: &Site, dice: &mut Dice) -> String {
        let lines: Vec<String> = self.lines.iter().cloned().collect();
        let Some(line) = dice.pick(&lines) else { return "person: has nothing".to_owned() };
        site.dns.nsupdate(&remove(line));
        self.lines.remove(line);
        format!("person: removes {line}")
    }

    fn change_own(&mut self, site: &Site, dice: &mut Dice) -> String {
        let lines: Vec<String> = self.lines.iter().filter(|line| line.contains(" A ")).cloned().collect();
        let Some(old) = dice.pick(&lines) else { return "person: has no address".to_owned() };
        // All records of a set have one TTL (RFC 2181, section 5.2): another one would change those beside it.
        let (name_and_ttl, _) = old.split_once(" A ").unwrap_or((old, ""));
        let new = format!("{name_and_ttl} A {}", self.address());
        site.dns.nsupdate(&format!("{}\n{}", remove(old), add(&new)));
        self.lines.remove(old);
        self.lines.insert(new.clone());
        format!("person: changes {old} to {new}")
    }

    /// Deletes records of ours, sometimes with their claims.
    fn delete_ours(&mut self, site: &Site, dice: &mut Dice) -> String {
        let Some(ours) = self.choose(site, dice) else { return "person: finds nothing".to_owned() };
        let mut script = format!("update delete {}.{ZONE}\n", ours.name);
        if dice.chance(50) {
            script.extend(ours.claims.iter().map(|line| format!("{}\n", remove(line))));
        }
        self.send(site, &format!("deletes ours at {}", ours.name), &ours.expected(), &script, &[])
    }

    /// Adds an address to a record set of ours.
    fn add_to_ours(&mut self, site: &Site, dice: &mut Dice) -> String {
        let Some(ours) = self.choose(site, dice).filter(|ours| ours.records.iter().any(|r| r.contains(" A "))) else {
            return "person: finds no address".to_owned();
        };
        let line = format!("{} 0 A {}", ours.name, self.address());
        self.send(site, &format!("adds to ours: {line}"), &ours.expected(), &add(&line), &[])
    }

    /// Puts a record of his in the place of ours and their claims.
    fn take(&mut self, site: &Site, dice: &mut Dice) -> String {
        let Some(ours) = self.choose(site, dice) else { return "person: finds nothing".to_owned() };
        let line = match dice.below(3) {
            0 => format!("{} 120 CNAME u{}.people.test.", ours.name, self.count),
            _ => format!("{} 120 A {}", ours.name, self.address()),
        };
        let mut script = format!("update delete {}.{ZONE}\n", ours.name);
        script.extend(ours.claims.iter().map(|line| format!("{}\n", remove(line))));
        script.push_str(&add(&line));
        self.taken.insert(ours.name.clone());
        self.send(site, "takes over with", &ours.expected(), &script, &[line])
    }

    /// Deletes the claims alone: what stands there is his from then on.
    fn disown(&mut self, site: &Site, dice: &mut Dice) -> String {
        let Some(ours) = self.choose(site, dice) else { return "person: finds nothing".to_owned() };
        // The records are written once more, so that their TTL is certain too.
        let mut script = format!("update delete {}.{ZONE}\n", ours.name);
        script.extend(ours.claims.iter().map(|line| format!("{}\n", remove(line))));
        script.extend(ours.records.iter().map(|line| format!("{}\n", add(line))));
        self.taken.insert(ours.name.clone());
        self.send(
            site,
            &format!("deletes the claims at {} and keeps", ours.name),
            &ours.expected(),
            &script,
            &ours.records,
        )
    }

    /// Sends a message with these preconditions; what it adds is his once it was taken.
    fn send(&mut self, site: &Site, what: &str, expected: &str, script: &str, lines: &[String]) -> String {
        let line = lines.join(" | ");
        match site.dns.try_nsupdate(&format!("{expected}{script}")) {
            Ok(()) => {}
            // A datagram that was sent twice is refused the second time, though the first one was taken.
            Err(_) if !lines.is_empty() && all_stand(site, lines) => {}
            Err(error) => return format!("person: {what} {line}: {}", error.trim()),
        }
        self.lines.extend(lines.iter().cloned());
        format!("person: {what} {line}")
    }

    /// A name where only the daemons have something, with a claim for each of its record sets.
    fn choose(&mut self, site: &Site, dice: &mut Dice) -> Option<Ours> {
        let (records, claims) = site.ours_and_claims();
        let name_of = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
        let his: BTreeSet<String> = self.lines.iter().map(name_of).collect();
        self.touched.retain(|_, at| at.elapsed() < REST);
        let names: BTreeSet<String> = records.iter().map(name_of).collect();
        let free = |name: &String| {
            !his.contains(name) && !his.contains(&format!("a-{name}")) && !self.touched.contains_key(name)
        };
        let names: Vec<String> = names.into_iter().filter(free).collect();
        let name = dice.pick(&names)?.clone();
        self.touched.insert(name.clone(), Instant::now());
        let records: Vec<String> = records.into_iter().filter(|line| name_of(line) == name).collect();
        let places = ["a", "aaaa", "cname"].map(|rtype| format!("{rtype}-{name}"));
        let claims = claims.into_iter().filter(|line| places.contains(&name_of(line))).collect();
        Some(Ours { name, records, claims })
    }

    fn address(&self) -> String {
        format!("198.51.{}.{}", 100 + self.count / 250 % 100, self.count % 250)
    }

    /// A record of his at this name.
    fn line(&self, dice: &mut Dice, name: &str) -> String {
        let n = self.count;
        match dice.below(5) {
            0 => format!("{name} 120 TXT \"note {n}\" \"a \\\"second\\\"\""),
            1 => format!("{name} 120 CNAME u{n}.people.test."),
            2 => format!("{name} 120 MX {} mail.people.test.", n % 60_000),
            3 => format!("{name} 120 AAAA 2001:db8:f::{n:x}"),
            _ => format!("{name} 120 A {}", self.address()),
        }
    }
}

impl Ours {
    /// Preconditions: records and claims are those that were read (RFC 2136, section 2.4.2).
    fn expected(&self) -> String {
        let line = |line: &String| {
            let (name, rtype, data) = parts(line);
            format!("prereq yxrrset {name} {rtype} {data}\n")
        };
        self.records.iter().chain(&self.claims).map(line).collect()
    }
}

/// Name with its zone, type, data.
fn parts(line: &str) -> (String, &str, &str) {
    let mut words = line.splitn(4, ' ');
    let name = format!("{}.{ZONE}", words.next().unwrap_or_default());
    let (_ttl, rtype, data) = (words.next(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
    (name, rtype, data)
}

fn add(line: &str) -> String {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    format!("update add {name}.{ZONE} {rest}")
}

fn remove(line: &str) -> String {
    let (name, rtype, data) = parts(line);
    format!("update delete {name} {rtype} {data}")
}

fn all_stand(site: &Site, lines: &[String]) -> bool {
    let zone = site.since_start();
    lines.iter().all(|line| zone.contains(line))
}
