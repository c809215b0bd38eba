//! Real servers for tests, on free loopback ports and in temporary folders.
//!
//! In: the programs that `cargo xtask servers` installs. Out: handles to running servers; each ends when its handle is
//! dropped, when the test panics, and when the test process is killed. Nothing here needs an async runtime, and nothing
//! sleeps for a fixed time: readiness is asked for until it is there.
//!
//! ```no_run
//! use zonewright_testkit::{DnsSoftware, Key, ZoneSpec, require};
//!
//! require!(DnsSoftware::Bind.tools());
//! let key = Key::new("ddns");
//! let server = DnsSoftware::Bind.start(&[ZoneSpec::new("example.test", "www 60 IN A 192.0.2.1")], &[key]);
//! server.nsupdate("update add a.example.test 60 A 192.0.2.2");
//! assert_eq!(server.query("a.example.test", "A"), ["192.0.2.2"]);
//! assert_eq!(server.axfr("example.test").len(), 5);
//! ```
//!
//! Everything panics on failure, with the end of the server's log: a test cannot go on without its server.

mod certificate;
pub mod dns;
pub mod kerberos;
pub mod kube;
mod net;
mod outside;
mod process;
pub mod proxy;
pub mod render;
pub mod tools;
mod wait;

pub use certificate::Certificate;
pub use dns::{Algorithm, DnsServer, DnsSoftware, Key, ZoneSpec};
pub use kerberos::Realm;
pub use kube::KubeApi;
pub use net::free_port;
pub use outside::Outside;
pub use proxy::{Fault, TcpFault, UdpFault};
pub use wait::{poll, wait_for};
