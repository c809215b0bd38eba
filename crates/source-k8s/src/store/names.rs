//! The objects of one kind in one namespace, by name.
//!
//! A clone shares them in pieces: who changes an object while a clone lasts copies the piece that holds it, and not all of a
//! namespace that holds a hundred thousand. What must hold: names are in order, each stands in the piece with the greatest lower
//! bound that is not above it, and no piece holds more than [`MOST`].

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use zonewright_core::endpoint::Uid;

use super::Object;

/// What is held of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// All that mappers read.
    Whole(Object),
    /// That it is there; its UID.
    Remains(Uid),
}

impl Held {
    pub(super) fn object(&self) -> Option<&Object> {
        match self {
            Self::Whole(object) => Some(object),
            Self::Remains(_) => None,
        }
    }

    pub(super) fn into_object(self) -> Option<Object> {
        match self {
            Self::Whole(object) => Some(object),
            Self::Remains(_) => None,
        }
    }
}

/// The most objects in one piece.
const MOST: usize = 512;

type Piece = BTreeMap<Arc<str>, Held>;

/// Pieces by their lower bounds, the first of which is the empty text.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(Arc<BTreeMap<Arc<str>, Arc<Piece>>>);

impl Names {
    pub(super) fn get(&self, name: &str) -> Option<&Held> {
        let (_, piece) = self.0.range::<str, _>(up_to(name)).next_back()?;
        piece.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Held> {
        self.piece_mut(name)?.get_mut(name)
    }

    pub(super) fn insert(&mut self, name: Arc<str>, held: Held) {
        let Some(piece) = self.piece_mut(&name) else {
            let first = Piece::from([(name, held)]);
            Arc::make_mut(&mut self.0).insert(Arc::default(), Arc::new(first));
            return;
        };
        piece.insert(name, held);
        if piece.len() > MOST
            && let Some(middle) = piece.keys().nth(MOST / 2).cloned()
        {
            let upper = piece.split_off(&middle);
            Arc::make_mut(&mut self.0).insert(middle, Arc::new(upper));
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Held> {
        let piece = self.piece_mut(name)?;
        let old = piece.remove(name)?;
        if piece.is_empty() {
            self.drop_empty(name);
        }
        Some(old)
    }

    /// Lays the pieces out anew, without the room that they grew with.
    pub(super) fn compact(&mut self) {
        let mut all = std::mem::take(self).into_sorted().into_iter();
        let pieces = Arc::make_mut(&mut self.0);
        loop {
            let part: Vec<(Arc<str>, Held)> = all.by_ref().take(MOST / 4 * 3).collect();
            let Some((first, _)) = part.first() else { return };
            let bound = if pieces.is_empty() { Arc::default() } else { Arc::clone(first) };
            pieces.insert(bound, Arc::new(part.into_iter().collect()));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Held)> {
        self.0.values().flat_map(|piece| piece.iter())
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(|piece| piece.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(|piece| piece.is_empty())
    }

    fn piece_mut(&mut self, name: &str) -> Option<&mut Piece> {
        let (_, piece) = Arc::make_mut(&mut self.0).range_mut::<str, _>(up_to(name)).next_back()?;
        Some(Arc::make_mut(piece))
    }

    /// Takes the piece of a name away, which is empty. The first stays: every name has a piece.
    fn drop_empty(&mut self, name: &str) {
        let pieces = Arc::make_mut(&mut self.0);
        let bound = pieces.range::<str, _>(up_to(name)).next_back().map(|(bound, _)| Arc::clone(bound));
        if let Some(bound) = bound.filter(|bound| !bound.is_empty()) {
            pieces.remove(&bound);
        }
    }

    fn into_sorted(self) -> Vec<(Arc<str>, Held)> {
        let pieces = Arc::unwrap_or_clone(self.0).into_values();
        pieces.flat_map(|piece| Arc::unwrap_or_clone(piece).into_iter()).collect()
    }
}

/// The bounds of the pieces that may hold a name.
fn up_to(name: &str) -> (Bound<&str>, Bound<&str>) {
    (Bound::Unbounded, Bound::Included(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::annotations::AnnotationFilterKeys;
    use crate::kind::Kind;
    use crate::store::Keep;

    fn held(name: &str, number: usize) -> Held {
        let keep = Keep { annotations: AnnotationFilterKeys::new([], []), whole: [].into() };
        let value = json!({ "metadata": { "name": name, "namespace": "shop", "uid": number.to_string() } });
        let object = Object::from_value(Kind::Ingress, value, &keep).unwrap();
        if number.is_multiple_of(3) { Held::Remains(object.meta().uid.clone()) } else { Held::Whole(object) }
    }

    fn shown<'a>(names: impl Iterator<Item = (&'a Arc<str>, &'a Held)>) -> Vec<(String, Held)> {
        names.map(|(name, held)| (name.to_string(), held.clone())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever is done to it, it holds what a plain map holds, in the same order, and a clone what it held.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0..2_000_u32, 0..8_u8), 1..4_000)) {
            let (mut names, mut plain) = (Names::default(), Piece::new());
            let mut clone = (names.clone(), Vec::new());
            for (number, (name, what)) in steps.into_iter().enumerate() {
                let name: Arc<str> = format!("n{name}").into();
                match what {
                    0 if number % 97 == 0 => names.compact(),
                    0 => prop_assert_eq!(names.remove(&name), plain.remove(&name)),
                    1 => {
                        let (mine, theirs) = (names.get_mut(&name), plain.get_mut(&name));
                        prop_assert_eq!(mine.is_some(), theirs.is_some());
                        for there in mine.into_iter().chain(theirs) {
                            *there = held(&name, number);
                        }
                    }
                    2 if number % 31 == 0 => {
                        prop_assert_eq!(shown(clone.0.iter()), clone.1);
                        clone = (names.clone(), shown(plain.iter()));
                    }
                    _ => {
                        names.insert(name.clone(), held(&name, number));
                        plain.insert(name.clone(), held(&name, number));
                    }
                }
                prop_assert_eq!(names.get(&name), plain.get(&name));
            }
            prop_assert_eq!(shown(names.iter()), shown(plain.iter()));
            prop_assert_eq!((names.len(), names.is_empty()), (plain.len(), plain.is_empty()));
            prop_assert_eq!(shown(clone.0.iter()), clone.1);
            prop_assert!(names.0.values().all(|piece| piece.len() <= MOST));
        }
    }

    #[test]
    fn a_change_copies_one_piece() {
        let mut names = Names::default();
        for number in 0..10_000 {
            let name = format!("n{number:05}");
            names.insert(name.as_str().into(), held(&name, number));
        }
        let clone = names.clone();
        names.insert("n05000".into(), held("n05000", 1));
        let shared = names.0.values().filter(|piece| clone.0.values().any(|other| Arc::ptr_eq(piece, other))).count();
        assert_eq!(shared + 1, names.0.len());
        assert!(names.0.len() > 20 && clone.get("n05000") != names.get("n05000"));
        (0..10_000).for_each(|number| drop(names.remove(&format!("n{number:05}"))));
        assert!(names.is_empty() && names.0.len() == 1, "what is empty does not stay");
        assert_eq!(clone.len(), 10_000);
    }
}
