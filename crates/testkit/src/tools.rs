//! The programs that tests need: where they are, how to get them, and the loud skip where one is missing.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Folders that hold servers and that ordinary users do not have in `PATH`.
const SYSTEM_FOLDERS: &[&str] = &["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// The file to which every skip is appended, one line each: `cargo xtask test` lists them in its summary.
const SKIPS: &str = "ZONEWRIGHT_SKIPS";
/// Set to `1`: a missing program fails the test. `CI` means the same.
const REQUIRE: &str = "ZONEWRIGHT_REQUIRE_TOOLS";
/// Set to `1`: act as if no program were there. `cargo xtask test --fast` sets it.
const NO_SERVERS: &str = "ZONEWRIGHT_NO_SERVERS";

/// Returns from the calling test, loudly, unless all programs in the given lists are there.
///
/// ```no_run
/// # use zonewright_testkit::{DnsSoftware, KubeApi, require};
/// require!(DnsSoftware::Knot.tools(), KubeApi::TOOLS, &["openssl"]);
/// ```
///
/// # Panics
/// Under `CI` or `ZONEWRIGHT_REQUIRE_TOOLS=1`, where a test that does not run counts as failed.
#[macro_export]
macro_rules! require {
    ($($tools:expr),+ $(,)?) => {
        let mut tools: Vec<&'static str> = Vec::new();
        $(tools.extend_from_slice($tools);)+
        fn here() {}
        if $crate::tools::skip(::std::any::type_name_of_val(&here), &tools) {
            return;
        }
    };
}

/// The program of this name: the newest build in the cache, else the first in `PATH`, else in the system's own folders.
pub fn find(name: &str) -> Option<PathBuf> {
    cached(name).or_else(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let system = SYSTEM_FOLDERS.iter().map(PathBuf::from);
        std::env::split_paths(&path).chain(system).map(|folder| folder.join(name)).find(|path| path.is_file())
    })
}

/// As [`find`], for code that runs after [`require!`].
///
/// # Panics
/// When the program is missing; the message says how to install it.
#[track_caller]
pub(crate) fn need(name: &str) -> PathBuf {
    find(name).unwrap_or_else(|| panic!("{name} is missing ({})", how_to_install(name)))
}

/// What to type where a program is missing.
pub fn how_to_install(name: &str) -> String {
    let package = match name {
        "named" => "bind9",
        "dig" | "nsupdate" => "bind9-dnsutils",
        "knotd" => "knot",
        "kdig" | "knsupdate" => "knot-dnsutils",
        "pdns_server" | "pdnsutil" => "pdns-server pdns-backend-sqlite3",
        "krb5kdc" | "kdb5_util" => "krb5-kdc",
        "kadmin.local" => "krb5-admin-server",
        "kube-apiserver"
        | "etcd"
        | "render-manifests"
        | "azure-mgmt-dns"
        | "boto3"
        | "cloudflare"
        | "google-api-python-client" => {
            return "cargo xtask servers".to_owned();
        }
        other => other,
    };
    format!("cargo xtask servers, or apt-get install {package}")
}

/// Whether the test must return because a program is missing: says so on standard error and in the file named by
/// `ZONEWRIGHT_SKIPS`. `here` is the path of an item in the test function; use [`require!`].
///
/// # Panics
/// As [`require!`] says.
#[doc(hidden)]
pub fn skip(here: &str, tools: &[&str]) -> bool {
    let Some(reason) = reason(tools) else { return false };
    let test = here.trim_end_matches("::here").trim_end_matches("::{{closure}}");
    assert!(!required(), "{test} cannot run: {reason}");
    tell(test, &reason);
    true
}

/// Tells that a test does not run for a reason that no installation mends, such as what the kernel forbids: on standard error
/// and in the summary of the test command.
pub fn tell(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}\n");
    eprint!("{line}");
    if let Some(file) = std::env::var_os(SKIPS) {
        record(Path::new(&file), &line);
    }
}

fn reason(tools: &[&str]) -> Option<String> {
    if is_set(NO_SERVERS) && !tools.is_empty() {
        return Some(format!("needs {}, and {NO_SERVERS} is set", tools.join(", ")));
    }
    let missing = tools.iter().find(|tool| find(tool).is_none())?;
    Some(format!("{missing} is missing ({})", how_to_install(missing)))
}

fn required() -> bool {
    is_set("CI") || is_set(REQUIRE)
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

/// One write per line, so that lines of several test processes do not mix.
fn record(file: &Path, line: &str) {
    let written =
        OpenOptions::new().create(true).append(true).open(file).and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        eprintln!("cannot append to {}: {error}", file.display());
    }
}

/// The newest `<cache>/<name>-v<version>/<name>`.
fn cached(name: &str) -> Option<PathBuf> {
    let prefix = format!("{name}-v");
    let folders = std::fs::read_dir(cache_folder()?).ok()?.flatten();
    let builds = folders.filter_map(|folder| {
        let file_name = folder.file_name();
        let version = version(file_name.to_str()?.strip_prefix(&prefix)?);
        let binary = folder.path().join(name);
        binary.is_file().then_some((version, binary))
    });
    builds.max().map(|(_, binary)| binary)
}

/// Where `cargo xtask servers` keeps what it builds.
fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("ZONEWRIGHT_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("zonewright")))
        .or_else(|| Some(variable("HOME")?.join(".cache/zonewright")))
}

fn version(text: &str) -> Vec<u32> {
    text.split('.').map(|part| part.parse().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program"), None);
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(version("1.36.2") > version("1.9.10"));
    }

    #[test]
    fn a_missing_program_is_named_with_its_remedy() {
        assert_eq!(reason(&["sh"]).filter(|_| !is_set(NO_SERVERS)), None);
        assert!(how_to_install("named").ends_with("apt-get install bind9"));
        assert_eq!(how_to_install("etcd"), "cargo xtask servers");
    }
}
