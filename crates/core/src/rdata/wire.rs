//! The uncompressed wire form of record data, in and out.

use std::sync::Arc;

use super::{Caa, Content, Naptr, Opaque, RData, RDataError, SvcParams, Svcb, Txt};
use crate::name::DnsName;
use crate::rtype::RecordType;

impl RData {
    /// The RDATA octets without name compression; `None` for opaque data that is only known as text.
    pub fn to_wire(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Self::A(address) => out.extend(address.octets()),
            Self::Aaaa(address) => out.extend(address.octets()),
            Self::Cname(name) | Self::Dname(name) | Self::Ns(name) | Self::Ptr(name) => out = name.to_wire(),
            Self::Txt(txt) => txt.strings().for_each(|string| push_string(&mut out, string)),
            Self::Mx { preference, exchange } => {
                out.extend(preference.to_be_bytes());
                out.extend(exchange.to_wire());
            }
            Self::Srv { priority, weight, port, target } => {
                for field in [priority, weight, port] {
                    out.extend(field.to_be_bytes());
                }
                out.extend(target.to_wire());
            }
            Self::Caa(caa) => {
                out.push(caa.flags);
                push_string(&mut out, caa.tag.as_bytes());
                out.extend(caa.value.iter());
            }
            Self::Naptr(naptr) => {
                out.extend(naptr.order.to_be_bytes());
                out.extend(naptr.preference.to_be_bytes());
                for string in [&naptr.flags, &naptr.services, &naptr.regexp] {
                    push_string(&mut out, string);
                }
                out.extend(naptr.replacement.to_wire());
            }
            Self::Svcb(svcb) | Self::Https(svcb) => {
                out.extend(svcb.priority.to_be_bytes());
                out.extend(svcb.target.to_wire());
                for (key, value) in &svcb.params {
                    out.extend(key.to_be_bytes());
                    out.extend(u16::try_from(value.len()).ok()?.to_be_bytes());
                    out.extend(value);
                }
            }
            Self::Other(opaque) => match &opaque.content {
                Content::Octets(octets) => out.clone_from(octets),
                Content::Text(_) => return None,
            },
        }
        Some(out)
    }

    /// Reads RDATA octets whose names are not compressed. Types without a variant, and data that has no text form in its
    /// type, become [`RData::Other`].
    ///
    /// # Errors
    /// [`RDataError::Wire`] if the octets do not fit the type.
    pub fn from_wire(rtype: RecordType, octets: &[u8]) -> Result<Self, RDataError> {
        let mut reader = Reader(octets);
        let data = reader.data(rtype).filter(|_| reader.0.is_empty());
        let data = data.ok_or(RDataError::Wire { rtype, length: octets.len() })?;
        // The wire form of these types allows what their text form does not (an empty CAA tag, a port of one octet).
        let loose = matches!(rtype, RecordType::Caa | RecordType::Svcb | RecordType::Https);
        if loose && Self::parse(rtype, &data.to_string()).as_ref() != Ok(&data) {
            return Ok(Self::Other(Box::new(Opaque { rtype, content: Content::Octets(octets.to_vec()) })));
        }
        Ok(data)
    }
}

fn push_string(out: &mut Vec<u8>, string: &[u8]) {
    let string = &string[..string.len().min(255)];
    out.push(u8::try_from(string.len()).expect("cut to 255 octets"));
    out.extend_from_slice(string);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.u8()?;
        self.take(usize::from(length))
    }

    fn name(&mut self) -> Option<DnsName> {
        let (name, rest) = DnsName::from_wire(self.0).ok()?;
        self.0 = rest;
        Some(name)
    }

    fn data(&mut self, rtype: RecordType) -> Option<RData> {
        Some(match rtype {
            RecordType::A => RData::A(<[u8; 4]>::try_from(self.take(4)?).ok()?.into()),
            RecordType::Aaaa => RData::Aaaa(<[u8; 16]>::try_from(self.take(16)?).ok()?.into()),
            RecordType::Cname => RData::Cname(self.name()?),
            RecordType::Dname => RData::Dname(self.name()?),
            RecordType::Ns => RData::Ns(self.name()?),
            RecordType::Ptr => RData::Ptr(self.name()?),
            RecordType::Txt => {
                let mut strings = vec![self.string()?.to_vec()];
                while !self.0.is_empty() {
                    strings.push(self.string()?.to_vec());
                }
                RData::Txt(Txt::from_strings(strings))
            }
            RecordType::Mx => RData::Mx { preference: self.u16()?, exchange: self.name()? },
            RecordType::Srv => {
                RData::Srv { priority: self.u16()?, weight: self.u16()?, port: self.u16()?, target: self.name()? }
            }
            RecordType::Caa => {
                let flags = self.u8()?;
                let tag = std::str::from_utf8(self.string()?).ok()?.to_ascii_lowercase();
                RData::Caa(Box::new(Caa { flags, tag: Arc::from(tag), value: Arc::from(self.rest()) }))
            }
            RecordType::Naptr => RData::Naptr(Box::new(Naptr {
                order: self.u16()?,
                preference: self.u16()?,
                flags: self.string()?.to_vec(),
                services: self.string()?.to_vec(),
                regexp: self.string()?.to_vec(),
                replacement: self.name()?,
            })),
            RecordType::Svcb => RData::Svcb(Box::new(self.svcb()?)),
            RecordType::Https => RData::Https(Box::new(self.svcb()?)),
            RecordType::Soa | RecordType::Other(_) | RecordType::Named(_) => {
                RData::Other(Box::new(Opaque { rtype, content: Content::Octets(self.rest().to_vec()) }))
            }
        })
    }

    fn svcb(&mut self) -> Option<Svcb> {
        let (priority, target) = (self.u16()?, self.name()?);
        let mut params = SvcParams::new();
        while !self.0.is_empty() {
            let (key, length) = (self.u16()?, self.u16()?);
            let value = self.take(usize::from(length))?.to_vec();
            // Keys rise strictly (RFC 9460 2.2).
            if params.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return None;
            }
            params.insert(key, value);
        }
        Some(Svcb { priority, target, params })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_octets_never_panic(number in any::<u16>(), octets in prop::collection::vec(any::<u8>(), 0..80)) {
            for rtype in RecordType::WRITABLE.into_iter().chain([RecordType::from_number(number)]) {
                if let Ok(data) = RData::from_wire(rtype, &octets) {
                    // What was understood is written back to the same octets, but for the case of names and tags.
                    let wire = data.to_wire().unwrap();
                    prop_assert!(wire.eq_ignore_ascii_case(&octets));
                    prop_assert_eq!(RData::parse(rtype, &data.to_string()), Ok(data));
                }
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text in "\\PC{0,60}") {
            for rtype in RecordType::WRITABLE {
                if let Ok(data) = RData::parse(rtype, &text) {
                    prop_assert_eq!(RData::parse(rtype, &data.to_string()).unwrap(), data);
                }
            }
        }
    }
}
