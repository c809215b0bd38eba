//! The objects that ask for one name: nearly always one.

use std::sync::Arc;

use super::claimant::Claimant;

/// Who asks for a name, in order and each once.
#[derive(Debug)]
pub(super) enum Askers {
    One(Arc<Claimant>),
    #[expect(clippy::box_collection, reason = "a pointer less in each entry; hardly any name has several")]
    Many(Box<Vec<Arc<Claimant>>>),
}

impl Askers {
    pub(super) fn as_slice(&self) -> &[Arc<Claimant>] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many(all) => all,
        }
    }

    pub(super) fn add(&mut self, claimant: &Arc<Claimant>) {
        let Err(place) = self.as_slice().binary_search(claimant) else { return };
        match self {
            Self::One(only) => {
                let mut all = vec![only.clone()];
                all.insert(place, claimant.clone());
                *self = Self::Many(Box::new(all));
            }
            Self::Many(all) => all.insert(place, claimant.clone()),
        }
    }

    /// Takes one out. Returns whether nobody is left.
    pub(super) fn remove(&mut self, claimant: &Arc<Claimant>) -> bool {
        match self {
            Self::One(only) => only == claimant,
            Self::Many(all) => {
                if let Ok(place) = all.binary_search(claimant) {
                    all.remove(place);
                }
                if let [only] = all.as_slice() {
                    *self = Self::One(only.clone());
                    return false;
                }
                all.is_empty()
            }
        }
    }
}
