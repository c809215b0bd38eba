//! The behaviour suites that every provider and registry passes, ours and those of third parties.
//!
//! In: a harness, which gives each case a fresh provider and zone (or registry). Out: one named test for each case. What
//! must hold: a suite asserts that what a provider declares to lack is refused in clear words; it never passes over it.
//!
//! ```ignore
//! // tests/conformance.rs
//! async fn harness() -> Option<impl zonewright_conformance::provider::Harness> { ... }
//! zonewright_conformance::provider_suite!(harness);
//! ```

pub mod cloud;
pub mod live;
pub mod provider;
pub mod registry;
mod run;

#[doc(hidden)]
pub use run::run;

/// Turns the provider suite into tests: one for each case, each with a harness of its own.
///
/// The argument names a function `async fn() -> Option<impl Harness>`. `None` skips the case, loudly: the program that
/// the harness needs is not there.
#[macro_export]
macro_rules! provider_suite {
    ($harness:path) => {
        $crate::__provider_cases! { __tests (provider) $harness }
    };
}

/// Turns the registry suite into tests: one for each case, each with a harness of its own.
///
/// The argument names a function `async fn() -> Option<impl registry::Harness>`; see [`provider_suite!`].
#[macro_export]
macro_rules! registry_suite {
    ($harness:path) => {
        $crate::__registry_cases! { __tests (registry) $harness }
    };
}

/// One test for each case.
#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ([($suite:ident) $harness:path] $($case:ident)*) => {
        $(
            #[test]
            fn $case() {
                $crate::run(stringify!($case), $harness, async |harness| $crate::$suite::cases::$case(&harness).await);
            }
        )*
    };
}

/// The table of a suite: the name of each case, and the case.
#[doc(hidden)]
#[macro_export]
macro_rules! __table {
    ([] $($case:ident)*) => {
        /// Every case by name, for runs that are no tests (a provider that is broken on purpose must fail some).
        pub const CASES: &[(&str, Case)] = &[$((stringify!($case), |harness| Box::pin(cases::$case(harness)))),*];
    };
}
