//! How the programs are linked that people run.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|found| found == value);
    // An optimised program for glibc: the list of places that depend on where the program is loaded, in the short form. It needs
    // glibc 2.36, and is a fifteenth of the program otherwise; a linker that does not know it leaves the long form.
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
