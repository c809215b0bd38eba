//! The daemon as it is run: its own process with external-dns' arguments, a real kube-apiserver that grants exactly the
//! rights of `deploy/kustomize/base`, and a real DNS server. What is shown is read with `dig`, from the log, from the
//! probes and from the API server; nothing inside the process is looked at.
//!
//! Every zone holds records of others, and every test ends with the proof that they are untouched (see `site`).

mod cluster;
mod crds;
mod daemon;
mod dice;
mod site;

mod api;
#[cfg(feature = "provider-azure")]
mod azure;
mod brake;
mod chaos;
mod chart;
mod claims;
#[cfg(feature = "provider-clouddns")]
mod clouddns;
#[cfg(feature = "provider-cloudflare")]
mod cloudflare;
#[cfg(any(
    feature = "provider-azure",
    feature = "provider-clouddns",
    feature = "provider-cloudflare",
    feature = "provider-route53"
))]
mod clouds;
mod configmap;
mod crowd;
#[cfg(feature = "registry-dynamodb")]
mod dynamodb;
mod evidence;
mod explain;
mod faults;
mod flags;
#[cfg(all(feature = "gardener", feature = "provider-route53"))]
mod gardener;
#[cfg(all(feature = "gardener", feature = "provider-route53"))]
mod gardener_contract;
mod incidents;
mod input;
mod instances;
#[cfg(feature = "rfc2136-gss-tsig")]
mod kerberos;
mod kinds;
#[cfg(feature = "kops")]
mod kops;
mod kubeconfig;
mod load;
mod look;
mod manifests;
#[cfg(all(
    feature = "provider-route53",
    feature = "provider-webhook",
    feature = "registry-dynamodb",
    feature = "webhook-server"
))]
mod migrate;
mod moves;
mod objects;
mod once;
mod output;
mod ownership;
mod pod;
mod refusals;
mod restarts;
#[cfg(feature = "provider-route53")]
mod route53;
mod secrets;
mod serials;
#[cfg(all(
    feature = "provider-azure",
    feature = "provider-clouddns",
    feature = "provider-cloudflare",
    feature = "provider-route53"
))]
mod several_clouds;
mod socket;
mod startup;
mod undo;
#[cfg(feature = "webhook-server")]
mod webhook_server;

use std::time::Duration;

use zonewright_testkit::wait_for;

/// How long a change may take to show; a busy machine is slow.
const SOON: Duration = Duration::from_mins(1);

/// How long what backs off, or counts as lost after 30 s, may take.
const LATER: Duration = Duration::from_mins(3);

/// Waits until the closure says yes.
#[track_caller]
fn until(what: &str, within: Duration, mut holds: impl FnMut() -> bool) {
    wait_for(what, within, || holds().then_some(()));
}

/// The programs of a test with an API server and a DNS server.
macro_rules! needs {
    ($software:expr) => {
        zonewright_testkit::require!(zonewright_testkit::KubeApi::TOOLS, $software.tools());
    };
}
pub(crate) use needs;

/// One named test for each server: `each_server!(case)` makes `case::bind`, `case::knot` and `case::powerdns`.
macro_rules! each_server {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use zonewright_testkit::DnsSoftware;

            #[test]
            fn bind() {
                crate::needs!(DnsSoftware::Bind);
                super::$case(DnsSoftware::Bind);
            }

            #[test]
            fn knot() {
                crate::needs!(DnsSoftware::Knot);
                super::$case(DnsSoftware::Knot);
            }

            #[test]
            fn powerdns() {
                crate::needs!(DnsSoftware::PowerDns);
                super::$case(DnsSoftware::PowerDns);
            }
        }
    )+};
}
pub(crate) use each_server;
