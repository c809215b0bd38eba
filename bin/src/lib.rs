//! The Zonewright daemon and its commands: parse, wire, serve.
//!
//! The binary is three lines over [`run`]. A program with a provider of its own is as short:
//! `zonewright::run(&Catalog::built_in().with(my_provider::ENTRY))`.

// They panic where standard output is closed or full: see `output`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "gardener")]
mod admission;
mod ask;
pub mod catalog;
mod command_flags;
mod config;
mod connection;
mod control;
mod daemon;
#[cfg(feature = "demo")]
mod demo;
mod explain;
pub mod flags;
mod folder;
#[cfg(feature = "gardener")]
mod gardener;
mod history;
pub mod http;
mod input;
pub mod instance;
mod inventory;
mod journal;
#[cfg(feature = "kops")]
mod kops;
pub mod logging;
mod migrate;
mod name_servers;
mod output;
mod ownership;
mod plans;
mod preview;
mod providers;
mod reporter;
mod rights;
mod run;
mod saved;
#[cfg(feature = "webhook-server")]
mod serve;
mod state_dir;
mod state_lock;
mod status;
mod summary;
mod undo;

pub use catalog::Catalog;
pub use run::run;
