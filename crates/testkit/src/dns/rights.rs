//! Servers whose keys have fewer rights than all.

use super::{DnsServer, DnsSoftware, Key, Site, ZoneSpec};

impl DnsServer {
    /// Starts a server whose keys may transfer and update the zones, and not ask queries: neither are
    /// those of anybody else answered.
    ///
    /// # Panics
    /// With PowerDNS, which knows no such right; as [`DnsSoftware::start`].
    #[track_caller]
    pub fn without_queries(software: DnsSoftware, zones: &[ZoneSpec], keys: &[Key]) -> Self {
        assert_ne!(software, DnsSoftware::PowerDns, "it answers everybody's queries");
        let mut site = Site::new(zones, keys);
        site.queries = false;
        Self::start(software, site)
    }

    /// Starts a Knot in whose ACL the keys may change only what these settings allow, such as
    /// `update-owner-name: [a, b]`; one setting in a line.
    ///
    /// # Panics
    /// As [`DnsSoftware::start`].
    #[track_caller]
    pub fn knot_with_rules(zones: &[ZoneSpec], keys: &[Key], rules: &[&str]) -> Self {
        let mut site = Site::new(zones, keys);
        site.rules = format!("    {}\n", rules.join("\n    "));
        Self::start(DnsSoftware::Knot, site)
    }
}
