//! What the provider instances of one process have in common.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

type Values = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// One value of each type, made when it is first asked for; clones have the same values.
///
/// Instances are built one by one and know nothing of each other. Here they find what must be one for all of them: the
/// accounts whose rate they share, the metric that counts their requests.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use zonewright_core::shared::Shared;
///
/// let shared = Shared::default();
/// shared.get::<AtomicU32>().store(7, Ordering::Relaxed);
/// assert_eq!(shared.clone().get::<AtomicU32>().load(Ordering::Relaxed), 7);
/// ```
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Values>>);

impl Shared {
    /// The value of this type.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        let value = value.clone().downcast();
        value.expect("the value under a type's own id is of that type")
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct First(Mutex<u32>);

    #[derive(Default)]
    struct Second(Mutex<u32>);

    #[test]
    fn each_type_has_one_value_and_each_process_its_own() {
        let shared = Shared::default();
        *shared.get::<First>().0.lock().unwrap() = 1;
        *shared.clone().get::<Second>().0.lock().unwrap() = 2;
        assert_eq!((*shared.get::<First>().0.lock().unwrap(), *shared.get::<Second>().0.lock().unwrap()), (1, 2));
        assert_eq!(*Shared::default().get::<First>().0.lock().unwrap(), 0);
    }
}
