//! The official client of Cloudflare against the fake: what it sends is understood, what it gets is as the vendor describes it.

use std::process::Command;

use serde_json::Value;

mod faults;
mod rules;

/// Runs a script and returns what it printed.
fn ask(script: &str, arguments: &[&str]) -> Value {
    let python = zonewright_testkit::tools::find("cloudflare").expect("the test requires it");
    let output = Command::new(python)
        .args(["-c", script])
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output()
        .expect("the client starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}
