//! What few endpoints have, in no more memory than a pointer where it is nothing.

use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use crate::options::Properties;
use crate::record::{Routing, SetId};

/// Labels that a claim carries, as key and value, sorted by key.
pub type Labels = Box<[(Arc<str>, Arc<str>)]>;

/// What an endpoint states besides name, targets and TTL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointExtras {
    /// Set identifier, where a routing policy needs one.
    pub set_id: Option<SetId>,
    /// Routing policy, where the source knows it; most providers read theirs from `properties`.
    pub routing: Routing,
    /// Provider-specific properties as stated.
    pub properties: Properties,
    /// Further labels for the claim, by key; only a DNSEndpoint and the connector protocol can state any.
    pub labels: Labels,
}

/// The [`EndpointExtras`] of an endpoint. Read as if they were there; cloning shares them.
///
/// ```
/// use zonewright_core::endpoint::Extras;
/// use zonewright_core::record::Routing;
///
/// let mut extras = Extras::default();
/// assert!(extras.routing.is_simple());
/// extras.edit(|extras| extras.routing = Routing::Multivalue);
/// assert_eq!(extras.routing, Routing::Multivalue);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extras(Option<Arc<EndpointExtras>>);

impl Extras {
    /// Changes them, for this endpoint alone.
    pub fn edit<T>(&mut self, change: impl FnOnce(&mut EndpointExtras) -> T) -> T {
        let mut extras = self.0.take().map(Arc::unwrap_or_clone).unwrap_or_default();
        let result = change(&mut extras);
        *self = extras.into();
        result
    }
}

impl From<EndpointExtras> for Extras {
    fn from(extras: EndpointExtras) -> Self {
        Self((extras != *NONE).then(|| Arc::new(extras)))
    }
}

impl Deref for Extras {
    type Target = EndpointExtras;

    fn deref(&self) -> &EndpointExtras {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

static NONE: LazyLock<EndpointExtras> = LazyLock::new(EndpointExtras::default);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Endpoint;

    #[test]
    fn nothing_takes_no_memory() {
        let mut extras = Extras::default();
        extras.edit(|extras| extras.set_id = SetId::new("blue"));
        assert_eq!(extras.set_id, SetId::new("blue"));
        extras.edit(|extras| extras.set_id = None);
        assert_eq!(extras, Extras(None));
        assert_eq!(Extras::from(EndpointExtras::default()), Extras(None));
    }

    #[test]
    fn an_endpoint_is_small() {
        assert!(size_of::<Endpoint>() <= 104, "{} bytes", size_of::<Endpoint>());
    }
}
