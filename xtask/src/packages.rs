//! The Debian packages that the tests need: what is missing is installed as root or through `sudo`, without starting a
//! service.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{capture, installed, run, succeeds};

/// A Debian package and a program that it brings; `None` where it brings a library only.
struct Package {
    name: &'static str,
    program: Option<&'static str>,
}

const PACKAGES: &[Package] = &[
    Package { name: "bind9", program: Some("named") },
    Package { name: "bind9-dnsutils", program: Some("nsupdate") },
    Package { name: "knot", program: Some("knotd") },
    Package { name: "knot-dnsutils", program: Some("kdig") },
    Package { name: "pdns-server", program: Some("pdns_server") },
    Package { name: "pdns-backend-sqlite3", program: None },
    Package { name: "sqlite3", program: Some("sqlite3") },
    Package { name: "openssl", program: Some("openssl") },
    // The authorities that the image holds.
    Package { name: "ca-certificates", program: None },
    // Updates signed by Kerberos: a KDC and its tools, another client, and a clock that goes wrong.
    Package { name: "krb5-kdc", program: Some("krb5kdc") },
    Package { name: "krb5-admin-server", program: Some("kadmin.local") },
    Package { name: "krb5-user", program: Some("kinit") },
    Package { name: "faketime", program: Some("faketime") },
    // What the Cargo feature rfc2136-gss-tsig is built with.
    Package { name: "libkrb5-dev", program: None },
    Package { name: "libclang-dev", program: None },
    Package { name: "pkg-config", program: Some("pkg-config") },
];

/// Installs what is missing.
///
/// # Errors Names what is missing where it cannot be installed: not a Debian system, neither root nor password-less
/// `sudo`, or `apt-get` failed.
pub(crate) fn ensure() -> Result<()> {
    let missing: Vec<&str> =
        PACKAGES.iter().filter(|package| !package.is_present()).map(|package| package.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    println!("    installing {}", missing.join(" "));
    install(&missing).with_context(|| format!("missing Debian packages: {}", missing.join(" ")))
}

fn install(packages: &[&str]) -> Result<()> {
    if !installed("apt-get") {
        bail!("there is no apt-get here; install the same programs by hand");
    }
    let mut command = root_shell()?;
    run(command.args(["-c", include_str!("install-packages.sh"), "install-packages"]).args(packages))
}

/// A shell that runs as root.
fn root_shell() -> Result<Command> {
    if capture(Command::new("id").arg("-u"))?.trim() == "0" {
        return Ok(Command::new("sh"));
    }
    if succeeds(Command::new("sudo").args(["-n", "true"])) {
        let mut command = Command::new("sudo");
        command.args(["-n", "sh"]);
        return Ok(command);
    }
    bail!("neither root nor allowed to use sudo without a password");
}

impl Package {
    fn is_present(&self) -> bool {
        self.program.map_or_else(|| dpkg_knows(self.name), installed)
    }
}

fn dpkg_knows(package: &str) -> bool {
    let state = capture(Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]));
    state.is_ok_and(|state| state.trim() == "installed")
}
