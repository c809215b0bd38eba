//! Zone files (RFC 1035 5): a zone as text, in and out.
//!
//! In: a file that this program or a person wrote. Out: the zone, or the line that is wrong and why. Comments and layout
//! are not kept when a file is written again; records of every type are.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fmt::Write as _;

use domain::base::iana::Class;
use domain::base::name::{Name, ToName};
use domain::base::rdata::ComposeRecordData;
use domain::rdata::ZoneRecordData;
use domain::zonefile::inplace::{Entry, ScannedRecord, Zonefile};
use zonewright_core::rdata::{self, RData};
use zonewright_core::{DnsName, RecordData, RecordKey, RecordSet, RecordType, Ttl};

use crate::rules;
use crate::soa::Soa;

/// What is wrong with a zone file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(crate) struct FileError {
    /// The line, from 1; the last one of an entry that spans several.
    pub(crate) line: usize,
    /// What is wrong and what was expected.
    pub(crate) problem: String,
}

/// What a zone file holds.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// Its start of authority, if it has one.
    pub(crate) soa: Option<Soa>,
    /// All other sets, each with the line of its last record.
    pub(crate) sets: BTreeMap<RecordKey, (usize, RecordSet)>,
}

/// Reads a zone file. Relative names are below `apex` until an `$ORIGIN` says otherwise.
pub(crate) fn read(apex: &DnsName, text: &str) -> Result<Content, FileError> {
    let origin = Name::bytes_from_str(&apex.fqdn()).map_err(|e| FileError { line: 1, problem: e.to_string() })?;
    let mut file = Zonefile::from(text);
    file.set_origin(origin);
    file.set_default_class(Class::IN);
    let mut content = Content::default();
    let mut lines = Lines { text: text.as_bytes(), upto: 0, breaks: 0 };
    loop {
        let done = lines.of(file.current_offset());
        let entry = file.next_entry().map_err(|error| located(text, done, &error.to_string()))?;
        let Some(entry) = entry else { return Ok(content) };
        let line = lines.of(file.current_offset());
        let here = |problem| FileError { line, problem };
        match entry {
            Entry::Record(record) => content.add(apex, line, &record).map_err(here)?,
            Entry::Include { .. } => return Err(here("$INCLUDE is not read; expected one file for a zone".to_owned())),
        }
    }
}

/// Splits the scanner's `line:column: problem`. It counts a word that ends its line as the start of the next one, so
/// there the last line that says something is meant; `done` is the line of the last good entry.
fn located(text: &str, done: usize, message: &str) -> FileError {
    let mut parts = message.splitn(3, ':');
    let (line, column, problem) = (parts.next(), parts.next(), parts.next());
    let number = |text: Option<&str>| text.and_then(|n| n.parse::<usize>().ok());
    let (Some(line), Some(column), Some(problem)) = (number(line), number(column), problem) else {
        return FileError { line: done, problem: message.to_owned() };
    };
    let before = text.lines().enumerate().map(|(i, content)| (i + 1, content)).take(line.saturating_sub(1)).skip(done);
    let says = |content: &str| !content.trim().is_empty() && !content.trim_start().starts_with([';', '$']);
    let ended = before.filter(|(_, content)| says(content)).last().filter(|_| column <= 1);
    FileError { line: ended.map_or(line, |(line, _)| line), problem: problem.trim().to_owned() }
}

/// Lines by offsets that only grow, so that every line is counted once.
struct Lines<'t> {
    text: &'t [u8],
    /// What was looked at, and how many lines ended there.
    upto: usize,
    breaks: usize,
}

impl Lines<'_> {
    /// The line of the last octet before `offset`, not counting the line's own end; 0 before the first.
    fn of(&mut self, offset: usize) -> usize {
        let Some(end) = offset.checked_sub(1) else { return 0 };
        let end = end.min(self.text.len());
        let more = self.text.get(self.upto..end).unwrap_or_default();
        self.breaks += more.split(|octet| *octet == b'\n').count().saturating_sub(1);
        self.upto = self.upto.max(end);
        self.breaks + 1
    }
}

impl Content {
    fn add(&mut self, apex: &DnsName, line: usize, record: &ScannedRecord) -> Result<(), String> {
        if record.class() != Class::IN {
            return Err(format!("class {}; expected IN", record.class()));
        }
        let wire = record.owner().to_vec();
        let (name, _) = DnsName::from_wire(wire.as_slice()).map_err(|e| e.to_string())?;
        let rtype = RecordType::from_number(record.rtype().to_int());
        let ttl = Ttl::from_secs(record.ttl().as_secs()).ok_or_else(|| format!("TTL of {name} is above 2147483647"))?;
        let mut octets: Vec<u8> = Vec::new();
        record.data().compose_rdata(&mut octets).map_err(|_| format!("{name} {rtype} is too long"))?;
        if rtype == RecordType::Soa {
            return self.add_soa(apex, &name, ttl, &octets);
        }
        let mut data = RData::from_wire(rtype, &octets).map_err(|e| format!("{name}: {e}"))?;
        if !matches!(record.data(), ZoneRecordData::Unknown(_)) {
            named_in(&mut data).into_iter().for_each(at_is_origin);
        }
        let key = RecordKey::simple(name, rtype);
        rules::check_place(apex, &key)?;
        self.add_data(line, key, ttl, data)
    }

    fn add_soa(&mut self, apex: &DnsName, name: &DnsName, ttl: Ttl, octets: &[u8]) -> Result<(), String> {
        if name != apex {
            return Err(format!("SOA at {name}; expected it at {apex}"));
        }
        if self.soa.is_some() {
            return Err("second SOA; expected one".to_owned());
        }
        let mut soa = Soa::from_wire(ttl, octets).ok_or("malformed SOA")?;
        at_is_origin(&mut soa.mname);
        at_is_origin(&mut soa.rname);
        self.soa = Some(soa);
        Ok(())
    }

    fn add_data(&mut self, line: usize, key: RecordKey, ttl: Ttl, data: RData) -> Result<(), String> {
        match self.sets.entry(key) {
            Slot::Occupied(mut found) => {
                let (last, set) = found.get_mut();
                *last = line;
                // Records of one set have one TTL (RFC 2181 5.2); the lowest is safe for all of them.
                set.ttl = set.ttl.min(Some(ttl));
                set.data = RecordData::records(set.data.as_records().iter().cloned().chain([data]));
                rules::check_content(set)
            }
            Slot::Vacant(free) => {
                let key = free.key().clone();
                let set = RecordSet::simple(key.name, key.rtype, Some(ttl), [data]);
                rules::check_content(&set)?;
                free.insert((line, set));
                Ok(())
            }
        }
    }
}

/// Writes a zone file that [`read`] reads to the same sets.
pub(crate) fn write<'a>(apex: &DnsName, soa: &Soa, sets: impl Iterator<Item = &'a RecordSet>) -> String {
    let mut out = format!("; Zone {apex}. Written again after each change; comments are not kept.\n");
    let _ = writeln!(out, "{} {} IN SOA {}", apex.fqdn(), soa.ttl, soa.text());
    for set in sets {
        let (owner, rtype, ttl) = (set.key.name.fqdn(), set.key.rtype, set.ttl.unwrap_or(rules::default_ttl()));
        for data in set.data.as_records() {
            let _ = writeln!(out, "{owner} {ttl} IN {rtype} {}", portable(data));
        }
    }
    out
}

/// The presentation form that every reader of zone files understands. What varies between them goes out in the form for
/// unknown types (RFC 3597 5): service bindings, and names that begin with a literal `@`.
fn portable(data: &RData) -> String {
    let mut copy = data.clone();
    let varies = matches!(data, RData::Svcb(_) | RData::Https(_))
        || named_in(&mut copy).is_some_and(|name| name.labels().next() == Some(AT));
    match data.to_wire().filter(|_| varies) {
        Some(octets) => {
            let content = rdata::Content::Octets(octets);
            RData::Other(Box::new(rdata::Opaque { rtype: data.rtype(), content })).to_string()
        }
        None => data.to_string(),
    }
}

/// The text form of a label of one `@`.
const AT: &str = "\\@";

/// The scanner knows `@` only as an owner; in data it reads a label below the origin (RFC 1035 5.1 means the origin).
fn at_is_origin(name: &mut DnsName) {
    if let Some((AT, origin)) = name.split_first() {
        *name = origin;
    }
}

/// The name that data holds.
fn named_in(data: &mut RData) -> Option<&mut DnsName> {
    match data {
        RData::Cname(name) | RData::Dname(name) | RData::Ns(name) | RData::Ptr(name) => Some(name),
        RData::Mx { exchange, .. } => Some(exchange),
        RData::Srv { target, .. } => Some(target),
        RData::Naptr(naptr) => Some(&mut naptr.replacement),
        RData::Svcb(svcb) | RData::Https(svcb) => Some(&mut svcb.target),
        RData::A(_) | RData::Aaaa(_) | RData::Txt(_) | RData::Caa(_) | RData::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{set, zone};
    use proptest::prelude::*;

    fn apex() -> DnsName {
        DnsName::parse("example.test").unwrap()
    }

    fn sets(content: Content) -> BTreeMap<RecordKey, RecordSet> {
        content.sets.into_iter().map(|(key, (_, set))| (key, set)).collect()
    }

    #[test]
    fn every_type_survives() {
        let lines = [
            "a.example.test 60 A 192.0.2.1 | 192.0.2.2",
            "a.example.test 61 AAAA 2001:db8::1",
            "*.a.example.test 60 CNAME b.example.test.",
            "t.example.test 60 TXT \"a \\\" ; b\" \"\\200\\\\\" | \"\"",
            "long.example.test 60 TXT \"heritage=external-dns,external-dns/owner=default\"",
            "b.example.test 60 NS b.example.org.",
            "_s._tcp.example.test 60 SRV 1 2 3 b.example.test.",
            "m.example.test 60 MX 10 b.example.test. | 20 .",
            "p.example.test 60 PTR b.example.test.",
            "c.example.test 60 CAA 0 issue \"ca.test; x=1\"",
            "n.example.test 60 NAPTR 1 2 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b!\" .",
            "h.example.test 60 HTTPS 1 . alpn=h2,h3 port=8443 ech=AEj+DQ==",
            "v.example.test 60 SVCB 1 b.example.test. ipv4hint=192.0.2.1 key667=x",
            "d.example.test 60 DNAME example.org.",
            "o.example.test 60 TLSA \\# 3 010203",
            "u.example.test 60 TYPE65280 \\# 3 010203",
            "at.example.test 60 MX 10 \\@.example.test.",
            "a\\.b.x-*.\\200\\@.example.test 60 A 192.0.2.1",
        ];
        let zone = zone(&lines);
        let text = write(&zone.apex, &zone.soa, zone.sets());
        let content = read(&apex(), &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(content.soa.as_ref(), Some(&zone.soa));
        assert_eq!(sets(content), zone.sets().map(|set| (set.key.clone(), set.clone())).collect());
    }

    #[test]
    fn files_written_by_hand() {
        let text = "$TTL 300\n@ IN SOA ns hostmaster ( 7 ; serial\n  3600 600 604800 60 )\n  IN NS ns\nns A 192.0.2.1\n\
                    www 60 IN CNAME @\nm MX 5 @\n$ORIGIN sub.example.test.\n@ A 192.0.2.2\n  60 A 192.0.2.3\n\
                    h HTTPS 1 . alpn=h2\nbig TXT ( \"a\"\n \"b\" )\n";
        let content = read(&apex(), text).unwrap();
        assert_eq!(
            content.soa.as_ref().unwrap().text(),
            "ns.example.test. hostmaster.example.test. 7 3600 600 604800 60"
        );
        let expected = [
            "example.test 300 NS ns.example.test.",
            "ns.example.test 300 A 192.0.2.1",
            "www.example.test 60 CNAME example.test.",
            "m.example.test 300 MX 5 example.test.",
            "sub.example.test 60 A 192.0.2.2 | 192.0.2.3",
            "h.sub.example.test 300 HTTPS 1 . alpn=h2",
            "big.sub.example.test 300 TXT \"a\" \"b\"",
        ];
        assert_eq!(sets(content), expected.map(set).map(|set| (set.key.clone(), set)).into());
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, part) in [
            ("a 60 IN A 192.0.2.1\nb 60 IN A 192.0.2.300\n", 2, "IPv4"),
            ("b 60 IN A 192.0.2.300\n", 1, "IPv4"),
            ("$TTL 60\n@ IN NS localhost.\nwww IN A 192.0.2.300\n", 3, "IPv4"),
            ("a 60 IN A 192.0.2.1\n\n; note\nb 60 IN NOTYPE x\n", 4, "rtype"),
            ("a 60 IN A 192.0.2.1\n\n; note\nb..c 60 IN A 192.0.2.1\n", 4, ""),
            ("a 60 IN MX 10\nb 60 IN A 192.0.2.1\n", 1, ""),
            ("a 60 IN A 192.0.2.1\na.example.org. 60 IN A 192.0.2.1\n", 2, "outside zone"),
            ("a 60 CH TXT x\n", 1, "class"),
            ("a 60 IN CNAME b\na 60 IN CNAME c\n", 2, "expected one"),
            ("x 60 IN A 192.0.2.1\n$INCLUDE other.zone\n", 2, "$INCLUDE"),
            ("@ IN SOA a b 1 2 3 4 5\n@ IN SOA a b 1 2 3 4 5\n", 2, "second SOA"),
            ("a IN SOA a b 1 2 3 4 5\n", 1, "expected it at example.test"),
        ] {
            let error = read(&apex(), text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.problem.contains(part) && !error.problem.is_empty(), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9.@$;()\" \\n\\\\-]{0,120}") {
            let _ = read(&apex(), &text);
        }

        #[test]
        fn any_txt_survives(strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..4)) {
            let data = RData::Txt(zonewright_core::rdata::Txt::from_strings(strings));
            let set = RecordSet::simple(apex(), RecordType::Txt, Ttl::from_secs(1), [data]);
            let text = write(&apex(), &Soa::fresh(&apex(), 1), std::iter::once(&set));
            prop_assert_eq!(sets(read(&apex(), &text).unwrap()), BTreeMap::from([(set.key.clone(), set)]));
        }
    }
}
