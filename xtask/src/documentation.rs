//! The documentation of every library, made of what its tests were built of. `cargo doc` would check all dependencies once more, in a
//! form that nothing else needs, which takes longer than the documentation itself.
//!
//! This program takes rustdoc's place where `cargo test --doc` starts that: it has a crate documented, and then its examples tested.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::process::succeeded;
use crate::workspace;

/// Says to this program that it is started in rustdoc's place, and which program that is.
const RUSTDOC: &str = "ZONEWRIGHT_RUSTDOC";
/// And where the documentation goes.
const FOLDER: &str = "ZONEWRIGHT_DOCS";

/// Has `cargo`, a `cargo test`, document each library whose examples it tests. What is missing or leads nowhere fails it.
///
/// # Errors
/// When this program's own file is not known, or it was not started through cargo.
pub(crate) fn along_with_tests(cargo: &mut Command) -> Result<()> {
    cargo
        .env("RUSTDOC", std::env::current_exe()?)
        .env(RUSTDOC, workspace::rustdoc())
        .env(FOLDER, workspace::target()?.join("doc"));
    Ok(())
}

/// A call in rustdoc's place; `None` if this is none.
pub(crate) fn wrapped(arguments: &[String]) -> Option<Result<ExitCode>> {
    let (rustdoc, folder) = (std::env::var_os(RUSTDOC)?, std::env::var_os(FOLDER)?);
    Some(document_and_test(Path::new(&rustdoc), arguments, Path::new(&folder)))
}

/// Begins the line that says of which crate the documentation has faults.
const FAULTS: &str = "xtask: faults in the documentation of ";

/// Whether this is that line.
pub(crate) fn has_faults(line: &str) -> bool {
    line.contains(FAULTS)
}

fn document_and_test(rustdoc: &Path, arguments: &[String], folder: &Path) -> Result<ExitCode> {
    let mut good = true;
    if let Some(same) = of_documentation(arguments) {
        let mut document = Command::new(rustdoc);
        document.args(same).arg("--out-dir").arg(folder).arg("-Dwarnings");
        good = succeeded(&mut document)?;
        if !good {
            let name = arguments.iter().skip_while(|one| *one != "--crate-name").nth(1);
            eprintln!("{FAULTS}{}", name.map_or("a crate", String::as_str));
        }
    }
    good &= succeeded(Command::new(rustdoc).args(arguments))?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The arguments that document what these test; `None` where they test nothing.
fn of_documentation(arguments: &[String]) -> Option<Vec<&str>> {
    if !arguments.iter().any(|one| one == "--test") {
        return None;
    }
    let mut left = arguments.iter().map(String::as_str);
    let mut kept = Vec::new();
    while let Some(one) = left.next() {
        match one {
            "--test" | "--no-run" => {}
            // Each with its value.
            "--test-run-directory" | "--test-args" => drop(left.next()),
            other => kept.push(other),
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_tests_is_left_out_and_nothing_else() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let tested = words(
            "--crate-name a --test src/lib.rs --test-run-directory /a --extern b=/b --test-args --exact --test-args x -C embed-bitcode=no",
        );
        let documented = "--crate-name a src/lib.rs --extern b=/b -C embed-bitcode=no";
        assert_eq!(of_documentation(&tested).map(|kept| kept.join(" ")).as_deref(), Some(documented));
        assert_eq!(of_documentation(&words("-vV")), None);
    }
}
