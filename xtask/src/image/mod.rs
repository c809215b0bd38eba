//! `cargo xtask image`: the container image as an OCI image layout, without a container engine.
//!
//! In: the workspace, or a program that is built already. Out: a folder that registries' clients take (`oci:FOLDER:VERSION` for
//! `skopeo` and `podman`). What must hold: the same program gives the same bytes, so nothing of the time, the machine or the
//! user is in it.

mod build;
mod contents;
mod layout;
mod sbom;
mod standard_library;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::process::capture;
use crate::workspace;
use contents::Contents;
use layout::{Image, Layout};

/// A processor, as Go and Rust call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Platform {
    architecture: &'static str,
    target: &'static str,
}

const PLATFORMS: [Platform; 2] = [
    Platform { architecture: "amd64", target: "x86_64-unknown-linux-musl" },
    Platform { architecture: "arm64", target: "aarch64-unknown-linux-musl" },
];

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    platforms: Vec<Platform>,
    /// A program for this machine that is built already: it comes with the shared libraries that it needs.
    binary: Option<PathBuf>,
    out: Option<PathBuf>,
}

impl Options {
    /// # Errors
    /// Names the first option that does not exist.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { platforms: Vec::new(), binary: None, out: None };
        let mut rest = arguments;
        while let [name, value, more @ ..] = rest {
            match name.as_str() {
                "--arch" => options.platforms.push(platform(value)?),
                "--binary" => options.binary = Some(value.into()),
                "--out" => options.out = Some(value.into()),
                other => bail!("`cargo xtask image` has no option {other}"),
            }
            rest = more;
        }
        if let [alone] = rest {
            bail!("{alone} needs a value, or is no option of `cargo xtask image`");
        }
        if options.platforms.is_empty() {
            options.platforms = PLATFORMS.to_vec();
        }
        Ok(options)
    }
}

fn platform(architecture: &str) -> Result<Platform> {
    let found = PLATFORMS.into_iter().find(|platform| platform.architecture == architecture);
    found.with_context(|| format!("--arch {architecture}: expected amd64 or arm64"))
}

/// Writes the layout.
///
/// # Errors
/// When a program cannot be built, or something cannot be read or written.
pub(crate) fn run(options: &Options) -> Result<()> {
    let out = options.out.clone().map_or_else(|| Ok(build::target_folder()?.join("oci")), anyhow::Ok)?;
    let about = About::of_checkout()?;
    let mut layout = Layout::create(&out)?;
    match &options.binary {
        Some(binary) => {
            let contents = Contents::with_libraries(binary)?;
            let bill = sbom::bill(&about.version, None, &contents)?;
            layout.add(&about, host()?, &Image { contents, bill })?;
        }
        None => {
            for platform in &options.platforms {
                let contents = Contents::of_static(&build::program(*platform, &about.revision)?)?;
                let bill = sbom::bill(&about.version, Some(platform.target), &contents)?;
                layout.add(&about, platform.architecture, &Image { contents, bill })?;
            }
        }
    }
    layout.finish(&about)?;
    println!("    {}: version {}", out.display(), about.version);
    Ok(())
}

/// The processor of this machine.
fn host() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => bail!("no image for a processor {other}"),
    }
}

/// What the labels of the image say.
struct About {
    version: String,
    revision: String,
    /// When the commit was made: the only time that is the same for whoever builds it.
    created: String,
}

impl About {
    fn of_checkout() -> Result<Self> {
        let root = workspace::root()?;
        let git = |arguments: &[&str]| {
            let mut git = std::process::Command::new("git");
            let said = capture(git.args(arguments).current_dir(&root).env("TZ", "UTC"));
            said.map(|text| text.trim().to_owned())
        };
        let created = git(&["log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%cd"]);
        Ok(Self {
            version: version(&root)?,
            revision: git(&["rev-parse", "HEAD"]).unwrap_or_else(|_| "unknown".to_owned()),
            created: created.unwrap_or_else(|_| "1970-01-01T00:00:00Z".to_owned()),
        })
    }
}

/// The version of the workspace.
fn version(root: &Path) -> Result<String> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = line.and_then(|line| line.split('"').next());
    version.map(str::to_owned).context("Cargo.toml states no version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_by_name() {
        let parse = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(parse(&[]).unwrap().platforms, PLATFORMS);
        let one = parse(&["--arch", "arm64", "--out", "x"]).unwrap();
        assert_eq!((one.platforms.len(), one.platforms[0].target), (1, "aarch64-unknown-linux-musl"));
        assert_eq!(one.out.as_deref(), Some(Path::new("x")));
        for wrong in [&["--arch", "mips"][..], &["--arch"], &["--tag", "x"], &["x"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
