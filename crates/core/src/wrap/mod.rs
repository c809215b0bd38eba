//! What happens to endpoints between their sources and the plan: default targets, NAT64, filters on targets, reverse names,
//! a preference for alias records. In external-dns these are "wrappers"; their order is its order.
//!
//! In comes what one object asks for, out goes the same as the flags turn it. What must hold: it is a pure function of one
//! object's [`Mapped`], so that a change of one object never touches what another asks for.

mod nat64;
mod net;
mod ptr;
mod targets;

use std::net::Ipv6Addr;
use std::sync::Arc;

use async_trait::async_trait;
use ipnet::IpNet;

use crate::endpoint::{Endpoint, Mapped, OtherPrefix, Pending};
use crate::explain::{Consideration, Subject};
use crate::rdata::RData;
use crate::rtype::RecordType;
use crate::source::{Evidence, ObjectState, ObjectUpdate, PublishedNames, Review, Source, SourceErrors, Update};

pub use net::{NetError, nat64_prefix, network};

/// What the flags ask for. The default leaves everything as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wrapping {
    /// `--default-targets`: addresses and host names for endpoints that have none.
    pub default_targets: Vec<RData>,
    /// `--force-default-targets`: in place of all targets.
    pub force_default_targets: bool,
    /// `--nat64-networks`: the first 96 bits, the rest zero.
    pub nat64: Vec<Ipv6Addr>,
    /// `--target-net-filter`.
    pub target_nets: Vec<IpNet>,
    /// `--exclude-target-net`.
    pub excluded_target_nets: Vec<IpNet>,
    /// Whether PTR is a managed type, and if so whether `--create-ptr` asks for the reverse name of every address.
    pub ptr: Option<bool>,
    /// `--prefer-alias`.
    pub prefer_alias: bool,
}

impl Wrapping {
    /// What the object asks for in the end.
    #[must_use]
    pub fn apply(&self, mapped: &Mapped) -> Mapped {
        let mut out = Mapped {
            endpoints: Vec::with_capacity(mapped.endpoints.len()),
            pending: mapped.pending.clone(),
            unknown: mapped.unknown.clone(),
            notes: mapped.notes.clone(),
            kinds: mapped.kinds.clone(),
            other_prefix: mapped.other_prefix.as_ref().map(|other| Box::new(self.apply_to_other(other))),
        };
        for endpoint in &mapped.endpoints {
            self.with_default_targets(endpoint, &mut out);
        }
        self.add_nat64(&mut out.endpoints);
        self.filter_targets(&mut out);
        self.add_reverse_names(&mut out);
        if self.prefer_alias {
            out.endpoints.iter_mut().for_each(prefer_alias);
        }
        out
    }

    /// What the object would ask for in the end, were its other prefix in force.
    fn apply_to_other(&self, other: &OtherPrefix) -> OtherPrefix {
        let (endpoints, pending) = (other.endpoints.clone(), other.pending.clone());
        let Mapped { endpoints, pending, .. } = self.apply(&Mapped { endpoints, pending, ..Mapped::default() });
        OtherPrefix { endpoints, pending, ..other.clone() }
    }

    /// Whether it changes nothing, whatever an object asks for.
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

fn prefer_alias(endpoint: &mut Endpoint) {
    if endpoint.rtype == RecordType::Cname {
        endpoint.extras.edit(|extras| {
            extras.properties.entry(Arc::from("alias")).or_insert_with(|| Arc::from("true"));
        });
    }
}

/// The name is asked for, and nothing is left that it could point to.
fn wait(mapped: &mut Mapped, endpoint: &Endpoint, reason: &str) {
    let (name, resource) = (endpoint.name.clone(), endpoint.resource.clone());
    mapped.pending.push(Pending { name, resource, reason: reason.to_owned() });
}

/// A source whose endpoints go through a [`Wrapping`].
pub struct Wrapped {
    inner: Arc<dyn Source>,
    wrapping: Wrapping,
}

impl std::fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wrapped").field("wrapping", &self.wrapping).finish_non_exhaustive()
    }
}

impl Wrapped {
    /// Wraps `inner`. Also where the flags ask for nothing: endpoints without targets are found here, and wait.
    pub fn around(inner: Arc<dyn Source>, wrapping: Wrapping) -> Arc<dyn Source> {
        Arc::new(Self { inner, wrapping })
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Source for Wrapped {
    async fn changed(&self) {
        self.inner.changed().await;
    }

    fn take(&self, everything: bool) -> Update {
        let mut update = self.inner.take(everything);
        update.objects.iter_mut().for_each(|object| self.wrap(object));
        update
    }

    fn review(&self, most: usize) -> Review {
        let mut review = self.inner.review(most);
        review.objects.iter_mut().for_each(|object| self.wrap(object));
        review
    }

    fn evidence(&self) -> Evidence {
        self.inner.evidence()
    }

    fn errors(&self) -> SourceErrors {
        self.inner.errors()
    }

    fn use_published(&self, published: Arc<dyn PublishedNames>) {
        self.inner.use_published(published);
    }

    fn published_read(&self) -> bool {
        self.inner.published_read()
    }

    fn consider(&self, subject: &Subject) -> Vec<Consideration> {
        let mut found = self.inner.consider(subject);
        for one in &mut found {
            self.wrapping.consider(one);
        }
        found
    }
}

impl Wrapped {
    fn wrap(&self, object: &mut ObjectUpdate) {
        if let ObjectState::Present(mapped) = &mut object.state
            && !self.leaves_alone(mapped)
        {
            *mapped = Arc::new(self.wrapping.apply(mapped));
        }
    }

    fn leaves_alone(&self, mapped: &Mapped) -> bool {
        let other = mapped.other_prefix.iter().flat_map(|other| &other.endpoints);
        self.wrapping.is_idle() && !mapped.endpoints.iter().chain(other).any(targets::is_bare)
    }
}

#[cfg(test)]
mod tests;
