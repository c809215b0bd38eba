//! The schema of the values: it knows exactly the values there are, and its message for another name holds the right one.
//!
//! What is a name stands in the schema's `properties`. What it says of other names (`propertyNames`) is made from them here, and
//! written by `BLESS=1`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::charts::{at, documented, file, folder, install_all, yaml};
use crate::needs_helm;

/// Names from elsewhere, and what they are here: flags, names of earlier charts, and of the other chart that is in wide use.
const MOVED: &[(&str, &str)] = &[
    ("annotations", "deploymentAnnotations"),
    ("args", "extraArgs"),
    ("aws", "provider.name, env and extraArgs"),
    ("azure", "provider.name, extraVolumes and extraArgs"),
    ("cloudflare", "provider.name, env and extraArgs"),
    ("domain-filter", "domainFilters"),
    ("dryRun", "extraArgs.dry-run"),
    ("exclude-domains", "excludeDomains"),
    ("extraEnv", "env"),
    ("extraEnvVars", "env"),
    ("google", "provider.name, extraVolumes and extraArgs"),
    ("ingress", "networkPolicy.ingressFrom"),
    ("metrics", "service, serviceMonitor and prometheusRule"),
    ("namespace", "namespaceOverride for the chart's objects, or namespaced and sourceNamespace for what is read"),
    ("ownerId", "txtOwnerId"),
    ("pdb", "podDisruptionBudget"),
    ("publishInternalServices", "extraArgs.publish-internal-services"),
    ("replicaCount", "nothing: there is one pod"),
    ("replicas", "nothing: there is one pod"),
    ("rfc2136", "provider.name, env and extraArgs"),
    ("sidecars", "extraContainers"),
    ("source", "sources"),
    ("updateStrategy", "deploymentStrategy"),
    ("watchReleaseNamespace", "namespaced"),
    ("webhook", "provider.webhook"),
    ("zoneIdFilters", "extraArgs.zone-id-filter"),
    ("zoneType", "extraArgs.aws-zone-type"),
];

/// Objects with at most so many names list them all in the message.
const FEW: usize = 12;

/// What is said of names that an object with these properties does not have.
fn names(properties: &Map<String, Value>) -> Value {
    let names: Vec<&String> = properties.keys().collect();
    if names.len() <= FEW {
        return json!({ "enum": names });
    }
    let mut groups: BTreeMap<char, Vec<&String>> = BTreeMap::new();
    for name in names {
        groups.entry(name.chars().next().expect("a name")).or_default().push(name);
    }
    let group = |(first, names): (&char, &Vec<&String>)| {
        let pattern = format!("^[{first}{}]", first.to_ascii_uppercase());
        json!({ "if": { "pattern": pattern }, "then": { "enum": names } })
    };
    let moved = |(from, to): &(&str, &str)| json!({ "if": { "const": from }, "then": { "const": to } });
    json!({
        "if": { "enum": MOVED.iter().map(|(from, _)| from).collect::<Vec<_>>() },
        "then": { "allOf": MOVED.iter().map(moved).collect::<Vec<_>>() },
        "else": { "allOf": groups.iter().map(group).collect::<Vec<_>>() },
    })
}

/// Writes `propertyNames` into every object that takes no other properties.
fn complete(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    if object.get("additionalProperties") == Some(&Value::Bool(false))
        && let Some(properties) = object.get("properties").and_then(Value::as_object)
    {
        let names = names(properties);
        object.insert("propertyNames".to_owned(), names);
    }
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(complete);
    }
    object.get_mut("items").into_iter().for_each(complete);
}

fn schema() -> Value {
    serde_json::from_str(&file("values.schema.json")).expect("the schema is JSON")
}

#[test]
fn what_the_schema_says_of_other_names_is_made_from_the_names() {
    let mut schema = schema();
    complete(&mut schema);
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).expect("a schema"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(folder().join("values.schema.json"), &text).expect("write the schema");
    }
    assert!(text == file("values.schema.json"), "write it with BLESS=1 cargo test -p zonewright --test chart schema");
}

#[test]
fn the_schema_knows_the_values_and_no_others() {
    let (schema, values) = (schema(), yaml(&file("values.yaml")));
    let mut open = vec![(String::new(), &schema, &values)];
    let mut seen = 0;
    while let Some((path, schema, value)) = open.pop() {
        // Only what names all its properties is followed; the rest has the form of Kubernetes' own types.
        let Some(properties) = schema["properties"].as_object() else { continue };
        let object = value.as_object().unwrap_or_else(|| panic!("{path} is an object in the schema"));
        assert_eq!(object.keys().collect::<Vec<_>>(), properties.keys().collect::<Vec<_>>(), "{path}");
        // Charts that hold this one have names of their own there.
        assert!(path == "global" || schema["additionalProperties"] == false, "{path} takes any name");
        seen += object.len();
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        open.extend(object.iter().map(|(key, value)| (below(key), &properties[key], value)));
    }
    assert!(seen > 100, "{seen} names were compared");
    for value in documented() {
        assert!(at(&values, &value.path).is_some(), "{}", value.path);
    }
}

#[test]
fn what_a_name_was_moved_to_is_a_value() {
    let values = yaml(&file("values.yaml"));
    for (from, to) in MOVED.iter().filter(|(_, to)| !to.contains(' ')) {
        let to = if to.starts_with("extraArgs.") { "extraArgs" } else { to };
        assert!(at(&values, to).is_some(), "{from} is {to}");
        assert!(at(&values, from).is_none(), "{from} is a value");
    }
}

#[test]
fn a_name_that_is_no_value_is_answered_with_the_right_one() {
    needs_helm!();
    // The values, and what the message has to say.
    let cases: &[(&str, &[&str])] = &[
        ("txtOwnerID: x", &["additional properties 'txtOwnerID' not allowed", "'txtOwnerId'"]),
        ("TxtOwnerId: x", &["'TxtOwnerId' not allowed", "'txtOwnerId'"]),
        ("txt-owner-id: x", &["'txtOwnerId'"]),
        ("polcy: sync", &["'polcy' not allowed", "'policy'"]),
        ("domainFilter: [a]", &["'domainFilters'"]),
        ("toleration: []", &["'tolerations'"]),
        ("ownerId: x", &["'ownerId' not allowed", "value must be 'txtOwnerId'"]),
        ("webhook: {}", &["value must be 'provider.webhook'"]),
        ("extraEnv: []", &["value must be 'env'"]),
        ("zzz: 1", &["'zzz' not allowed"]),
        ("provider: {webhok: {}}", &["at '/provider'", "'webhok' not allowed", "'name', 'webhook'"]),
        ("provider: {webhook: {image: {name: x}}}", &["at '/provider/webhook/image'", "'repository'"]),
        ("image: {repo: x}", &["at '/image'", "'repo' not allowed", "'repository'"]),
        ("rbac: {additionalPermission: []}", &["'additionalPermissions'"]),
        // And a value that is none.
        ("policy: snyc", &["at '/policy'", "'create-only', 'upsert-only', 'sync'"]),
        ("registry: aws-sd", &["at '/registry'", "'txt'"]),
        ("sources: service", &["at '/sources'", "want array"]),
        ("sources: []", &["at '/sources'", "minItems"]),
        ("interval: 60", &["at '/interval'", "want string"]),
        // 1.10 would be 1.1.
        ("image: {tag: 1.10}", &["at '/image/tag'", "want null or string"]),
        ("service: {port: 0}", &["at '/service/port'"]),
        ("logLevel: verbose", &["at '/logLevel'", "'debug'"]),
        ("extraArgs: {x: {y: 1}}", &["at '/extraArgs/x'"]),
        ("env: [{value: x}]", &["at '/env/0'", "missing property 'name'"]),
    ];
    let answers = install_all(&cases.iter().map(|(values, _)| yaml(values)).collect::<Vec<_>>());
    for ((values, expected), answer) in cases.iter().zip(answers) {
        let error = answer.err().unwrap_or_else(|| panic!("{values} was taken"));
        for text in *expected {
            assert!(error.contains(text), "{values}: {text:?} is not in\n{error}");
        }
    }
}

/// The values of external-dns' own chart, 1.20 and what came since. Each has the same name here, and the same form.
const EXTERNAL_DNS: &str = "
    affinity annotationFilter annotationPrefix automountServiceAccountToken commonLabels deploymentAnnotations deploymentStrategy
    dnsConfig dnsPolicy domainFilters enableGatewayListenerSets enabled env excludeDomains extraArgs extraContainers
    extraVolumeMounts extraVolumes fullnameOverride gatewayNamespace global.imagePullSecrets image.pullPolicy image.repository
    image.tag imagePullSecrets initContainers interval labelFilter livenessProbe logFormat logLevel managedRecordTypes nameOverride
    namespaceOverride namespaced nodeSelector podAnnotations podLabels podSecurityContext policy priorityClassName provider.name
    provider.webhook.args provider.webhook.env provider.webhook.extraVolumeMounts provider.webhook.image.pullPolicy
    provider.webhook.image.repository provider.webhook.image.tag provider.webhook.livenessProbe provider.webhook.readinessProbe
    provider.webhook.resources provider.webhook.securityContext provider.webhook.service.port provider.webhook.serviceMonitor
    rbac.additionalPermissions rbac.create readinessProbe registry resources revisionHistoryLimit secretConfiguration.data
    secretConfiguration.enabled secretConfiguration.mountPath secretConfiguration.subPath securityContext service.annotations
    service.enabled service.ipFamilies service.ipFamilyPolicy service.port serviceAccount.annotations
    serviceAccount.automountServiceAccountToken serviceAccount.create serviceAccount.labels serviceAccount.name
    serviceMonitor.additionalLabels serviceMonitor.annotations serviceMonitor.bearerTokenFile serviceMonitor.enabled
    serviceMonitor.interval serviceMonitor.metricRelabelings serviceMonitor.namespace serviceMonitor.relabelings
    serviceMonitor.scheme serviceMonitor.scrapeTimeout serviceMonitor.targetLabels serviceMonitor.tlsConfig
    shareProcessNamespace sourceNamespace sources terminationGracePeriodSeconds tolerations topologySpreadConstraints
    triggerLoopOnEvent txtOwnerId txtPrefix txtSuffix";

#[test]
fn every_value_of_external_dns_is_here_under_its_name() {
    let values = yaml(&file("values.yaml"));
    for path in EXTERNAL_DNS.split_whitespace() {
        assert!(at(&values, path).is_some(), "{path} is missing");
    }
}

#[test]
fn helm_finds_nothing_to_say_about_the_chart() {
    needs_helm!();
    let folder = folder();
    let chart = zonewright_testkit::render::Chart { folder: &folder, release: "zonewright", namespace: "dns" };
    assert_eq!(chart.lint(&json!({ "txtOwnerId": "x" })), Ok(()));
}
