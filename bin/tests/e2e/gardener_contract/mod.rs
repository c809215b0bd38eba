//! The controller of DNSRecords as Gardener sees it: its own process, a real kube-apiserver with Gardener's kinds that grants exactly
//! the rights of `deploy/gardener/manifests`, and the services of providers on loopback. What is shown is read from the API server
//! and from the services; nothing inside the process is looked at.
//!
//! Tests of one API server keep apart by the class of their objects (see [`seed`]).

mod accept;
mod admission;
mod clouds;
mod crowd;
mod errors;
mod filters;
mod life;
mod move_on;
mod names;
mod others;
mod records;
mod rights;
mod secrets;
mod seed;
mod shoot;
mod texts;
mod ttl;
mod world;
mod zones;
