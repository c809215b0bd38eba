//! Developer tasks, run as `cargo xtask <task>`. Links none of the project's crates, so that it builds in seconds.

mod cache;
mod check;
mod deny;
mod documentation;
mod image;
mod packages;
mod planted;
mod process;
mod python;
mod servers;
mod sidebyside;
mod sizes;
mod test;
mod tool;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask <task>

  test [--no-install] [--fast] [--write-counts]
                                 everything that a change must pass; the last line of output is the verdict
                                 --no-install    take the servers that are there
                                 --fast          only formatting, tidiness and the tests that need no servers, without the examples
                                                 of the documentation
                                 --write-counts  write how many tests each program executes to xtask/test-counts.txt
  check                          the tidy checks alone: manifests, machine paths, what features must not pull in
  deny                           cargo-deny alone: licences, bans and sources of dependencies, known vulnerabilities
  servers                        install and build the servers that the tests run against
  image [--arch amd64|arm64]... [--out FOLDER]
                                 the container image as an OCI image layout, without a container engine: static programs for
                                 the platforms (both unless some are named) in target/image/oci
        --binary PROGRAM         the same for a program that is built already, with the shared libraries that it needs
  sizes                          the program with each provider alone: crates, processor time of the compiler and size
  bench [args...]                the benchmarks
  simulate [args...]             random histories on a virtual clock; see docs/simulator.md
  planted [--write] [word...]    bugs planted on purpose (those with a word in their names), to see that the simulator notices each;
                                 --write also brings the table in docs/simulator.md up to date
  soak                           the long-running tests, at full length
  live --provider PROVIDER --zone ZONE [case...]
                                 the suite of all providers against a zone of a real account, given for it by its id or name:
                                 one that holds nothing but SOA and NS. Credentials as the provider finds them
  sidebyside [--version X] [--provider aws|azure|cloudflare|google [--cost]] [args...]
                                 random objects and flags for a real external-dns and for our program, or both at a fake of
                                 Route 53, Azure DNS, Cloudflare or Cloud DNS; see CONTRIBUTING.md.
                                 Status 69 where external-dns cannot be built
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wrapped = sizes::wrapped(&arguments).or_else(|| documentation::wrapped(&arguments));
    match wrapped.unwrap_or_else(|| task(&arguments)) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the task; another status than success where it has failed and has said so itself.
fn task(arguments: &[String]) -> Result<ExitCode> {
    let Some((task, rest)) = arguments.split_first() else { bail!("which task?\n\n{USAGE}") };
    match (task.as_str(), rest) {
        ("test", options) => {
            let passed = test::run(test::Options::parse(options)?);
            return Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        ("check", []) => check::run()?,
        ("deny", []) => deny::check(true)?.iter().for_each(|notice| println!("NOTICE {notice}")),
        ("servers", []) => ensure_servers()?,
        ("image", options) => image::run(&image::Options::parse(options)?)?,
        ("bench", arguments) => bench(arguments)?,
        ("simulate", arguments) => simulate(arguments)?,
        ("planted", arguments) => {
            return Ok(if planted::play(arguments)? { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        ("soak", []) => soak()?,
        ("sizes", []) => sizes::run()?,
        ("live", [provider_flag, provider, zone_flag, zone, cases @ ..])
            if provider_flag == "--provider" && zone_flag == "--zone" =>
        {
            live(provider, zone, cases)?;
        }
        ("sidebyside", arguments) => return sidebyside::play(arguments),
        ("help" | "--help" | "-h", []) => print!("{USAGE}"),
        _ => bail!("no such task or option: {}\n\n{USAGE}", arguments.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Installs and builds whatever server is missing.
fn ensure_servers() -> Result<()> {
    packages::ensure()?;
    python::ensure()?;
    servers::ensure()
}

fn bench(arguments: &[String]) -> Result<()> {
    const PACKAGE: &str = "zonewright-bench";
    if !workspace::members()?.iter().any(|member| member.name == PACKAGE) {
        println!("there is no package {PACKAGE}, so there is nothing to measure");
        return Ok(());
    }
    process::run(workspace::cargo()?.args(["run", "--release", "--locked", "-p", PACKAGE, "--"]).args(arguments))
}

fn simulate(arguments: &[String]) -> Result<()> {
    const PACKAGE: &str = "zonewright-simulator";
    // A history in which the engine panics is reported as one that failed, which takes unwinding.
    let unwinding = ["--config", "profile.release.panic=\"unwind\""];
    process::run(
        workspace::cargo()?
            .args(["run", "--release", "--locked", "-q"])
            .args(unwinding)
            .args(["-p", PACKAGE, "--"])
            .args(arguments),
    )
}

/// An example of a provider's crate that plays the suite, such as `live_azure`, or `live_azure_private` for its private zones.
fn live(provider: &str, zone: &str, cases: &[String]) -> Result<()> {
    const KINDS: [&str; 2] = ["", "private"];
    let mut known = Vec::new();
    for member in workspace::members()? {
        let Some(name) = member.name.strip_prefix("zonewright-provider-") else { continue };
        for kind in KINDS {
            let separated = |by: &str| if kind.is_empty() { name.to_owned() } else { format!("{name}{by}{kind}") };
            let example = format!("live_{}", separated("_"));
            if member.folder.join("examples").join(&example).join("main.rs").is_file() {
                known.push((separated("-"), member.name.clone(), example));
            }
        }
    }
    let Some((_, package, example)) = known.iter().find(|(name, ..)| name == provider) else {
        let names: Vec<&str> = known.iter().map(|(name, ..)| name.as_str()).collect();
        bail!("--provider {provider}: expected one of {}", names.join(", "));
    };
    let fixed = ["run", "--locked", "-q", "-p", package, "--example", example, "--", "--zone", zone];
    process::run(workspace::cargo()?.args(fixed).args(cases))
}

fn soak() -> Result<()> {
    process::run(
        workspace::cargo()?
            .args(["test", "--release", "--workspace", "--locked", "--features", "zonewright/full"])
            .args(["--", "soak", "--include-ignored"])
            .env("ZONEWRIGHT_SOAK", "full"),
    )
}
