//! How the programs are linked that people run.

use std::path::Path;
use std::process::{Command, Stdio};

/// What makes an optimised program smaller, where the linker knows it.
const SMALLER: &[&str] = &[
    // Equal functions once. Nothing may rely on two functions having two addresses.
    "-Wl,--icf=all",
    // No index of the tables for unwinding: a panic ends the process, and there are no names to print.
    "-Wl,--no-eh-frame-hdr",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|found| found == value);
    if !is("PROFILE", "release") || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    // For glibc the list of places that depend on where the program is loaded, in the short form. It needs
    // glibc 2.36, and is a fifteenth of the program otherwise; a linker that does not know it leaves the long form.
    if is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    for flag in SMALLER.iter().filter(|flag| links_with(flag)) {
        println!("cargo:rustc-link-arg-bins={flag}");
    }
}

/// Whether a program can be linked with this flag: linkers end at one that they do not know.
fn links_with(flag: &str) -> bool {
    let (Some(rustc), Some(target), Some(folder)) =
        (std::env::var_os("RUSTC"), std::env::var_os("TARGET"), std::env::var_os("OUT_DIR"))
    else {
        return false;
    };
    let source = Path::new(&folder).join("probe.rs");
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut command = Command::new(rustc);
    command.args(["--crate-type=bin", "-Cpanic=abort"]).arg("--target").arg(target).arg("--out-dir").arg(folder);
    if let Some(linker) = std::env::var_os("RUSTC_LINKER") {
        let mut setting = std::ffi::OsString::from("-Clinker=");
        setting.push(linker);
        command.arg(setting);
    }
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty())).arg(format!("-Clink-arg={flag}"));
    command.arg(source).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
