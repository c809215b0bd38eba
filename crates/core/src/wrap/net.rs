//! Networks as flags state them.

use std::net::Ipv6Addr;

use ipnet::{IpNet, Ipv6Net};

/// A text that is no network of the kind that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NetError(String);

/// A network in CIDR form, such as `10.0.0.0/8`; bits beyond the prefix are cut off.
///
/// # Errors
/// The text is no such thing.
pub fn network(text: &str) -> Result<IpNet, NetError> {
    let net: Result<IpNet, _> = text.trim().parse();
    net.map(|net| net.trunc())
        .map_err(|_| NetError(format!("{text:?} is no network; expected CIDR form, such as 10.0.0.0/8")))
}

/// A NAT64 prefix (RFC 6052, 2.2): an IPv6 network of 96 bits, such as `64:ff9b::/96`.
///
/// # Errors
/// The text is no IPv6 network, or one of another length.
pub fn nat64_prefix(text: &str) -> Result<Ipv6Addr, NetError> {
    let net: Ipv6Net = text
        .trim()
        .parse()
        .map_err(|_| NetError(format!("{text:?} is no IPv6 network; expected one of 96 bits, such as 64:ff9b::/96")))?;
    match net.prefix_len() {
        96 => Ok(net.network()),
        other => Err(NetError(format!("{text:?}: NAT64 prefixes need to be /96 prefixes, this one is /{other}"))),
    }
}
