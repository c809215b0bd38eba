//! Numbers drawn from a seed: the same for ever, on every machine.

/// A source of numbers (SplitMix64). Written out here, so that a seed means the same history after every update of a
/// library.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    /// Whether something happens that happens so often in a hundred.
    pub(crate) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// One of `all`, which must not be empty.
    pub(crate) fn pick<'a, T: Sized>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// One of `all` by its weight.
    pub(crate) fn weigh<T: Copy>(&mut self, all: &[(usize, T)]) -> T {
        let mut at = self.below(all.iter().map(|(weight, _)| weight).sum());
        for (weight, what) in all {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *what,
            }
        }
        all[0].1
    }
}

/// One number out of two.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    Chance::new(a ^ b.wrapping_mul(0xD6E8_FEB8_6659_FD93)).next()
}
