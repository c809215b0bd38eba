//! The rights that a daemon with given flags needs in its cluster, as roles to apply.
//!
//! In: the settings. Out: a `ClusterRole` for what is read everywhere, a `Role` for what is read in one namespace alone, one
//! for the registry's documents where they are in another namespace, and one for the daemon's own; where a service account is named,
//! with their bindings to it. What must hold: nothing is
//! in them that the daemon does not use.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write};

use zonewright_core::catalog::Settings;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_source_k8s::lookup::ReadScope;
use zonewright_source_k8s::options::SourceOptions;

use crate::catalog::Catalog;
use crate::connection;

/// API group (empty for the core group) and resource, with the verbs.
type Rules = BTreeMap<(String, String), BTreeSet<&'static str>>;

/// The roles for these settings, as YAML documents.
///
/// # Errors
/// The settings of the sources are wrong, the service account is none, or nothing of a cluster is read.
pub(crate) fn show(catalog: &Catalog, settings: &Settings) -> Result<String> {
    if !settings.text("manifests").is_empty() {
        let text = "with --manifests nothing of a cluster is read, and no right is needed";
        return Err(Error::new(ErrorKind::Configuration, "list the rights", text));
    }
    let account = Account::parse(settings.text("service-account"))?;
    let options = SourceOptions::from_settings(settings)?;
    let mut everywhere = Rules::new();
    let mut within: BTreeMap<String, Rules> = BTreeMap::new();
    // What no cluster has, such as the answers of a connector, needs no right in one.
    for (kind, reach) in options.reads().into_iter().filter(|(kind, _)| !kind.is_polled()) {
        let spec = kind.spec();
        let rules = match &reach {
            ReadScope::Namespace(namespace) if spec.namespaced => within.entry(namespace.to_string()).or_default(),
            _ => &mut everywhere,
        };
        // Nodes and other kinds outside namespaces are never asked for one by one.
        add(rules, spec.group, spec.plural, if spec.namespaced { READ } else { LIST });
        if spec.plural == "dnsendpoints" {
            add(rules, spec.group, "dnsendpoints/status", &["update"]);
        }
    }
    let mut own = Rules::new();
    add(&mut own, "", "configmaps", &["get", "create", "update"]);
    let mut registry = None;
    if connection::keeps_documents(catalog, settings) {
        match settings.text("registry-namespace") {
            "" => add(&mut own, "", "configmaps", &["list", "patch"]),
            namespace => {
                let mut rules = Rules::new();
                add(&mut rules, "", "configmaps", &["get", "list", "create", "patch"]);
                registry = Some((namespace.to_owned(), rules));
            }
        }
    }
    // Events on objects say why a name is not published, those on the pod that deletes are held.
    match within.values_mut().next().filter(|_| everywhere.is_empty()) {
        Some(first) => [first, &mut own].into_iter().for_each(add_events),
        None => add_events(&mut everywhere),
    }
    let mut roles = Vec::new();
    let named =
        |kind, name: &str, namespace: Option<String>, rules| Role { kind, name: name.to_owned(), namespace, rules };
    roles.extend((!everywhere.is_empty()).then(|| named("ClusterRole", "zonewright", None, everywhere)));
    roles.extend(
        within.into_iter().map(|(namespace, rules)| named("Role", "zonewright-sources", Some(namespace), rules)),
    );
    roles.extend(
        registry.into_iter().map(|(namespace, rules)| named("Role", "zonewright-registry", Some(namespace), rules)),
    );
    let home = account.as_ref().map(|account| account.namespace.clone());
    let own = named("Role", "zonewright", home, own);
    let bindings = account.iter().flat_map(|account| roles.iter().chain([&own]).map(|role| account.binding(role)));
    let head = "# For the daemon's own namespace: state, journal, approvals.\n";
    let documents = roles.iter().map(ToString::to_string).chain([format!("{head}{own}")]).chain(bindings);
    Ok(documents.collect::<Vec<_>>().join("---\n"))
}

/// The service account that the daemon's pod runs as.
struct Account {
    namespace: String,
    name: String,
}

impl Account {
    /// The account that a text names, as `namespace/name`; none for an empty one.
    ///
    /// # Errors
    /// It has another form.
    fn parse(text: &str) -> Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        let fits = |part: &str| !part.is_empty() && part.chars().all(letter);
        let parts = text.split_once('/').filter(|(namespace, name)| fits(namespace) && fits(name));
        let (namespace, name) = parts.ok_or_else(|| {
            let text = format!("--service-account {text:?} is none: expected namespace/name, such as dns/zonewright");
            Error::new(ErrorKind::Configuration, "list the rights", text)
        })?;
        Ok(Some(Self { namespace: namespace.to_owned(), name: name.to_owned() }))
    }

    /// The binding of a role to the account, where the role stands.
    fn binding(&self, role: &Role) -> String {
        let Role { kind, name, .. } = role;
        format!(
            "{}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {name}\nsubjects:\n  \
             - kind: ServiceAccount\n    name: {}\n    namespace: {}\n",
            role.head("Binding"),
            self.name,
            self.namespace
        )
    }
}

const READ: &[&str] = &["get", "list", "watch"];
const LIST: &[&str] = &["list", "watch"];

fn add(rules: &mut Rules, group: &str, resource: &str, verbs: &[&'static str]) {
    rules.entry((group.to_owned(), resource.to_owned())).or_default().extend(verbs);
}

fn add_events(rules: &mut Rules) {
    for group in ["", "events.k8s.io"] {
        add(rules, group, "events", &["create", "patch"]);
    }
}

/// One role.
struct Role {
    kind: &'static str,
    name: String,
    namespace: Option<String>,
    rules: Rules,
}

impl Role {
    /// How its manifest begins, or that of its binding with the ending `Binding` of the kind.
    fn head(&self, ending: &str) -> String {
        let Self { kind, name, namespace, .. } = self;
        let namespace = namespace.as_ref().map(|namespace| format!("  namespace: {namespace}\n")).unwrap_or_default();
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}{ending}\nmetadata:\n  name: {name}\n{namespace}"
        )
    }
}

impl Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}rules:", self.head(""))?;
        for (group, verbs, resources) in gathered(&self.rules) {
            let group = if group.is_empty() { "\"\"" } else { group };
            writeln!(f, "  - apiGroups: [{group}]\n    resources: [{resources}]\n    verbs: [{verbs}]")?;
        }
        Ok(())
    }
}

/// Resources of one group with the same verbs, in one rule.
fn gathered(rules: &Rules) -> Vec<(&str, String, String)> {
    let mut found: BTreeMap<(&str, String), String> = BTreeMap::new();
    for ((group, resource), verbs) in rules {
        let verbs: Vec<&str> = verbs.iter().copied().collect();
        let list = found.entry((group, verbs.join(", "))).or_default();
        let comma = if list.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(list, "{comma}{resource}");
    }
    found.into_iter().map(|((group, verbs), resources)| (group, verbs, resources)).collect()
}
