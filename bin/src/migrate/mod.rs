//! `zonewright migrate`: what to run in place of an external-dns, what differs, what is refused and the way round.
//!
//! In: a Deployment or any manifests that hold one, values of external-dns' chart, or its arguments. Out: arguments that work as
//! they stand, the environment that goes with them, and sentences. Nothing but the text is read, no cluster is asked, and no
//! secret that stands in it is printed.

mod bridge;
mod chart;
mod facts;
mod input;
mod report;
pub(crate) mod words;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

use serde::Serialize;
use zonewright_core::catalog::{FlagKind, Settings};
use zonewright_core::{Error, ErrorKind, Result};

use crate::ask::as_json;
use crate::catalog::Catalog;
use crate::flags::sorting::{self, Sorted, Taken};
use crate::flags::{self, Notice, Stop};
use crate::output;
use input::{Content, Source, Variable};

/// Something of external-dns is not taken over.
const REFUSED: u8 = 2;

/// Largest input, in bytes.
const LIMIT: u64 = 8 << 20;

/// What takes the place of an external-dns.
#[derive(Debug, Serialize)]
struct Migration {
    /// What was read.
    from: String,
    /// The image that external-dns runs from.
    image: Option<String>,
    /// Arguments of Zonewright.
    arguments: Vec<String>,
    /// Variables that belong to them.
    environment: Vec<ShownVariable>,
    /// Secrets and ConfigMaps whose keys are variables.
    environment_from: Vec<String>,
    /// Mounts that stay.
    mounts: Vec<String>,
    /// The program beside it that speaks the webhook protocol, if there is to be one.
    sidecar: Option<Sidecar>,
    /// How to get the roles that the arguments need.
    rights: Option<Vec<String>>,
    /// What is different from external-dns with these arguments.
    differs: Vec<String>,
    /// What is not taken over.
    refused: Vec<Refusal>,
    /// Whether the input was values of the chart.
    chart: bool,
}

/// One variable, without the value of a secret.
#[derive(Debug, Serialize)]
struct ShownVariable {
    name: String,
    /// Where its value is: `Secret dns/keys, key secret`.
    from: String,
    /// A shell's expression for it.
    #[serde(skip)]
    shell: Option<String>,
}

/// A container beside the daemon.
#[derive(Debug, Serialize)]
struct Sidecar {
    name: String,
    image: String,
    ports: Vec<u64>,
    /// Its arguments, where it is a new one.
    arguments: Vec<String>,
    /// Why it is there.
    about: String,
}

/// Something that is not taken over.
#[derive(Debug, Serialize)]
struct Refusal {
    what: String,
    why: String,
    /// What to do instead.
    way: String,
}

fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, "read what external-dns is started with", text)
}

/// Reads the input, and prints what takes its place.
///
/// # Errors
/// The input cannot be read, or holds no external-dns.
pub(crate) fn run(catalog: &Catalog, settings: &Settings) -> Result<ExitCode> {
    let place = settings.text("from");
    let text = if place == "-" {
        crate::input::text(std::io::stdin(), LIMIT)
    } else {
        std::fs::File::open(place).and_then(|file| crate::input::text(file, LIMIT))
    };
    let text = text.map_err(|error| wrong(format!("--from={place}")).caused_by(error))?;
    let source =
        input::read(&text, settings.text("name")).map_err(|problem| wrong(format!("--from={place}: {problem}")))?;
    let migration = of(catalog, &source);
    let text = if settings.text("output") == "json" { as_json(&migration) } else { report::text(&migration) };
    let status = if migration.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) };
    Ok(output::print(text).or_failure(status))
}

/// What is known of the former daemon on the way.
struct Swap<'a> {
    catalog: &'a Catalog,
    source: &'a Source,
    sorted: Sorted,
    /// Flags that variables stand in for, with their value where it is known.
    variables: BTreeMap<&'static str, Option<String>>,
    refused: Vec<Refusal>,
    differs: Vec<String>,
}

impl Swap<'_> {
    /// The value of a flag, from the arguments or the environment.
    fn text(&self, name: &str) -> Option<&str> {
        self.sorted.text(name).or_else(|| self.variables.get(name)?.as_deref())
    }

    fn gives(&self, name: &str) -> bool {
        self.sorted.text(name).is_some() || self.variables.contains_key(name)
    }

    fn refuse(&mut self, what: impl Into<String>, why: impl Into<String>, way: impl Into<String>) {
        self.refused.push(Refusal { what: what.into(), why: why.into(), way: way.into() });
    }

    /// Major and minor number of the image's version.
    fn version(&self) -> Option<(u64, u64)> {
        let (_, tag) = self.source.image.as_deref()?.split('@').next()?.rsplit_once(':')?;
        let mut numbers = tag.trim_start_matches('v').split(['.', '-']).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }

    fn drop_flag(&mut self, name: &str) {
        self.sorted.taken.retain(|taken| taken.name != name);
    }

    fn add(&mut self, name: &'static str, value: &str, kind: FlagKind) {
        self.sorted.taken.push(Taken { name, value: value.to_owned(), kind, env: String::new() });
    }
}

fn of(catalog: &Catalog, source: &Source) -> Migration {
    let known = |name: &str| plain(source, name).map(str::to_owned);
    let sorted = sorting::sort(catalog, &source.arguments, &known);
    let mut swap =
        Swap { catalog, source, sorted, variables: BTreeMap::new(), refused: Vec::new(), differs: Vec::new() };
    for refused in std::mem::take(&mut swap.sorted.refused) {
        let way = facts::way(&refused.what);
        swap.refuse(refused.what, refused.why, way);
    }
    variables(&mut swap);
    missing(&mut swap);
    registry(&mut swap);
    let sidecar = bridge::provider(&mut swap);
    policy(&mut swap);
    prefix(&mut swap);
    check(&mut swap);
    facts::report(&mut swap);
    let shown = |taken: &&Taken| !taken.is_secret();
    let arguments: Vec<String> = swap.sorted.taken.iter().filter(shown).map(Taken::argument).collect();
    let rights = swap.source.service_account.as_ref().map(|account| {
        let own = format!("--service-account={}/{account}", swap.source.namespace);
        let mut words = vec!["zonewright".to_owned(), "rbac".to_owned(), own];
        words.extend(arguments.iter().cloned());
        words
    });
    Migration {
        from: source.what.clone(),
        image: source.image.clone(),
        environment: shown_variables(&swap),
        arguments,
        environment_from: source.environment_from.clone(),
        mounts: source.mounts.clone(),
        sidecar,
        rights,
        differs: swap.differs,
        refused: swap.refused,
        chart: source.chart,
    }
}

/// The value of a variable that stands in the input.
fn plain<'s>(source: &'s Source, name: &str) -> Option<&'s str> {
    source.environment.iter().find(|variable| variable.name == name).and_then(|variable| match &variable.content {
        Content::Plain(text) => Some(text.as_str()),
        Content::Key { .. } | Content::Field(_) => None,
    })
}

/// Looks at the variables that stand in for flags.
fn variables(swap: &mut Swap<'_>) {
    for Variable { name, content } in &swap.source.environment {
        if !name.starts_with("EXTERNAL_DNS_") {
            continue;
        }
        match sorting::of_variable(swap.catalog, name) {
            Some((flag, _)) => {
                let value = plain(swap.source, name).map(str::to_owned);
                swap.variables.insert(flag, value);
            }
            None => {
                swap.differs.push(format!("{name} is the variable of no flag: external-dns does not read it either"));
            }
        }
        if matches!(content, Content::Plain(text) if text.is_empty()) {
            swap.differs.push(format!("{name} is empty, which counts as not set in both"));
        }
    }
}

fn missing(swap: &mut Swap<'_>) {
    for (flag, way) in [
        ("provider", "give the provider that owns the zones"),
        ("source", "give each kind of object that is read, such as --source=service --source=ingress"),
    ] {
        let refused = swap.refused.iter().any(|refusal| refusal.what.starts_with(&format!("--{flag}")));
        // Keys of a Secret or ConfigMap may be variables of external-dns.
        if !swap.gives(flag) && !refused && swap.source.environment_from.is_empty() {
            swap.refuse(format!("--{flag}"), "it is not given, and external-dns has no default for it", way);
        }
    }
}

fn registry(swap: &mut Swap<'_>) {
    let Some(registry) = swap.text("registry").map(str::to_owned) else { return };
    if sorting::has_registry(swap.catalog, &registry) {
        return;
    }
    swap.drop_flag("registry");
    swap.refuse(
        format!("--registry={registry}"),
        "Zonewright has no such registry, so the claims that it holds are not read",
        "without the flag claims are TXT records (--registry=txt): before the first start, `zonewright adopt` with the arguments below \
         claims the records that hold what the cluster asks for",
    );
}

fn policy(swap: &mut Swap<'_>) {
    if swap.gives("policy") || !swap.source.environment_from.is_empty() {
        return;
    }
    swap.add("policy", "sync", FlagKind::Text);
    let since = match swap.version() {
        Some((0, minor)) if minor < 22 => "was the default of this version",
        _ => "was the default before 0.22, which has none",
    };
    swap.differs.push(format!(
        "--policy must be given; --policy=sync {since}. --policy=upsert-only deletes nothing, for a first look"
    ));
}

/// The prefix of annotations that the version read.
fn prefix(swap: &mut Swap<'_>) {
    const FORMER: &str = "external-dns.alpha.kubernetes.io/";
    if swap.gives("annotation-prefix") || swap.gives("enable-legacy-annotation-prefix") {
        return;
    }
    match swap.version() {
        Some((0, minor)) if minor < 22 => {
            swap.add("annotation-prefix", FORMER, FlagKind::Text);
            swap.differs.push(format!(
                "this version reads annotations that begin with {FORMER}, so --annotation-prefix says so; give the flag a second time \
                 with external-dns.kubernetes.io/ to read both"
            ));
        }
        Some(_) => {}
        None => swap.differs.push(format!(
            "before 0.22 annotations began with {FORMER}: if yours do, add --annotation-prefix={FORMER}. Objects that carry only the \
             other prefix get an event, and what is published for them stays"
        )),
    }
}

/// Lets the command line be read as the daemon will read it.
fn check(swap: &mut Swap<'_>) {
    let arguments: Vec<OsString> =
        swap.sorted.taken.iter().map(|taken| OsString::from(expanded(swap, taken))).collect();
    let known = |name: &str| -> Option<OsString> {
        let variable = swap.source.environment.iter().find(|variable| variable.name == name)?;
        let sample = || sorting::of_variable(swap.catalog, name).map(|(_, kind)| sorting::sample(kind).to_owned());
        plain(swap.source, &variable.name).map(str::to_owned).or_else(sample).map(OsString::from)
    };
    match flags::parse(swap.catalog, arguments, &known) {
        Ok(invocation) => {
            for notice in invocation.notices {
                let (Notice::Info(text) | Notice::Warning(text)) = notice;
                swap.differs.push(text);
            }
        }
        Err(Stop::Answer(_)) => swap.refuse("--help or --version", "they print a text and end", "leave them out"),
        Err(Stop::Refusal(text)) => problem(swap, &text),
    }
}

fn problem(swap: &mut Swap<'_>, text: &str) {
    let text = text.trim_start_matches("config validation failed: ").trim_start_matches("flag parsing error: ");
    for part in text.split("; ").filter(|part| !part.starts_with("available here")) {
        if part.contains("not compiled into this build") || part.contains("has no Kubernetes client") {
            swap.differs.push(format!("{part}; the image has everything"));
        } else if part.starts_with("required flag(s)") {
            // Each of them was reported with the way round.
        } else {
            swap.refuse(
                "these arguments together",
                part,
                "mend that, and give the result to `zonewright migrate` again",
            );
        }
    }
}

/// An argument with what is known of variables in it.
fn expanded(swap: &Swap<'_>, taken: &Taken) -> String {
    let mut out = taken.argument();
    while let Some((before, after)) = out.split_once("$(") {
        let Some((name, rest)) = after.split_once(')') else { break };
        let value = plain(swap.source, name).unwrap_or_else(|| sorting::sample(taken.kind)).to_owned();
        out = format!("{before}{value}{rest}");
    }
    out
}

/// Whether a variable's value is likely to be a secret.
fn is_secret(name: &str) -> bool {
    ["SECRET", "TOKEN", "PASSWORD", "KEY", "CREDENTIAL"].iter().any(|word| name.contains(word))
        && !name.ends_with("KEYNAME")
}

fn shown_variables(swap: &Swap<'_>) -> Vec<ShownVariable> {
    let namespace = &swap.source.namespace;
    let of = |Variable { name, content }: &Variable| {
        let (from, shell) = match content {
            Content::Plain(_) if is_secret(name) => {
                ("its value in the input, which is not repeated here".to_owned(), None)
            }
            Content::Plain(text) => (format!("{text:?}"), Some(words::quote(text))),
            Content::Field(field) => (format!("the pod's field {field}"), None),
            Content::Key { kind, name, key } => {
                let path = key.replace('.', "\\.");
                let get = format!("kubectl --namespace={namespace} get {} {name}", kind.to_lowercase());
                let decode = if *kind == "Secret" { " | base64 -d" } else { "" };
                let shell = format!("\"$({get} --output=jsonpath='{{.data.{path}}}'{decode})\"");
                (format!("{kind} {namespace}/{name}, key {key}"), Some(shell))
            }
        };
        ShownVariable { name: name.clone(), from, shell }
    };
    let given = swap.sorted.taken.iter().filter(|taken| taken.is_secret()).map(|taken| {
        let from = match taken.value.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) {
            Some(variable) => format!("the variable {variable}"),
            None => format!(
                "the value of the argument --{}, which is not repeated here and belongs into a Secret",
                taken.name
            ),
        };
        let shell = taken.value.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
        ShownVariable { name: taken.env.clone(), from, shell: shell.map(|name| format!("\"${name}\"")) }
    });
    swap.source.environment.iter().map(of).chain(given).collect()
}

#[cfg(test)]
mod tests;
