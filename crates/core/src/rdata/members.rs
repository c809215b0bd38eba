//! Record data as a set: whether one is among many, however many there are.

use std::collections::HashSet;

use super::RData;

/// Lists up to this length are searched one by one, which is quicker than to hash them.
const FEW: usize = 16;

/// Record data without order.
#[derive(Debug, Clone)]
pub(crate) enum Members<'a> {
    /// A short list.
    Few(&'a [RData]),
    /// A long one.
    Many(HashSet<&'a RData>),
}

impl<'a> Members<'a> {
    pub(crate) fn of(list: &'a [RData]) -> Self {
        if list.len() <= FEW { Self::Few(list) } else { Self::Many(list.iter().collect()) }
    }

    /// Whether two lists of data hold the same, whatever the order.
    pub(crate) fn same(a: &[RData], b: &[RData]) -> bool {
        let inside = |list: &[RData], other: &[RData]| {
            let members = Members::of(other);
            list.iter().all(|data| members.holds(data))
        };
        a.len() == b.len() && (a == b || inside(a, b) && inside(b, a))
    }

    pub(crate) fn holds(&self, data: &RData) -> bool {
        match self {
            Self::Few(list) => list.contains(data),
            Self::Many(set) => set.contains(data),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtype::RecordType;

    fn addresses(numbers: impl Iterator<Item = usize>) -> Vec<RData> {
        numbers.map(|n| RData::parse(RecordType::A, &format!("10.0.{}.{}", n / 250, n % 250)).unwrap()).collect()
    }

    #[test]
    fn order_means_nothing_however_many_there_are() {
        for count in [1, FEW, FEW + 1, 3_000] {
            let (up, down) = (addresses(0..count), addresses((0..count).rev()));
            assert!(Members::same(&up, &down), "{count}");
            let other = addresses(1..=count);
            assert!(!Members::same(&up, &other) && !Members::of(&up).holds(&other[count - 1]), "{count}");
        }
    }
}
