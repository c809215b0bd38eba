//! One object of each kind that sources read: it comes, changes, what it depends on changes, it goes. The zone follows each
//! step, and the claims name the object as external-dns does.

mod gateway_api;
mod hosted;
mod istio;
mod late;
mod own;
mod watches;

use serde_json::{Value, json};

use crate::cluster::Space;
use crate::daemon::CommandLine;
use crate::site::{OWNER, Site};

/// The annotation that puts an Ingress in front of a gateway.
const INGRESS: &str = "external-dns.kubernetes.io/ingress";

/// The command line for these sources.
fn line(site: &Site, space: &Space<'_>, sources: &[&str]) -> CommandLine {
    let line = site.line(space).without("--source");
    sources.iter().fold(line, |line, source| line.arg(format!("--source={source}")))
}

/// A claim that names no object.
fn claim_of_nobody(name: &str) -> String {
    format!("{name} 0 TXT \"heritage=external-dns,external-dns/owner={OWNER}\"")
}

/// A Service of type LoadBalancer without names, whose pods have this label.
#[track_caller]
fn front(space: &Space<'_>, name: &str, label: (&str, &str), targets: &[&str]) {
    space.service(name, &[], json!({ "type": "LoadBalancer", "selector": pair(label) }));
    space.reached_at("services", name, targets);
}

fn pair((key, value): (&str, &str)) -> Value {
    [(key.to_owned(), json!(value))].into_iter().collect::<serde_json::Map<_, _>>().into()
}
