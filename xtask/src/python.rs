//! Python environments with the clients that vendors give out, which drive our fakes. Out: one folder in the cache for each
//! client and version; a folder that is there is complete, for it is renamed into place.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache;
use crate::process::run;

/// A client: the test kit finds its interpreter as a program of this name.
struct Environment {
    name: &'static str,
    /// Of the package of the same name.
    version: &'static str,
    /// What else it takes, each with its version.
    with: &'static [&'static str],
}

const ENVIRONMENTS: &[Environment] = &[
    // The client of private zones, the library for credentials, and what that one needs besides.
    Environment {
        name: "azure-mgmt-dns",
        version: "9.0.0",
        with: &[
            "azure-mgmt-privatedns==2.0.0",
            "azure-identity==1.27.0",
            "azure-core==1.41.0",
            "msal==1.39.0",
            "pyjwt==2.15.1",
            "requests==2.34.2",
            "cryptography==50.0.2",
        ],
    },
    Environment { name: "boto3", version: "1.44.5", with: &[] },
    Environment { name: "cloudflare", version: "5.9.0", with: &[] },
    // The second client of the same service, and what its library for credentials needs besides.
    Environment {
        name: "google-api-python-client",
        version: "2.202.0",
        with: &["google-cloud-dns==0.37.2", "google-auth==2.62.2", "requests==2.32.5", "cryptography==50.0.2"],
    },
];

/// A C compiler and linker for any target, with musl: a package of Python has it for whoever cannot have it from elsewhere.
const ZIG: Environment = Environment { name: "ziglang", version: "0.15.1", with: &[] };

/// The musl that comes with it.
pub(crate) const MUSL: &str = "1.2.5";

/// The interpreter under the name of its client, wherever the cache is.
const START: &str = "#!/bin/sh\nexec \"$(dirname \"$0\")/bin/python3\" \"$@\"\n";

/// Makes whatever environment is not in the cache yet; a few seconds each.
///
/// # Errors
/// When there is no Python with `venv`, or `pip` failed.
pub(crate) fn ensure() -> Result<()> {
    let cache = cache::folder()?;
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    make_missing(&cache, ENVIRONMENTS)
}

/// The program `zig`, which is fetched if it is not in the cache yet.
///
/// # Errors
/// As [`ensure`].
pub(crate) fn zig() -> Result<PathBuf> {
    let cache = cache::folder()?;
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    make_missing(&cache, &[ZIG])?;
    let libraries = ZIG.folder(&cache).join("lib");
    let found = fs::read_dir(&libraries).with_context(|| format!("cannot read {}", libraries.display()))?;
    let programs = found.flatten().map(|python| python.path().join("site-packages/ziglang/zig"));
    let program = programs.into_iter().find(|program| program.exists());
    program.with_context(|| format!("{} has no zig", libraries.display()))
}

fn make_missing(cache: &Path, environments: &[Environment]) -> Result<()> {
    let missing = |environment: &&Environment| !environment.folder(cache).exists();
    if environments.iter().any(|environment| missing(&environment)) {
        let lock = File::create(cache.join("lock")).context("cannot create the cache's lock file")?;
        lock.lock().context("cannot lock the cache")?;
        // Another task may have made it while this one waited for the lock.
        environments.iter().filter(missing).try_for_each(|environment| environment.make(cache))?;
    }
    Ok(())
}

impl Environment {
    fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-v{}", self.name, self.version))
    }

    fn make(&self, cache: &Path) -> Result<()> {
        let Self { name, version, with } = self;
        println!("    a Python environment with {name} {version} (kept in {})", cache.display());
        let work = cache.join(format!(".build-{name}"));
        if work.exists() {
            fs::remove_dir_all(&work).context("cannot remove what an interrupted build left")?;
        }
        run(Command::new("python3").args(["-m", "venv"]).arg(&work)).context("install python3-venv")?;
        run(Command::new(work.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .arg(format!("{name}=={version}"))
            .args(*with))?;
        let start = work.join(name);
        fs::write(&start, START)?;
        fs::set_permissions(&start, Permissions::from_mode(0o755))?;
        fs::rename(&work, self.folder(cache)).with_context(|| format!("cannot move {name} into place"))
    }
}
