//! Where external-dns' arguments come from: manifests, values of its chart, or a list of arguments.
//!
//! In: a text. Out: a [`Source`] for the one external-dns that it describes, or a sentence.

use serde_json::Value;

use super::chart;
use super::words;

/// One external-dns, as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Source {
    /// What it is, for people: `Deployment dns/external-dns`, `chart values`, `arguments`.
    pub(super) what: String,
    /// Its namespace; empty if it is not known.
    pub(super) namespace: String,
    /// Its service account.
    pub(super) service_account: Option<String>,
    /// The image of its container.
    pub(super) image: Option<String>,
    /// The arguments of its container.
    pub(super) arguments: Vec<String>,
    /// The environment of its container.
    pub(super) environment: Vec<Variable>,
    /// Where more of its environment comes from: `Secret dns/keys`.
    pub(super) environment_from: Vec<String>,
    /// Where volumes are mounted, each with what it is.
    pub(super) mounts: Vec<String>,
    /// The other containers of the pod.
    pub(super) others: Vec<Other>,
    /// What of the input was not read.
    pub(super) unread: Vec<String>,
    /// Whether it was the values of a chart.
    pub(super) chart: bool,
}

/// One environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) content: Content,
}

/// Where a variable has its value from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// It stands in the manifest.
    Plain(String),
    /// A key of a Secret or ConfigMap.
    Key { kind: &'static str, name: String, key: String },
    /// A field of the pod.
    Field(String),
}

/// Another container of the pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Other {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) ports: Vec<u64>,
}

/// A text of the document, if there is one at this path.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The elements of a list; none where there is no list.
pub(super) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A scalar as text.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(on) => Some(on.to_string()),
        _ => None,
    }
}

/// Reads the text; `name` chooses one of several workloads, as `NAMESPACE/NAME` or `NAME`.
///
/// # Errors
/// It cannot be read, holds no external-dns, or holds several.
pub(super) fn read(input: &str, name: &str) -> Result<Source, String> {
    if input.trim().is_empty() {
        return Err("the input is empty".to_owned());
    }
    let documents: Result<Vec<Value>, _> = serde_saphyr::from_multiple(input);
    match documents {
        Ok(documents) if documents.iter().any(Value::is_object) => objects(documents, name),
        Ok(documents) => match documents.into_iter().find(Value::is_array) {
            Some(arguments) => Ok(of_arguments(list(&arguments, "").iter().filter_map(scalar).collect())),
            None => words::split(input).map(of_arguments),
        },
        Err(error) if input.trim_start().starts_with('-') || input.contains(" --") => {
            // Arguments need be no YAML: `--fqdn-template={{.Name}}.example.com`.
            words::split(input).map(of_arguments).map_err(|problem| format!("{problem}; as YAML: {error}"))
        }
        Err(error) => Err(format!("it is no YAML: {error}")),
    }
}

fn of_arguments(mut arguments: Vec<String>) -> Source {
    // The name of the program, with what stands before it.
    while arguments.first().is_some_and(|word| !word.starts_with("--")) {
        arguments.remove(0);
    }
    Source { what: "the arguments".to_owned(), arguments, ..Source::default() }
}

fn objects(documents: Vec<Value>, name: &str) -> Result<Source, String> {
    let mut all = Vec::new();
    for document in documents {
        if text(&document, "/kind").is_some_and(|kind| kind.ends_with("List")) {
            all.extend(list(&document, "/items").iter().cloned());
        } else {
            all.push(document);
        }
    }
    let plain = |value: &&Value| value.is_object() && value.get("kind").is_none() && value.get("apiVersion").is_none();
    if let Some(values) = all.iter().find(plain) {
        return chart::of(values);
    }
    if let Some(release) = all.iter().find(|value| text(value, "/kind") == Some("HelmRelease")) {
        let values = release.pointer("/spec/values").ok_or("the HelmRelease has no spec.values")?;
        return chart::of(values);
    }
    let named = |source: &Source| {
        let own = source.what.split_once(' ').map_or("", |(_, path)| path);
        name.is_empty() || own == name || own.split_once('/').is_some_and(|(_, short)| short == name)
    };
    let mut found: Vec<Source> = all.iter().filter_map(workload).filter(named).collect();
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            let all: Vec<&str> = found.iter().chain([&last]).map(|source| source.what.as_str()).collect();
            Err(format!("there are several: {}; choose one with --name=NAMESPACE/NAME", all.join(", ")))
        }
        (None, _) => Err(none(&all, name)),
    }
}

fn none(all: &[Value], name: &str) -> String {
    let shown = |value: &Value| {
        let kind = text(value, "/kind").unwrap_or("something");
        format!("{kind} {}", path(value))
    };
    let kinds: Vec<String> = all.iter().filter(|value| value.is_object()).take(10).map(shown).collect();
    let which = if name.is_empty() { String::new() } else { format!(" of the name {name}") };
    format!(
        "there is no external-dns{which} in it: expected a Deployment (or another workload) with a container whose image or name is \
         external-dns; found {}",
        kinds.join(", ")
    )
}

fn path(value: &Value) -> String {
    let name = text(value, "/metadata/name").unwrap_or("without a name");
    text(value, "/metadata/namespace").map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// The external-dns of a workload, if it has one.
fn workload(value: &Value) -> Option<Source> {
    let kind = text(value, "/kind")?;
    let pod = match kind {
        "Pod" => "/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    let spec = value.pointer(pod)?;
    let containers = list(spec, "/containers");
    let at = containers.iter().position(|one| is_image(one, "external-dns"));
    let at = at.or_else(|| containers.iter().position(|one| text(one, "/name") == Some("external-dns")));
    let at = at.or_else(|| containers.iter().position(looks_like_it))?;
    let container = containers.get(at)?;
    let others = containers.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, one)| other(one));
    // A sidecar that starts before the others is an init container that restarts.
    let early =
        list(spec, "/initContainers").iter().filter(|one| text(one, "/restartPolicy") == Some("Always")).map(other);
    let mut source = Source {
        what: format!("{kind} {}", path(value)),
        namespace: text(value, "/metadata/namespace").unwrap_or("default").to_owned(),
        service_account: text(spec, "/serviceAccountName").map(str::to_owned),
        others: others.chain(early).collect(),
        ..Source::default()
    };
    fill(&mut source, container, spec);
    Some(source)
}

/// Takes over what a container and its pod say.
fn fill(source: &mut Source, container: &Value, pod: &Value) {
    source.image = text(container, "/image").map(str::to_owned);
    source.arguments = arguments(container);
    source.environment = list(container, "/env").iter().filter_map(variable).collect();
    source.environment_from = list(container, "/envFrom").iter().filter_map(from).collect();
    let volumes = list(pod, "/volumes");
    let mount = |mount: &Value| {
        let (name, path) = (text(mount, "/name")?, text(mount, "/mountPath")?);
        let volume = volumes.iter().find(|volume| text(volume, "/name") == Some(name));
        Some(format!("{path}: {}", volume.map_or_else(|| name.to_owned(), volume_text)))
    };
    source.mounts = list(container, "/volumeMounts").iter().filter_map(mount).collect();
}

fn volume_text(volume: &Value) -> String {
    let named = [("Secret", "/secret/secretName"), ("ConfigMap", "/configMap/name"), ("host path", "/hostPath/path")];
    let found = named.iter().find_map(|(kind, pointer)| Some(format!("{kind} {}", text(volume, pointer)?)));
    let kind = || {
        volume.as_object().and_then(|all| all.keys().find(|key| *key != "name")).map(|kind| format!("volume {kind}"))
    };
    found.or_else(kind).unwrap_or_else(|| "volume".to_owned())
}

/// The last part of an image's path, without tag and digest.
fn image_name(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split(':').next().unwrap_or_default()
}

fn is_image(container: &Value, name: &str) -> bool {
    text(container, "/image").is_some_and(|image| image_name(image) == name)
}

fn looks_like_it(container: &Value) -> bool {
    let arguments = arguments(container);
    let has = |flag: &str| arguments.iter().any(|argument| argument.starts_with(flag));
    has("--source") && has("--provider")
}

fn other(container: &Value) -> Other {
    let ports = list(container, "/ports").iter().filter_map(|port| port.pointer("/containerPort")?.as_u64());
    Other {
        name: text(container, "/name").unwrap_or_default().to_owned(),
        image: text(container, "/image").unwrap_or_default().to_owned(),
        ports: ports.collect(),
    }
}

/// What the program is started with: the command after its own word, and the arguments. A shell's script is taken apart.
fn arguments(container: &Value) -> Vec<String> {
    let texts = |pointer| list(container, pointer).iter().filter_map(scalar).collect::<Vec<String>>();
    let all: Vec<String> = texts("/command").into_iter().chain(texts("/args")).collect();
    let script = all.iter().position(|word| word == "-c").and_then(|at| all.get(at + 1));
    let all = script.and_then(|script| words::split(script).ok()).unwrap_or(all);
    all.into_iter().skip_while(|word| !word.starts_with("--")).collect()
}

fn variable(value: &Value) -> Option<Variable> {
    let name = text(value, "/name")?.to_owned();
    let key = |kind, at: &str| {
        let named = |field: &str| text(value, &format!("/valueFrom/{at}/{field}")).map(str::to_owned);
        Some(Content::Key { kind, name: named("name")?, key: named("key")? })
    };
    let content = key("Secret", "secretKeyRef")
        .or_else(|| key("ConfigMap", "configMapKeyRef"))
        .or_else(|| text(value, "/valueFrom/fieldRef/fieldPath").map(|field| Content::Field(field.to_owned())));
    let plain = || Content::Plain(value.pointer("/value").and_then(scalar).unwrap_or_default());
    Some(Variable { name, content: content.unwrap_or_else(plain) })
}

fn from(value: &Value) -> Option<String> {
    let named = |kind: &str, at: &str| Some(format!("{kind} {}", text(value, &format!("/{at}/name"))?));
    let prefix = text(value, "/prefix").map(|prefix| format!(" with the prefix {prefix}")).unwrap_or_default();
    let found = named("Secret", "secretRef").or_else(|| named("ConfigMap", "configMapRef"))?;
    Some(found + &prefix)
}

/// The variables of a list in a chart's values.
pub(super) fn variables(values: &Value, pointer: &str) -> Vec<Variable> {
    list(values, pointer).iter().filter_map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_every_form() {
        let expected = ["--source=service", "--provider=aws", "--fqdn-template={{.Name}}.example.com"];
        for input in [
            "external-dns --source=service --provider=aws '--fqdn-template={{.Name}}.example.com'",
            "./build/external-dns \\\n  --source=service \\\n  --provider=aws --fqdn-template={{.Name}}.example.com\n",
            "- --source=service\n- --provider=aws\n- --fqdn-template={{.Name}}.example.com\n",
            "[\"--source=service\", \"--provider=aws\", \"--fqdn-template={{.Name}}.example.com\"]",
            "--source=service --provider=aws --fqdn-template={{.Name}}.example.com",
        ] {
            let source = read(input, "").unwrap_or_else(|problem| panic!("{input}: {problem}"));
            assert_eq!(source.arguments, expected, "{input}");
        }
    }

    #[test]
    fn a_script_of_a_shell_is_taken_apart() {
        let input = "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec:\n  containers:\n    - name: external-dns\n      command: \
                     [sh, -c, 'exec external-dns --source=pod --provider=aws']\n";
        assert_eq!(read(input, "").unwrap().arguments, ["--source=pod", "--provider=aws"]);
    }

    #[test]
    fn what_holds_no_external_dns_is_reported() {
        let deployment = |name: &str, image: &str| {
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: dns}}\nspec:\n  template:\n    \
                 spec:\n      containers:\n        - {{name: main, image: '{image}', args: [--source=pod]}}\n---\n"
            )
        };
        let (one, two) = (deployment("one", "r/external-dns:v0.22.0"), deployment("two", "r/external-dns:v0.22.0"));
        for (input, name, expected) in [
            (String::new(), "", "the input is empty"),
            ("a: [b\n".to_owned(), "", "it is no YAML"),
            (deployment("web", "nginx"), "", "there is no external-dns in it: expected a Deployment"),
            (deployment("web", "r/external-dns-webhook:1"), "", "found Deployment dns/web"),
            (
                format!("{one}{two}"),
                "",
                "there are several: Deployment dns/one, Deployment dns/two; choose one with --name",
            ),
            (format!("{one}{two}"), "three", "there is no external-dns of the name three"),
            ("a: b\n".to_owned(), "", "these are no values of external-dns' chart"),
        ] {
            let problem = read(&input, name).unwrap_err();
            assert!(problem.contains(expected), "{input}: {problem}");
        }
        assert_eq!(read(&format!("{one}{two}"), "dns/two").unwrap().what, "Deployment dns/two");
    }

    #[test]
    fn images_by_their_name() {
        for (image, expected) in [
            ("registry.k8s.io/external-dns/external-dns:v0.22.0", "external-dns"),
            ("localhost:5000/external-dns@sha256:abc", "external-dns"),
            ("ghcr.io/x/external-dns-stackit-webhook:v1", "external-dns-stackit-webhook"),
            ("external-dns", "external-dns"),
        ] {
            assert_eq!(image_name(image), expected);
        }
    }
}
