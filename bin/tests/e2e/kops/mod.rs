//! `zonewright kops` in place of dns-controller: a cluster with the rights of `deploy/kops` alone, whose control-plane nodes come, are
//! rolled and go; and zones at BIND, Route 53 and Cloud DNS, read past the daemon.

mod adoption;
mod bind;
#[cfg(any(feature = "provider-route53", feature = "provider-clouddns"))]
mod clouds;
mod flags;
mod input;
mod plane;
mod prober;
mod rights;
mod values;
