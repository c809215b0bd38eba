//! Numbers that are the same for the same seed.

/// The generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The dice of one round of a seed.
    pub fn new(seed: u64, round: u64) -> Self {
        let mut dice = Self(seed ^ round.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 to `limit`, without `limit` itself; 0 where that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % limit).unwrap_or(0)
    }

    /// One of these; `None` of nothing.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get(self.below(among.len()))
    }
}

#[test]
fn the_same_seed_and_round_give_the_same_numbers() {
    let numbers = |seed, round| {
        let mut dice = Dice::new(seed, round);
        (0..8).map(|_| dice.below(1_000)).collect::<Vec<_>>()
    };
    assert_eq!(numbers(7, 1), numbers(7, 1));
    assert_ne!(numbers(7, 1), numbers(7, 2));
    assert_ne!(numbers(7, 1), numbers(8, 1));
    assert_eq!(Dice::new(1, 1).below(0), 0);
    assert_eq!(Dice::new(1, 1).pick::<u8>(&[]), None);
}
