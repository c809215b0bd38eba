//! The tidy checks: rules that the compiler does not know. All run before the verdict.

mod imports;
mod manifests;
mod strings;
mod tree;

use anyhow::{Context as _, Result, bail};

use crate::planted;
use crate::test::counts;

/// A check returns what it found; an error means that it could not look.
type Check = fn() -> Result<Vec<String>>;

const CHECKS: &[(&str, Check)] = &[
    ("manifests", manifests::check),
    ("machine paths", strings::check),
    ("circles of imports", imports::check),
    ("files of tests", counts::unlisted),
    ("places of planted bugs", planted::misplaced),
    ("dependency trees", tree::check),
];

/// Runs every check.
///
/// # Errors
/// When a check found something, after all of it was printed, or could not run.
pub(crate) fn run() -> Result<()> {
    let mut found = 0;
    for (name, check) in CHECKS {
        let problems = check().with_context(|| format!("checking the {name}"))?;
        println!("    {name}: {} problems", problems.len());
        for problem in &problems {
            println!("      {problem}");
        }
        found += problems.len();
    }
    if found > 0 {
        bail!("the tidy checks found {found} problems");
    }
    Ok(())
}
