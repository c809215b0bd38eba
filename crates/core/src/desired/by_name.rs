//! What one object asks for, found by name: an object may have very many names.

use std::sync::Arc;

use crate::endpoint::{Endpoint, Mapped, Pending};
use crate::name::DnsName;

/// A mapping with its endpoints and pending names in the order of their names.
#[derive(Debug)]
pub(super) struct ByName {
    mapped: Arc<Mapped>,
    /// The order of the endpoints and of the pending names; nothing where both are sorted.
    orders: Option<Box<[Order; 2]>>,
    /// The slow pass in which the object was last seen.
    pass: u32,
}

/// Positions sorted by name, those of one name in the order in which they are stated; nothing where they are so already, as
/// they nearly always are.
#[derive(Debug)]
struct Order(Option<Box<[usize]>>);

impl ByName {
    pub(super) fn new(mapped: Arc<Mapped>, pass: u32) -> Self {
        let endpoints = Order::of(&mapped.endpoints, |endpoint| &endpoint.name);
        let pending = Order::of(&mapped.pending, |pending| &pending.name);
        let sorted = endpoints.0.is_none() && pending.0.is_none();
        Self { mapped, orders: (!sorted).then(|| Box::new([endpoints, pending])), pass }
    }

    /// The object was seen in this pass.
    pub(super) fn see(&mut self, pass: u32) {
        self.pass = pass;
    }

    /// The slow pass in which the object was last seen.
    pub(super) fn pass(&self) -> u32 {
        self.pass
    }

    fn order(&self, which: usize) -> &Order {
        const SORTED: &Order = &Order(None);
        self.orders.as_ref().and_then(|orders| orders.get(which)).unwrap_or(SORTED)
    }

    pub(super) fn mapped(&self) -> &Arc<Mapped> {
        &self.mapped
    }

    /// The endpoints at a name, in the object's order.
    pub(super) fn endpoints<'a>(&'a self, name: &DnsName) -> impl Iterator<Item = &'a Endpoint> + use<'a> {
        self.order(0).at(&self.mapped.endpoints, name, |endpoint| &endpoint.name)
    }

    /// What waits at a name, in the object's order.
    pub(super) fn pending<'a>(&'a self, name: &DnsName) -> impl Iterator<Item = &'a Pending> + use<'a> {
        self.order(1).at(&self.mapped.pending, name, |pending| &pending.name)
    }
}

impl Order {
    fn of<T>(list: &[T], name: impl Fn(&T) -> &DnsName) -> Self {
        if list.is_sorted_by(|a, b| name(a) <= name(b)) {
            return Self(None);
        }
        let mut places: Vec<usize> = (0..list.len()).collect();
        places.sort_by(|a, b| list.get(*a).map(&name).cmp(&list.get(*b).map(&name)));
        Self(Some(places.into_boxed_slice()))
    }

    fn at<'a, T>(
        &'a self,
        list: &'a [T],
        wanted: &DnsName,
        name: fn(&T) -> &DnsName,
    ) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let place = move |at: usize| self.0.as_ref().map_or(Some(at), |places| places.get(at).copied());
        let find = move |at: usize| list.get(place(at)?);
        // The first position whose name is not before the wanted one, or not up to it.
        let bound = |inclusive: bool| {
            let (mut low, mut high) = (0, list.len());
            while low < high {
                let middle = low + (high - low) / 2;
                let before = |item| name(item) < wanted || inclusive && name(item) == wanted;
                if find(middle).is_some_and(before) { low = middle + 1 } else { high = middle }
            }
            low
        };
        (bound(false)..bound(true)).filter_map(find)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{mapped, name};

    #[test]
    fn each_name_has_its_endpoints_in_the_order_of_the_object() {
        let unsorted =
            ["b.example A 192.0.2.1", "a.example A 192.0.2.2", "b.example AAAA 2001:db8::1", "c.example A 192.0.2.3"];
        let mut sorted = unsorted;
        sorted.sort_unstable();
        for lines in [&unsorted[..], &sorted[..], &unsorted[..1], &[]] {
            let known = ByName::new(Arc::new(mapped("Service", "x", lines)), 0);
            for wanted in ["a.example", "b.example", "c.example", "0.example", "bb.example", "d.example"] {
                let found: Vec<String> = known.endpoints(&name(wanted)).map(ToString::to_string).collect();
                let expected: Vec<&str> =
                    lines.iter().copied().filter(|line| line.starts_with(&format!("{wanted} "))).collect();
                assert_eq!(found, expected, "{wanted} of {lines:?}");
            }
        }
    }
}
