//! Zone transfers: AXFR (RFC 5936) and IXFR (RFC 1995), put together from the records of their messages.
//!
//! In: the records of one answer after the other. Out: a whole zone, the steps since a serial number, or the word that
//! nothing changed. What must hold: a transfer begins and ends with the same SOA, and every step begins where the last one
//! ended. Anything else is [`Broken`], never a part of a zone. Records outside of the zone are left out: some servers send
//! the addresses of name servers elsewhere along, as glue.

use std::cmp::Ordering;

use zonewright_core::DnsName;
use zonewright_core::provider::{Delta, Record};

use crate::wire::{Soa, soa, soa_serial};

/// What a transfer brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Transferred {
    /// The whole zone without its SOA.
    Full { soa: Soa, records: Vec<Record> },
    /// The steps after the serial number that was asked for.
    Steps { soa: Soa, steps: Vec<Delta> },
    /// The server has nothing newer than this.
    Current(Soa),
}

/// A transfer that cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the transfer does not begin with the SOA of the zone")]
    NoSoa,
    #[error("a step from serial {found} follows where {expected} was reached")]
    Gap { expected: u32, found: u32 },
    #[error("the transfer ends with another SOA than it began with")]
    OtherSoa,
    #[error("records follow after the end of the transfer")]
    Trailing,
}

/// A transfer that comes in.
#[derive(Debug)]
pub(crate) struct Assembly<'a> {
    zone: &'a DnsName,
    /// The serial number that was asked for, if only the difference is wanted.
    since: Option<u32>,
    /// The SOA that came first, and what it says.
    soa: Option<(Record, Soa)>,
    state: State,
    /// The first name outside of the zone.
    outside: Option<DnsName>,
}

#[derive(Debug)]
enum State {
    /// Nothing, or only the first SOA, has come.
    Open,
    /// A whole zone is coming.
    Full(Vec<Record>),
    /// Steps are coming; the serial number is where the last step leads.
    Steps { steps: Vec<Delta>, adding: bool, reached: u32 },
    /// All has come.
    Done(Transferred),
}

impl<'a> Assembly<'a> {
    /// Waits for the transfer of `zone`; `since` says that an IXFR was asked for.
    pub(crate) fn new(zone: &'a DnsName, since: Option<u32>) -> Self {
        Self { zone, since, soa: None, state: State::Open, outside: None }
    }

    /// Takes the records of one message in. Returns what was transferred once it is complete.
    pub(crate) fn message(&mut self, records: Vec<Record>) -> Result<Option<Transferred>, Broken> {
        for record in records {
            self.record(record)?;
        }
        // An IXFR of nothing but the server's SOA says that there is nothing newer (RFC 1995 2).
        if let (State::Open, Some(since), Some((_, soa))) = (&self.state, self.since, &self.soa)
            && compare(soa.serial, since) != Some(Ordering::Greater)
        {
            self.state = State::Done(Transferred::Current(*soa));
        }
        match std::mem::replace(&mut self.state, State::Open) {
            State::Done(transferred) => Ok(Some(transferred)),
            state => {
                self.state = state;
                Ok(None)
            }
        }
    }

    /// A name outside of the zone whose records were left out, if there was any.
    pub(crate) fn outside(self) -> Option<DnsName> {
        self.outside
    }

    fn record(&mut self, record: Record) -> Result<(), Broken> {
        let serial = soa_serial(&record.data);
        if serial.is_some() && record.name != *self.zone {
            return Err(Broken::OtherSoa);
        }
        let Some((first, target)) = &self.soa else {
            let target = soa(&record.data).ok_or(Broken::NoSoa)?;
            self.soa = Some((record, target));
            return Ok(());
        };
        if !record.name.is_within(self.zone) {
            return self.leave_out(record.name);
        }
        let is_end = record.data == first.data;
        self.state = match (std::mem::replace(&mut self.state, State::Open), serial) {
            (State::Done(_), _) => return Err(Broken::Trailing),
            (State::Open, Some(from)) if Some(from) == self.since && !is_end => {
                State::Steps { steps: vec![Delta::default()], adding: false, reached: from }
            }
            (State::Open, _) => full(Vec::new(), record, serial, is_end, *target)?,
            (State::Full(records), _) => full(records, record, serial, is_end, *target)?,
            (State::Steps { steps, adding, reached }, _) => step(steps, adding, reached, record, serial, *target)?,
        };
        Ok(())
    }

    fn leave_out(&mut self, name: DnsName) -> Result<(), Broken> {
        match self.state {
            State::Done(_) => return Err(Broken::Trailing),
            // Behind the first SOA it stands where the first record of a whole zone does.
            State::Open => self.state = State::Full(Vec::new()),
            State::Full(_) | State::Steps { .. } => {}
        }
        self.outside.get_or_insert(name);
        Ok(())
    }
}

/// The next record of a whole zone.
fn full(
    mut records: Vec<Record>,
    record: Record,
    serial: Option<u32>,
    is_end: bool,
    target: Soa,
) -> Result<State, Broken> {
    if is_end {
        return Ok(State::Done(Transferred::Full { soa: target, records }));
    }
    if serial.is_some() {
        return Err(Broken::OtherSoa);
    }
    records.push(record);
    Ok(State::Full(records))
}

/// The next record of a difference: `SOA old, removed.., SOA new, added..` as often as needed, then the last SOA again.
fn step(
    mut steps: Vec<Delta>,
    adding: bool,
    reached: u32,
    record: Record,
    serial: Option<u32>,
    target: Soa,
) -> Result<State, Broken> {
    match serial {
        Some(serial) if !adding => Ok(State::Steps { steps, adding: true, reached: serial }),
        Some(serial) if serial != reached => Err(Broken::Gap { expected: reached, found: serial }),
        Some(serial) if serial == target.serial => Ok(State::Done(Transferred::Steps { soa: target, steps })),
        Some(_) => {
            steps.push(Delta::default());
            Ok(State::Steps { steps, adding: false, reached })
        }
        None => {
            let last = steps.last_mut().expect("there is a step from the first SOA of the difference on");
            if adding {
                last.added.push(record);
            } else {
                last.removed.push(record);
            }
            Ok(State::Steps { steps, adding, reached })
        }
    }
}

/// Compares serial numbers (RFC 1982 3.2); `None` where they are half the circle apart.
pub(crate) fn compare(a: u32, b: u32) -> Option<Ordering> {
    match a.wrapping_sub(b) {
        0 => Some(Ordering::Equal),
        0x8000_0000 => None,
        1..0x8000_0000 => Some(Ordering::Greater),
        _ => Some(Ordering::Less),
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::rdata::{Content, Opaque};
    use zonewright_core::{RData, RecordType, Ttl};

    use super::*;

    /// `soa N` is the zone's SOA with that serial number, `soa N x.` one elsewhere, `x` is a TXT record of the zone, `x.` one elsewhere.
    fn record(text: &str) -> Record {
        let ttl = Ttl::from_secs(60).unwrap();
        if let Some(soa) = text.strip_prefix("soa ") {
            let (serial, owner) = soa.split_once(' ').unwrap_or((soa, "example.test"));
            let mut octets = vec![0, 0];
            octets.extend(serial.parse::<u32>().unwrap().to_be_bytes());
            octets.extend([0; 16]);
            let opaque = Opaque { rtype: RecordType::Soa, content: Content::Octets(octets) };
            return Record { name: DnsName::parse(owner).unwrap(), ttl, data: RData::Other(Box::new(opaque)) };
        }
        let name = if text.ends_with('.') { text.to_owned() } else { format!("{text}.example.test") };
        let data = RData::parse(RecordType::Txt, "\"x\"").unwrap();
        Record { name: DnsName::parse(&name).unwrap(), ttl, data }
    }

    fn zone() -> DnsName {
        DnsName::parse("example.test").unwrap()
    }

    /// Feeds messages, parted by ` | `, of records, parted by `, `. The result is shown in the same way.
    fn run(since: Option<u32>, text: &str) -> Result<String, String> {
        let zone = zone();
        let mut assembly = Assembly::new(&zone, since);
        for message in text.split(" | ") {
            let records = message.split(", ").filter(|t| !t.is_empty()).map(record).collect();
            if let Some(done) = assembly.message(records).map_err(|broken| broken.to_string())? {
                return Ok(show(done));
            }
        }
        Ok("more".to_owned())
    }

    fn show(done: Transferred) -> String {
        let names = |records: &[Record]| {
            records.iter().filter_map(|r| r.name.split_first().map(|(label, _)| label.to_owned())).collect::<String>()
        };
        match done {
            Transferred::Full { soa, records } => format!("full {}: {}", soa.serial, names(&records)),
            Transferred::Current(_) => "current".to_owned(),
            Transferred::Steps { soa, steps } => {
                let steps = steps.iter().map(|s| format!(" -{} +{}", names(&s.removed), names(&s.added)));
                format!("steps to {}:{}", soa.serial, steps.collect::<String>())
            }
        }
    }

    #[test]
    fn whole_zones() {
        for (text, expected) in [
            ("soa 5, a, b, soa 5", "full 5: ab"),
            ("soa 5 | a | b | soa 5", "full 5: ab"),
            ("soa 5, soa 5", "full 5: "),
            ("soa 5, a, b", "more"),
            ("soa 5", "more"),
            ("", "more"),
        ] {
            assert_eq!(run(None, text).as_deref(), Ok(expected), "{text}");
            // A server may answer with the whole zone to a question for the difference.
            if text.starts_with("soa") {
                assert_eq!(run(Some(4), text).as_deref(), Ok(expected), "{text}");
            }
        }
    }

    #[test]
    fn differences() {
        for (text, expected) in [
            ("soa 7, soa 5, a, soa 7, b, soa 7", "steps to 7: -a +b"),
            ("soa 7 | soa 5 | a | soa 7 | b | soa 7", "steps to 7: -a +b"),
            ("soa 7, soa 5, soa 6, a, soa 6, a, soa 7, b, c, soa 7", "steps to 7: - +a -a +bc"),
            ("soa 7, soa 5, soa 7, soa 7", "steps to 7: - +"),
            ("soa 5, a.elsewhere. | b, soa 5", "full 5: b"),
            ("soa 7, soa 5, a, soa 7, b", "more"),
            ("soa 7, soa 5, a, soa 6, b, soa 6", "more"),
            ("soa 5", "current"),
            ("soa 4", "current"),
            ("soa 7", "more"),
        ] {
            assert_eq!(run(Some(5), text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_outside_of_the_zone_is_left_out() {
        let outside = |since, text: &str| {
            let zone = zone();
            let mut assembly = Assembly::new(&zone, since);
            let done = assembly.message(text.split(", ").map(record).collect()).unwrap().map(show);
            (done.unwrap_or_default(), assembly.outside().map(|name| name.to_string()).unwrap_or_default())
        };
        for (since, text, expected, name) in [
            (None, "soa 5, a, b.elsewhere., c, d.elsewhere., soa 5", "full 5: ac", "b.elsewhere"),
            (None, "soa 5, a.elsewhere., soa 5", "full 5: ", "a.elsewhere"),
            (None, "soa 5, a, soa 5", "full 5: a", ""),
            (Some(5), "soa 5, a.elsewhere., b, soa 5", "full 5: b", "a.elsewhere"),
            (
                Some(5),
                "soa 7, soa 5, a, b.elsewhere., soa 7, c.elsewhere., d, soa 7",
                "steps to 7: -a +d",
                "b.elsewhere",
            ),
            (Some(5), "soa 7, soa 5, soa 7, c.elsewhere., soa 7", "steps to 7: - +", "c.elsewhere"),
        ] {
            assert_eq!(outside(since, text), (expected.to_owned(), name.to_owned()), "{text}");
        }
    }

    #[test]
    fn broken_ones() {
        for (since, text, expected) in [
            (None, "a, soa 5", "does not begin with the SOA"),
            (None, "soa 5, a, soa 6", "another SOA"),
            (None, "soa 5, soa 6", "another SOA"),
            (None, "a.elsewhere., soa 5, soa 5", "does not begin with the SOA"),
            (None, "soa 5 elsewhere., soa 5, soa 5", "another SOA"),
            (None, "soa 5, a, soa 5 elsewhere., soa 5", "another SOA"),
            (None, "soa 5, a, soa 5, b.elsewhere.", "after the end"),
            (None, "soa 5, a, soa 5, b", "after the end"),
            (Some(5), "soa 7, soa 6, a, soa 7, b, soa 7", "another SOA"),
            (Some(5), "soa 7, soa 5, a, soa 6, b, soa 7", "from serial 7 follows where 6 was reached"),
            (Some(5), "soa 7, soa 5, a, soa 7, b, soa 7, c", "after the end"),
        ] {
            let broken = run(since, text).unwrap_err();
            assert!(broken.contains(expected), "{text}: {broken}");
        }
    }

    #[test]
    fn serial_numbers_go_round() {
        use Ordering::{Equal, Greater, Less};
        for (a, b, expected) in [
            (1, 1, Some(Equal)),
            (2, 1, Some(Greater)),
            (1, 2, Some(Less)),
            (0, u32::MAX, Some(Greater)),
            (u32::MAX, 0, Some(Less)),
            (0x7fff_ffff, 0, Some(Greater)),
            (0x8000_0000, 0, None),
            (0x8000_0001, 0, Some(Less)),
        ] {
            assert_eq!(compare(a, b), expected, "{a} {b}");
        }
    }
}
