//! The start of authority of a zone (RFC 1035 3.3.13, RFC 2308).

use zonewright_core::rdata::{Content, Opaque};
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};

/// The fields of the SOA record and its TTL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Soa {
    /// TTL of the record itself.
    pub(crate) ttl: Ttl,
    /// Primary server.
    pub(crate) mname: DnsName,
    /// Mailbox of who is responsible.
    pub(crate) rname: DnsName,
    /// Rises with each change, modulo 2^32 (RFC 1982).
    pub(crate) serial: u32,
    /// Refresh, retry, expire and minimum, in seconds.
    pub(crate) timers: [u32; 4],
}

impl Soa {
    /// The start of authority of a zone that nobody wrote down: `serial` is the time, so it rises across restarts.
    pub(crate) fn fresh(apex: &DnsName, serial: u32) -> Self {
        Self {
            ttl: Ttl::from_wire(3600),
            mname: localhost(),
            rname: apex.prepend("hostmaster").unwrap_or_else(|_| DnsName::root()),
            serial,
            timers: [3600, 600, 604_800, 60],
        }
    }

    /// Raises the serial if anything was replaced.
    pub(crate) fn bump<T>(&mut self, replaced: &[T]) {
        self.serial = self.serial.wrapping_add(u32::from(!replaced.is_empty()));
    }

    /// Takes [`Soa::bump`] back.
    pub(crate) fn unbump<T>(&mut self, replaced: &[T]) {
        self.serial = self.serial.wrapping_sub(u32::from(!replaced.is_empty()));
    }

    /// The record set for answers.
    pub(crate) fn record_set(&self, apex: &DnsName) -> RecordSet {
        RecordSet::simple(apex.clone(), RecordType::Soa, Some(self.ttl), [self.data()])
    }

    /// The record set for the authority section of negative answers: its TTL is how long they may be kept (RFC 2308 3).
    pub(crate) fn negative(&self, apex: &DnsName) -> RecordSet {
        let [.., minimum] = self.timers;
        RecordSet { ttl: Some(self.ttl.min(Ttl::from_wire(minimum))), ..self.record_set(apex) }
    }

    /// The presentation form of the data.
    pub(crate) fn text(&self) -> String {
        let [refresh, retry, expire, minimum] = self.timers;
        let (mname, rname, serial) = (self.mname.fqdn(), self.rname.fqdn(), self.serial);
        format!("{mname} {rname} {serial} {refresh} {retry} {expire} {minimum}")
    }

    fn data(&self) -> RData {
        let mut octets = self.mname.to_wire();
        octets.extend(self.rname.to_wire());
        octets.extend(self.serial.to_be_bytes());
        self.timers.iter().for_each(|timer| octets.extend(timer.to_be_bytes()));
        RData::Other(Box::new(Opaque { rtype: RecordType::Soa, content: Content::Octets(octets) }))
    }

    /// Reads the data of an SOA record in wire form; `None` if it is cut.
    pub(crate) fn from_wire(ttl: Ttl, octets: &[u8]) -> Option<Self> {
        let (mname, rest) = DnsName::from_wire(octets).ok()?;
        let (rname, rest) = DnsName::from_wire(rest).ok()?;
        let mut numbers = rest.chunks_exact(4).filter_map(|n| <[u8; 4]>::try_from(n).ok()).map(u32::from_be_bytes);
        let serial = numbers.next()?;
        let timers = [numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?];
        Some(Self { ttl, mname, rname, serial, timers })
    }
}

/// The name server of zones that nobody wrote down.
pub(crate) fn localhost() -> DnsName {
    DnsName::parse("localhost").expect("a plain word is a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_form_and_back() {
        let soa = Soa { serial: u32::MAX, ..Soa::fresh(&DnsName::parse("example.test").unwrap(), 1) };
        let octets = soa.data().to_wire().unwrap();
        assert_eq!(Soa::from_wire(soa.ttl, &octets), Some(soa.clone()));
        assert_eq!(Soa::from_wire(soa.ttl, &octets[..octets.len() - 1]), None);
        assert_eq!(soa.text(), "localhost. hostmaster.example.test. 4294967295 3600 600 604800 60");
    }

    #[test]
    fn the_serial_rises_past_its_end() {
        let mut soa = Soa::fresh(&DnsName::root(), u32::MAX);
        soa.bump::<u8>(&[]);
        assert_eq!(soa.serial, u32::MAX);
        soa.bump(&[1]);
        assert_eq!(soa.serial, 0);
        soa.unbump(&[1]);
        assert_eq!(soa.serial, u32::MAX);
    }
}
