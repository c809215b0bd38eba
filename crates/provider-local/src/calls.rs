//! Counters, so that tests can assert what something costs.

/// How often each operation was called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// `zones` and `zone`.
    pub zones: u64,
    /// `records` with `Read::All`.
    pub list: u64,
    /// `records` with `Read::Since`.
    pub since: u64,
    /// `records` with `Read::Names`.
    pub names: u64,
    /// `adjust`.
    pub adjust: u64,
    /// `apply`.
    pub apply: u64,
    /// Groups given to `apply`.
    pub groups: u64,
    /// DNS questions about our zones or others.
    pub queries: u64,
}

impl Calls {
    /// Provider calls that would cost a request at a real provider: all but `adjust` and the DNS questions.
    pub fn requests(&self) -> u64 {
        self.zones + self.list + self.since + self.names + self.apply
    }
}
