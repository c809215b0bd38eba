//! A real external-dns beside our program: it is built from its Go module, and `crates/sidebyside` plays to both.
//!
//! In: a release of external-dns. Out: its program in the cache, keyed by the release and its providers. Only the Route 53,
//! Cloudflare, Cloud DNS, webhook and in-memory providers are kept, since the others bring a hundred modules (those of AWS come with the
//! DynamoDB registry anyway); the OpenShift source is left out where its modules cannot be fetched. Nothing else is changed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process::{capture, run};
use crate::{cache, servers, workspace};

/// The release that the recorded runs are closest to.
const RELEASE: &str = "0.22.0";

/// The exit status where external-dns cannot be had: `EX_UNAVAILABLE` of sysexits.h.
const UNAVAILABLE: u8 = 69;

const MODULE: &str = "sigs.k8s.io/external-dns";

/// The providers that are kept.
const PROVIDERS: [&str; 6] = ["aws", "azure", "cloudflare", "google", "inmemory", "webhook"];

/// Builds external-dns where it is missing, and plays to both programs; the arguments go to the player, but for
/// `--version` and `--provider`.
///
/// # Errors
/// When the player cannot be built.
pub(crate) fn play(arguments: &[String]) -> Result<ExitCode> {
    let (release, arguments) = option(arguments, "--version", RELEASE)?;
    let release = plain(&release)?;
    let (provider, arguments) = option(&arguments, "--provider", "webhook")?;
    let player = match provider.as_str() {
        "webhook" => "sidebyside",
        "aws" => "sidebyside-route53",
        "cloudflare" => "sidebyside-cloudflare",
        "azure" => "sidebyside-azure",
        "google" => "sidebyside-clouddns",
        other => bail!("--provider={other}: expected webhook, aws, azure, cloudflare or google"),
    };
    let external_dns = match ensure(&release) {
        Ok(path) => path,
        Err(error) => {
            eprintln!("external-dns {release} cannot be built here, so there is nothing to compare with: {error:#}");
            return Ok(ExitCode::from(UNAVAILABLE));
        }
    };
    let mut command = workspace::cargo()?;
    command.args(["run", "--locked", "-q", "-p", "zonewright-sidebyside", "--bin", player, "--", "--external-dns"]);
    let status = command.arg(external_dns).args(arguments).status().context("cannot start the player")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The value of an option, and the other arguments.
fn option(arguments: &[String], name: &str, unless_given: &str) -> Result<(String, Vec<String>)> {
    let mut words = arguments.iter();
    let (mut given, mut others) = (unless_given.to_owned(), Vec::new());
    while let Some(word) = words.next() {
        match word.strip_prefix(name) {
            Some("") => words.next().with_context(|| format!("{name} has no value"))?.clone_into(&mut given),
            Some(value) if value.starts_with('=') => value[1..].clone_into(&mut given),
            _ => others.push(word.clone()),
        }
    }
    Ok((given, others))
}

/// A release without its `v`.
fn plain(release: &str) -> Result<String> {
    let plain = release.trim_start_matches('v').to_owned();
    if plain.is_empty() || !plain.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b)) {
        bail!("{release:?} is no release of external-dns, such as {RELEASE}");
    }
    Ok(plain)
}

/// The program of this release; about three minutes on two cores the first time.
fn ensure(release: &str) -> Result<PathBuf> {
    let cache = cache::folder()?;
    let folder = cache.join(format!("external-dns-v{release}-{}", PROVIDERS.join("-")));
    let program = folder.join("external-dns");
    if program.exists() {
        return Ok(program);
    }
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let started = Instant::now();
    println!("    building external-dns {release} (kept in {})", cache.display());
    let work = cache.join(format!(".build-external-dns-{release}"));
    if work.exists() {
        fs::remove_dir_all(&work).context("cannot remove what an interrupted build left")?;
    }
    let build = Build { go: servers::go(&cache)?, work: work.clone() };
    build.run(release)?;
    fs::rename(work.join("finished"), &folder).context("cannot move external-dns into place")?;
    fs::remove_dir_all(&work)?;
    println!("    built external-dns {release} in {:.0?}", started.elapsed());
    Ok(program)
}

/// A build in a folder of its own.
struct Build {
    go: OsString,
    work: PathBuf,
}

impl Build {
    fn run(&self, release: &str) -> Result<()> {
        let source = self.work.join("source");
        copy(&self.fetch(release)?, &source)?;
        let factory = source.join("provider/factory/provider.go");
        let text = fs::read_to_string(&factory).context("the list of providers is not where it was")?;
        fs::write(&factory, without_providers(&text))?;
        if let Err(error) = self.compile(&source) {
            println!("    once more without the OpenShift source: {error:#}");
            self.leave_out_openshift(&source)?;
            self.compile(&source)?;
        }
        Ok(())
    }

    /// Fetches the module, and returns the folder in which Go keeps it.
    fn fetch(&self, release: &str) -> Result<PathBuf> {
        let empty = self.work.join("empty");
        fs::create_dir_all(&empty)?;
        fs::write(empty.join("go.mod"), "module zonewright.dev/external-dns\n\ngo 1.26.0\n")?;
        let module = format!("{MODULE}@v{release}");
        run(self.go(&empty).args(["mod", "download", &module]))?;
        let folder = capture(self.go(&empty).args(["list", "-m", "-f", "{{.Dir}}", &module]))?;
        Ok(PathBuf::from(folder.trim()))
    }

    fn compile(&self, source: &Path) -> Result<()> {
        let finished = self.work.join("finished");
        fs::create_dir_all(&finished)?;
        let build = ["build", "-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o"];
        run(self.go(source).env("CGO_ENABLED", "0").args(build).arg(finished.join("external-dns")).arg("."))
    }

    fn leave_out_openshift(&self, source: &Path) -> Result<()> {
        let client = self.work.join("openshift");
        let package = client.join("route/clientset/versioned");
        fs::create_dir_all(&package)?;
        fs::write(client.join("go.mod"), "module github.com/openshift/client-go\n\ngo 1.24\n")?;
        fs::write(package.join("clientset.go"), include_str!("../go/external-dns/openshift_client.go"))?;
        fs::write(source.join("source/openshift_route.go"), include_str!("../go/external-dns/openshift_route.go"))?;
        run(self.go(source).args(["mod", "edit", "-replace", "github.com/openshift/client-go=../openshift"]))
    }

    /// Go in this folder; it may fetch the toolchain that the module asks for.
    fn go(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.go);
        command.current_dir(folder).env("GOTOOLCHAIN", "auto").env("GOFLAGS", "-mod=mod");
        command
    }
}

/// The list of providers without those that are not kept: their imports, and their lines in the table.
fn without_providers(text: &str) -> String {
    let kept = |line: &&str| {
        let imports = line.trim().trim_matches('"').strip_prefix("sigs.k8s.io/external-dns/provider/");
        let constructor = line.trim().strip_suffix(',').and_then(|line| line.rsplit(' ').next()?.split_once(".New"));
        imports.is_none_or(|name| PROVIDERS.contains(&name))
            && constructor.is_none_or(|(package, _)| PROVIDERS.contains(&package))
    };
    text.lines().filter(kept).flat_map(|line| [line, "\n"]).collect()
}

/// Copies a folder of Go's, whose files are read-only, into one that can be changed. Tests stay behind.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&path, &to.join(&name))?;
        } else if !name.to_string_lossy().ends_with("_test.go") {
            fs::write(to.join(&name), fs::read(&path)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_providers_are_kept() {
        let text = "import (\n\t\"sigs.k8s.io/external-dns/provider\"\n\t\"sigs.k8s.io/external-dns/provider/aws\"\n\
                    \t\"sigs.k8s.io/external-dns/provider/awssd\"\n\t\"sigs.k8s.io/external-dns/provider/webhook\"\n)\n\
                    \t\texternaldns.ProviderAWS:          aws.New,\n\t\texternaldns.ProviderAWSSD: awssd.New,\n\
                    \t\texternaldns.ProviderOVH: ovh.New,\n\t\texternaldns.ProviderWebhook:      webhook.New,\n\
                    \t\tp = provider.NewCachedProvider(p, cfg.ProviderCacheTime)\n";
        let kept = "import (\n\t\"sigs.k8s.io/external-dns/provider\"\n\t\"sigs.k8s.io/external-dns/provider/aws\"\n\
                    \t\"sigs.k8s.io/external-dns/provider/webhook\"\n)\n\
                    \t\texternaldns.ProviderAWS:          aws.New,\n\t\texternaldns.ProviderWebhook:      webhook.New,\n\
                    \t\tp = provider.NewCachedProvider(p, cfg.ProviderCacheTime)\n";
        assert_eq!(without_providers(text), kept);
    }

    #[test]
    fn an_option_is_taken_out_of_the_arguments() {
        let words = |arguments: &[&str]| -> Vec<String> { arguments.iter().map(|word| (*word).to_owned()).collect() };
        let check = |arguments: &[&str], expected: &str, others: &[&str]| {
            let (release, rest) = option(&words(arguments), "--version", RELEASE).expect("a release");
            assert_eq!((release.as_str(), rest), (expected, words(others)));
        };
        check(&[], RELEASE, &[]);
        check(&["--seed", "7", "--version", "v0.23.0"], "v0.23.0", &["--seed", "7"]);
        check(&["--version=0.23.0", "--rounds=5"], "0.23.0", &["--rounds=5"]);
        assert!(option(&words(&["--version"]), "--version", RELEASE).is_err());
    }

    #[test]
    fn a_release_is_no_path() {
        assert_eq!(plain("v0.23.0").expect("a release"), "0.23.0");
        assert!(plain("../x").is_err());
        assert!(plain("").is_err());
    }
}
