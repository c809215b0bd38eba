//! The Helm chart and the kustomizations of `deploy/`, rendered by Helm and kustomize themselves: every value does what it says, unknown
//! ones are refused by naming the right one, and the roles are those that the program asks for.
//!
//! What is rendered is applied to a real API server, and the daemon run as its service account, in the test `e2e`.

mod charts;
mod defaults;
mod kustomize;
mod monitoring;
mod page;
mod rights;
mod schema;
mod values;

/// Returns from the calling test, loudly, where nothing can be rendered.
macro_rules! needs_helm {
    () => {
        zonewright_testkit::require!(zonewright_testkit::render::TOOLS);
    };
}
pub(crate) use needs_helm;
