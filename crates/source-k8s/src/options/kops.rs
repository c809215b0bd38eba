//! What `zonewright kops` reads: kops' annotations and nothing else, and which of a node's addresses count.
//!
//! In come flag values, out go [`KopsOptions`] where the program was started as that command.

use zonewright_core::catalog::Settings;

/// The setting that the command makes, and no flag: objects are read as dns-controller reads them.
pub const KOPS: &str = "kops";

/// How dns-controller's objects are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own, free to combine with the others")]
pub struct KopsOptions {
    /// `--watch-ingress`: the hosts of Ingresses are read as well.
    pub watch_ingress: bool,
    /// `--internal-ipv4`: the internal network has IPv4.
    pub internal_ipv4: bool,
    /// `--internal-ipv6`: the internal network has IPv6.
    pub internal_ipv6: bool,
    /// `--kops-external-ipv6`: an internal IPv6 address of a node is an external one, too. On by default.
    pub external_ipv6: bool,
}

impl Default for KopsOptions {
    fn default() -> Self {
        Self { watch_ingress: true, internal_ipv4: false, internal_ipv6: false, external_ipv6: true }
    }
}

impl KopsOptions {
    /// Reads the values of the flags; `None` unless the program is that command.
    pub fn from_settings(settings: &Settings) -> Option<Self> {
        settings.bool(KOPS).then(|| Self {
            watch_ingress: settings.bool("watch-ingress"),
            internal_ipv4: settings.bool("internal-ipv4"),
            internal_ipv6: settings.bool("internal-ipv6"),
            external_ipv6: settings.bool("kops-external-ipv6"),
        })
    }

    /// Whether an address of this family is one of the internal network.
    pub fn has_internal(self, address: std::net::IpAddr) -> bool {
        if address.is_ipv4() { self.internal_ipv4 } else { self.internal_ipv6 }
    }
}
