//! DNS messages: queries out, answers in, and the one place where record data crosses between core's types and the wire.
//!
//! Received data is stripped of name compression by the typed parsers of the `domain` crate and then read by core. What
//! core does not understand stays as octets; nothing is dropped.

use domain::base::iana::{Class, Opcode, Rcode, Rtype};
use domain::base::message::RecordSection;
use domain::base::message_builder::{HashCompressor, MessageBuilder, PushError};
use domain::base::name::ToLabelIter;
use domain::base::rdata::{ComposeRecordData, UnknownRecordData};
use domain::base::record::ParsedRecord;
use domain::base::{Message, Name};
use domain::rdata::AllRecordData;
use sha2::{Digest as _, Sha256};
use zonewright_core::provider::Record;
use zonewright_core::rdata::{Content, Opaque};
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};

/// The most octets of a message over TCP.
pub(crate) const MAX_MESSAGE: usize = u16::MAX as usize;

/// Collects a message; owner names are compressed, names in data never (RFC 3597 4).
pub(crate) type Builder = MessageBuilder<HashCompressor<Vec<u8>>>;

/// An empty message of this kind, at most `limit` octets long.
pub(crate) fn builder(opcode: Opcode, limit: usize) -> Builder {
    let mut builder = MessageBuilder::from_target(HashCompressor::new(Vec::new())).expect("a Vec takes twelve octets");
    // The crate refuses what reaches its limit.
    builder.set_push_limit(limit + 1);
    builder.header_mut().set_opcode(opcode);
    builder
}

/// A name as the `domain` crate wants it.
pub(crate) fn wire_name(name: &DnsName) -> Name<Vec<u8>> {
    Name::from_octets(name.to_wire()).expect("core checks the lengths of names")
}

/// A received name in core's form; `None` if its labels do not make one.
pub(crate) fn dns_name(name: &impl ToLabelIter) -> Option<DnsName> {
    DnsName::from_raw_labels(name.iter_labels().filter(|label| !label.is_root()).map(AsRef::as_ref)).ok()
}

/// A question for one type at one name.
pub(crate) fn query(name: &DnsName, rtype: RecordType) -> Vec<u8> {
    question(name, rtype.number().map_or(Rtype::ANY, Rtype::from_int))
}

/// A question for the whole zone (RFC 5936).
pub(crate) fn axfr(zone: &DnsName) -> Vec<u8> {
    question(zone, Rtype::AXFR)
}

/// A question for what changed since `serial` (RFC 1995 3).
pub(crate) fn ixfr(zone: &DnsName, serial: u32) -> Vec<u8> {
    let mut builder = builder(Opcode::QUERY, MAX_MESSAGE).question();
    builder.push((wire_name(zone), Rtype::IXFR)).expect("one question fits");
    let mut soa = vec![0, 0];
    soa.extend(serial.to_be_bytes());
    soa.extend([0; 16]);
    let data = UnknownRecordData::from_octets(Rtype::SOA, soa).expect("22 octets are no long data");
    let mut authority = builder.authority();
    authority.push((wire_name(zone), Class::IN, 0, data)).expect("one record fits");
    authority.finish().into_target()
}

fn question(name: &DnsName, rtype: Rtype) -> Vec<u8> {
    let mut builder = builder(Opcode::QUERY, MAX_MESSAGE).question();
    builder.push((wire_name(name), rtype)).expect("one question fits");
    builder.finish().into_target()
}

/// A record for an UPDATE message: `(name, class, TTL, data)`; the data is empty where RFC 2136 wants none.
pub(crate) type Item = (Name<Vec<u8>>, Class, u32, UnknownRecordData<Vec<u8>>);

/// Builds an UPDATE message (RFC 2136 2) of at most `limit` octets.
pub(crate) fn update(
    zone: &DnsName,
    prerequisites: impl IntoIterator<Item = Item>,
    updates: impl IntoIterator<Item = Item>,
    limit: usize,
) -> Result<Vec<u8>, PushError> {
    let mut zone_section = builder(Opcode::UPDATE, limit).question();
    zone_section.push((wire_name(zone), Rtype::SOA))?;
    let mut prerequisite_section = zone_section.answer();
    prerequisites.into_iter().try_for_each(|item| prerequisite_section.push(item))?;
    let mut update_section = prerequisite_section.authority();
    updates.into_iter().try_for_each(|item| update_section.push(item))?;
    Ok(update_section.finish().into_target())
}

/// An answer whose signature was checked.
#[derive(Debug)]
pub(crate) struct Answer {
    message: Message<Vec<u8>>,
    /// Whether it is signed, or no key is in use.
    pub(crate) trusted: bool,
    /// Whether the request was sent twice, so that the answer may be to the second copy.
    pub(crate) repeated: bool,
}

/// A message is not what DNS allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed message")]
pub(crate) struct Malformed;

impl Answer {
    pub(crate) fn new(octets: Vec<u8>, trusted: bool) -> Result<Self, Malformed> {
        let message = Message::from_octets(octets).map_err(|_| Malformed)?;
        Ok(Self { message, trusted, repeated: false })
    }

    pub(crate) fn rcode(&self) -> Rcode {
        self.message.header().rcode()
    }

    /// Whether the server declines the request as a whole, without saying anything about the zone's content.
    pub(crate) fn is_denial(&self) -> bool {
        matches!(self.rcode(), Rcode::REFUSED | Rcode::NOTAUTH | Rcode::FORMERR | Rcode::SERVFAIL | Rcode::NOTIMP)
    }

    pub(crate) fn is_authoritative(&self) -> bool {
        self.message.header().aa()
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.message.header().tc()
    }

    /// Whether this is an answer to `request`: id and direction, and the question where one is repeated.
    pub(crate) fn answers(&self, request: &[u8]) -> bool {
        let Ok(request) = Message::from_slice(request) else { return false };
        let header = self.message.header();
        header.qr()
            && header.id() == request.header().id()
            && header.opcode() == request.header().opcode()
            && (self.message.header_counts().qdcount() == 0 || self.message.question() == request.question())
    }

    /// Owner and data of the first record of this type in the answer section, of any class, as it stands on the wire.
    #[cfg(feature = "gss-tsig")]
    pub(crate) fn raw(&self, rtype: Rtype) -> Result<Option<(DnsName, Vec<u8>)>, Malformed> {
        for record in self.message.answer().map_err(|_| Malformed)? {
            let record = record.map_err(|_| Malformed)?;
            if record.rtype() == rtype {
                let name = dns_name(&record.owner()).ok_or(Malformed)?;
                return Ok(Some((name, raw(&record)?)));
            }
        }
        Ok(None)
    }

    /// The records of the answer section.
    pub(crate) fn records(&self) -> Result<Vec<Record>, Malformed> {
        records(self.message.answer().map_err(|_| Malformed)?)
    }
}

/// The records of class IN of one section.
fn records(section: RecordSection<'_, Vec<u8>>) -> Result<Vec<Record>, Malformed> {
    let mut out = Vec::new();
    for record in section {
        let record = record.map_err(|_| Malformed)?;
        if record.class() == Class::IN {
            let name = dns_name(&record.owner()).ok_or(Malformed)?;
            out.push(Record { name, ttl: Ttl::from_wire(record.ttl().as_secs()), data: data(&record)? });
        }
    }
    Ok(out)
}

/// Record data in core's form.
fn data(record: &ParsedRecord<'_, Vec<u8>>) -> Result<RData, Malformed> {
    let rtype = RecordType::from_number(record.rtype().to_int());
    let octets = match uncompressed(record) {
        Some(octets) => octets,
        None => raw(record)?,
    };
    Ok(RData::from_wire(rtype, &octets)
        .unwrap_or_else(|_| RData::Other(Box::new(Opaque { rtype, content: Content::Octets(octets) }))))
}

/// The octets without compressed names; `None` if they do not fit the type.
fn uncompressed(record: &ParsedRecord<'_, Vec<u8>>) -> Option<Vec<u8>> {
    let typed = record.to_any_record::<AllRecordData<_, _>>().ok()?;
    let mut octets = Vec::new();
    typed.data().compose_rdata(&mut octets).ok()?;
    Some(octets)
}

fn raw(record: &ParsedRecord<'_, Vec<u8>>) -> Result<Vec<u8>, Malformed> {
    let unknown = record.to_record::<UnknownRecordData<_>>().map_err(|_| Malformed)?.ok_or(Malformed)?;
    Ok(unknown.data().data().to_vec())
}

/// What an SOA record says of a zone's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Soa {
    /// Serial number.
    pub(crate) serial: u32,
    /// Digest of everything else: the primary server, the mailbox and the timers.
    pub(crate) rest: u64,
}

/// The state in an SOA record; `None` for any other record.
pub(crate) fn soa(data: &RData) -> Option<Soa> {
    let RData::Other(opaque) = data else { return None };
    let (RecordType::Soa, Content::Octets(octets)) = (opaque.rtype, &opaque.content) else { return None };
    let (mname, rest) = DnsName::from_wire(octets).ok()?;
    let (rname, rest) = DnsName::from_wire(rest).ok()?;
    let (serial, timers) = rest.split_first_chunk()?;
    let digest =
        Sha256::new().chain_update(mname.to_wire()).chain_update(rname.to_wire()).chain_update(timers).finalize();
    let rest = digest.first_chunk().map(|first| u64::from_be_bytes(*first))?;
    Some(Soa { serial: u32::from_be_bytes(*serial), rest })
}

/// The serial number of an SOA record; `None` for any other record.
pub(crate) fn soa_serial(data: &RData) -> Option<u32> {
    soa(data).map(|soa| soa.serial)
}

/// The name in the first section of a message: the zone that an UPDATE message is about.
#[cfg(feature = "gss-tsig")]
pub(crate) fn zone_of(request: &[u8]) -> Option<DnsName> {
    dns_name(Message::from_slice(request).ok()?.sole_question().ok()?.qname())
}

/// The primary server in an SOA record; `None` for any other record.
#[cfg(feature = "gss-tsig")]
pub(crate) fn soa_primary(data: &RData) -> Option<DnsName> {
    let RData::Other(opaque) = data else { return None };
    let (RecordType::Soa, Content::Octets(octets)) = (opaque.rtype, &opaque.content) else { return None };
    DnsName::from_wire(octets).ok().map(|(name, _)| name)
}

/// Single records as record sets, each key once, in the order of the keys; the SOA is left out. Where the records of a set
/// differ in their TTL (RFC 2181 5.2 forbids it), the smallest counts.
pub(crate) fn group(records: impl IntoIterator<Item = Record>) -> Vec<RecordSet> {
    let zone_data = records.into_iter().filter(|record| record.data.rtype() != RecordType::Soa);
    let mut records: Vec<Record> = zone_data.collect();
    records.sort_unstable_by(|a, b| (&a.name, a.data.rtype()).cmp(&(&b.name, b.data.rtype())));
    let same = |a: &Record, b: &Record| a.name == b.name && a.data.rtype() == b.data.rtype();
    // A zone may have very many: no room is taken that is not needed.
    let mut sets = Vec::with_capacity(records.chunk_by(same).count());
    let mut records = records.into_iter().peekable();
    while let Some(Record { name, mut ttl, data }) = records.next() {
        let rtype = data.rtype();
        let mut all = vec![data];
        while let Some(next) = records.next_if(|next| next.name == name && next.data.rtype() == rtype) {
            ttl = ttl.min(next.ttl);
            all.push(next.data);
        }
        sets.push(RecordSet::simple(name, rtype, Some(ttl), all));
    }
    sets
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> DnsName {
        DnsName::parse(text).unwrap()
    }

    fn record(text: &str) -> Record {
        let words: Vec<&str> = text.splitn(4, ' ').collect();
        let rtype: RecordType = words[2].parse().unwrap();
        let ttl = Ttl::from_secs(words[1].parse().unwrap()).unwrap();
        Record { name: name(words[0]), ttl, data: RData::parse(rtype, words[3]).unwrap() }
    }

    /// An answer with these records as a server would send it, its names compressed in data too.
    fn answer(records: &[(&str, Class, u16, &[u8])]) -> Answer {
        let mut octets = vec![0, 0, 0x84, 0, 0, 1, 0, u8::try_from(records.len()).unwrap(), 0, 0, 0, 0];
        octets.extend(name("example.test").to_wire());
        octets.extend([0, 252, 0, 1]);
        for (owner, class, rtype, data) in records {
            octets.extend(name(owner).to_wire());
            octets.extend(rtype.to_be_bytes());
            octets.extend(class.to_int().to_be_bytes());
            octets.extend([0, 0, 0, 60]);
            octets.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
            octets.extend(*data);
        }
        Answer::new(octets, true).unwrap()
    }

    fn lines(answer: &Answer) -> Vec<String> {
        let shown = |r: &Record| format!("{} {} {} {}", r.name, r.ttl, r.data.rtype(), r.data);
        answer.records().unwrap().iter().map(shown).collect()
    }

    /// A pointer to `example.test` in the question.
    const ZONE: [u8; 2] = [0xc0, 12];

    #[test]
    fn compressed_names_in_data() {
        let with = |before: &[u8], after: &[u8]| [before, &ZONE, after].concat();
        let label = with(b"\x02NS", &[]);
        for (rtype, data, expected) in [
            (2, label.clone(), "NS ns.example.test"),
            (5, ZONE.to_vec(), "CNAME example.test"),
            (12, label.clone(), "PTR ns.example.test"),
            (15, with(&[0, 10], &[]), "MX 10 example.test"),
            (33, with(&[0, 1, 0, 2, 0, 3], &[]), "SRV 1 2 3 example.test"),
            (39, ZONE.to_vec(), "DNAME example.test"),
            (35, with(&[0, 1, 0, 2, 1, b's', 0, 0], &[]), "NAPTR 1 2 \"s\" \"\" \"\" example.test"),
        ] {
            let shown = lines(&answer(&[("a.example.test", Class::IN, rtype, &data)]));
            assert_eq!(shown, [format!("a.example.test 60 {expected}.")]);
        }
        let soa = with(b"\x02ns", &[&ZONE[..], &[0, 0, 0, 9], &[0; 16]].concat());
        let records = answer(&[("example.test", Class::IN, 6, &soa)]).records().unwrap();
        assert_eq!(soa_serial(&records[0].data), Some(9));
    }

    #[test]
    fn what_is_not_understood_is_kept() {
        let shown = lines(&answer(&[
            ("a.example.test", Class::IN, 65280, &[1, 2, 3]),
            ("b.example.test", Class::IN, 1, &[1, 2, 3]),
            ("c.example.test", Class::IN, 16, &[9, b'x']),
            ("d.example.test", Class::IN, 64, &[0, 1, 0, 0, 4, 0, 0, 0, 1, 0, 0]),
            ("e.example.test", Class::CH, 1, &[192, 0, 2, 1]),
        ]));
        let types: Vec<&str> = shown.iter().map(|line| line.split(' ').nth(2).unwrap()).collect();
        assert_eq!(types, ["TYPE65280", "A", "TXT", "SVCB"], "only another class is left out");
    }

    #[test]
    fn records_become_sets() {
        let records =
            ["b.test 60 A 192.0.2.2", "a.test 60 TXT \"x\"", "b.test 30 A 192.0.2.1", "b.test 60 A 192.0.2.2"];
        let sets: Vec<String> = group(records.map(record)).iter().map(ToString::to_string).collect();
        assert_eq!(sets, ["a.test 60 TXT \"x\"", "b.test 30 A 192.0.2.1 ; 192.0.2.2"]);
    }

    #[test]
    fn an_answer_belongs_to_its_question() {
        let question = |text: &str| query(&name(text), RecordType::A);
        let reply = |request: &[u8], change: &dyn Fn(&mut Vec<u8>)| {
            let mut octets = request.to_vec();
            octets[2] |= 0x80;
            change(&mut octets);
            Answer::new(octets, true).unwrap()
        };
        let asked = question("a.test");
        assert!(reply(&asked, &|_| ()).answers(&asked));
        assert!(
            reply(&asked, &|o| {
                o.truncate(12);
                o[5] = 0;
            })
            .answers(&asked),
            "the question may be left out"
        );
        assert!(!reply(&asked, &|o| o[0] ^= 1).answers(&asked), "another id");
        assert!(!reply(&asked, &|o| o[2] &= 0x7f).answers(&asked), "a question");
        assert!(!reply(&asked, &|o| o[2] |= 0x28).answers(&asked), "another kind of request");
        assert!(!reply(&question("b.test"), &|_| ()).answers(&asked), "another name");
    }

    proptest! {
        #[test]
        fn written_is_read(types in prop::collection::vec(0..RecordType::WRITABLE.len(), 1..20)) {
            let texts = ["A 192.0.2.1", "AAAA 2001:db8::1", "CNAME b.test", "TXT \"a b\" \"c\"", "NS ns.test", "SRV 1 2 3 s.test",
                "MX 5 m.test", "PTR p.test", "CAA 0 issue \"x\"", "NAPTR 1 2 \"u\" \"s\" \"r\" n.test", "HTTPS 1 . alpn=h2",
                "SVCB 0 x.test", "DNAME d.test"];
            let records: Vec<Record> =
                types.iter().enumerate().map(|(i, t)| record(&format!("n{i}.example.test 60 {}", texts[*t]))).collect();
            let items = records.iter().map(|r| {
                let rtype = Rtype::from_int(r.data.rtype().number().unwrap());
                let data = UnknownRecordData::from_octets(rtype, r.data.to_wire().unwrap()).unwrap();
                (wire_name(&r.name), Class::IN, r.ttl.secs(), data)
            });
            let octets = update(&name("example.test"), items, [], MAX_MESSAGE).unwrap();
            prop_assert_eq!(Answer::new(octets, true).unwrap().records().unwrap(), records);
        }

        #[test]
        fn arbitrary_octets_never_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(answer) = Answer::new(octets, true) {
                let _ = (answer.records(), answer.answers(&axfr(&name("example.test"))), answer.rcode());
            }
        }
    }
}
