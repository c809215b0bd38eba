//! Service binding data (RFC 9460): parameters are kept in wire form, ordered by key, as the RFC demands of both forms.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::name::DnsName;

/// Data of an SVCB or HTTPS record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Svcb {
    /// 0 is alias mode.
    pub priority: u16,
    /// The target; the root means the owner name itself (or, in alias mode, nothing).
    pub target: DnsName,
    /// Parameters: key number to value in wire form.
    pub params: SvcParams,
}

/// Service parameters: key number to value in wire form.
pub type SvcParams = BTreeMap<u16, Vec<u8>>;

const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
const PORT: u16 = 3;
const IPV4HINT: u16 = 4;
const ECH: u16 = 5;
const IPV6HINT: u16 = 6;
const DOHPATH: u16 = 7;

const KEYS: [(u16, &str); 8] = [
    (MANDATORY, "mandatory"),
    (ALPN, "alpn"),
    (NO_DEFAULT_ALPN, "no-default-alpn"),
    (PORT, "port"),
    (IPV4HINT, "ipv4hint"),
    (ECH, "ech"),
    (IPV6HINT, "ipv6hint"),
    (DOHPATH, "dohpath"),
];

impl Svcb {
    pub(super) fn parse(priority: u16, target: DnsName, words: Vec<(String, Vec<u8>)>) -> Option<Self> {
        let mut params = SvcParams::new();
        for (name, value) in words {
            let key = key_number(&name)?;
            if params.insert(key, value_to_wire(key, &value)?).is_some() {
                return None;
            }
        }
        let svcb = Self { priority, target, params };
        svcb.is_consistent().then_some(svcb)
    }

    /// RFC 9460 8: mandatory keys are present, sorted and not `mandatory` itself; `no-default-alpn` needs `alpn`.
    fn is_consistent(&self) -> bool {
        if self.params.contains_key(&NO_DEFAULT_ALPN) && !self.params.contains_key(&ALPN) {
            return false;
        }
        let Some(mandatory) = self.params.get(&MANDATORY) else { return true };
        let keys: Vec<u16> = mandatory.chunks_exact(2).map(|k| u16::from_be_bytes([k[0], k[1]])).collect();
        keys.iter().all(|key| *key != MANDATORY && self.params.contains_key(key))
    }
}

fn key_number(name: &str) -> Option<u16> {
    KEYS.iter()
        .find(|(_, known)| *known == name)
        .map(|(number, _)| *number)
        .or_else(|| name.strip_prefix("key")?.parse().ok())
}

fn key_name(number: u16) -> String {
    KEYS.iter().find(|(n, _)| *n == number).map_or_else(|| format!("key{number}"), |(_, name)| (*name).to_owned())
}

fn list(value: &[u8]) -> Option<Vec<Vec<u8>>> {
    // A comma inside an item is written `\,`; the outer escape has been resolved already.
    let mut items = vec![Vec::new()];
    let mut octets = value.iter();
    while let Some(&octet) = octets.next() {
        match octet {
            b',' => items.push(Vec::new()),
            b'\\' => items.last_mut()?.push(*octets.next()?),
            _ => items.last_mut()?.push(octet),
        }
    }
    items.iter().all(|i| !i.is_empty()).then_some(items)
}

fn texts(value: &[u8]) -> Option<Vec<String>> {
    list(value)?.into_iter().map(|item| String::from_utf8(item).ok()).collect()
}

fn value_to_wire(key: u16, value: &[u8]) -> Option<Vec<u8>> {
    Some(match key {
        MANDATORY => {
            let mut keys = texts(value)?.iter().map(|name| key_number(name)).collect::<Option<Vec<u16>>>()?;
            keys.sort_unstable();
            let count = keys.len();
            keys.dedup();
            if keys.len() != count {
                return None;
            }
            keys.into_iter().flat_map(u16::to_be_bytes).collect()
        }
        ALPN => {
            let mut wire = Vec::new();
            for item in list(value)? {
                wire.push(u8::try_from(item.len()).ok()?);
                wire.extend(item);
            }
            wire
        }
        NO_DEFAULT_ALPN => value.is_empty().then(Vec::new)?,
        PORT => std::str::from_utf8(value).ok()?.parse::<u16>().ok()?.to_be_bytes().to_vec(),
        IPV4HINT => addresses::<Ipv4Addr, 4>(value, |a| a.octets())?,
        IPV6HINT => addresses::<Ipv6Addr, 16>(value, |a| a.octets())?,
        ECH => STANDARD.decode(value).ok().filter(|octets| !octets.is_empty())?,
        _ => value.to_vec(),
    })
}

fn addresses<T: std::str::FromStr, const N: usize>(value: &[u8], octets: fn(T) -> [u8; N]) -> Option<Vec<u8>> {
    let all = texts(value)?.iter().map(|t| t.parse().ok().map(octets)).collect::<Option<Vec<_>>>()?;
    Some(all.concat())
}

fn alpn_items(wire: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = wire;
    while let Some((&len, tail)) = rest.split_first() {
        let len = usize::from(len).min(tail.len());
        if !out.is_empty() {
            out.push(b',');
        }
        for &octet in &tail[..len] {
            if matches!(octet, b',' | b'\\') {
                out.push(b'\\');
            }
            out.push(octet);
        }
        rest = &tail[len..];
    }
    out
}

fn joined<T: fmt::Display>(items: impl Iterator<Item = T>) -> String {
    items.map(|i| i.to_string()).collect::<Vec<_>>().join(",")
}

impl fmt::Display for Svcb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.priority, self.target.fqdn())?;
        for (&key, wire) in &self.params {
            write!(f, " {}", key_name(key))?;
            match key {
                NO_DEFAULT_ALPN => {}
                MANDATORY => {
                    let keys = wire.chunks_exact(2).map(|k| key_name(u16::from_be_bytes([k[0], k[1]])));
                    write!(f, "={}", joined(keys))?;
                }
                PORT if wire.len() == 2 => write!(f, "={}", u16::from_be_bytes([wire[0], wire[1]]))?,
                IPV4HINT => {
                    let all = wire.chunks_exact(4).filter_map(|a| <[u8; 4]>::try_from(a).ok()).map(Ipv4Addr::from);
                    write!(f, "={}", joined(all))?;
                }
                IPV6HINT => {
                    let all = wire.chunks_exact(16).filter_map(|a| <[u8; 16]>::try_from(a).ok()).map(Ipv6Addr::from);
                    write!(f, "={}", joined(all))?;
                }
                ECH => write!(f, "=\"{}\"", STANDARD.encode(wire))?,
                ALPN => {
                    f.write_char('=')?;
                    super::text::quoted(&alpn_items(wire), f)?;
                }
                _ if wire.is_empty() => {}
                _ => {
                    f.write_char('=')?;
                    super::text::quoted(wire, f)?;
                }
            }
        }
        Ok(())
    }
}
