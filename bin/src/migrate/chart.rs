//! Values of external-dns' Helm chart: the arguments and the environment that its templates make of them.

use serde_json::Value;

use super::input::{Other, Source, list, scalar, text, variables};

/// What the chart takes where a value is not given.
const DEFAULTS: [(&str, &str); 5] =
    [("logLevel", "info"), ("logFormat", "text"), ("interval", "1m"), ("policy", "upsert-only"), ("registry", "txt")];

/// Values that are one flag each.
const TEXTS: [(&str, &str); 13] = [
    ("logLevel", "log-level"),
    ("logFormat", "log-format"),
    ("interval", "interval"),
    ("policy", "policy"),
    ("registry", "registry"),
    ("txtOwnerId", "txt-owner-id"),
    ("txtPrefix", "txt-prefix"),
    ("txtSuffix", "txt-suffix"),
    ("annotationFilter", "annotation-filter"),
    ("annotationPrefix", "annotation-prefix"),
    ("labelFilter", "label-filter"),
    ("gatewayNamespace", "gateway-namespace"),
    ("minEventSyncInterval", "min-event-sync-interval"),
];

/// Values that are a flag for each of their elements.
const LISTS: [(&str, &str); 3] = [
    ("domainFilters", "domain-filter"),
    ("excludeDomains", "exclude-domains"),
    ("managedRecordTypes", "managed-record-types"),
];

/// Keys that only the chart of another publisher has.
const OTHERS: [&str; 9] =
    ["aws", "azure", "cloudflare", "digitalocean", "google", "infoblox", "rfc2136", "pdns", "hostAliases"];

/// Reads the values.
///
/// # Errors
/// They are no values of this chart.
pub(super) fn of(values: &Value) -> Result<Source, String> {
    let known =
        ["provider", "sources", "extraArgs", "txtOwnerId", "domainFilters", "policy", "registry", "env", "image"];
    if !known.iter().any(|key| values.get(key).is_some()) {
        return Err(format!(
            "these are no values of external-dns' chart: none of {} is there; expected manifests, values, or arguments",
            known.join(", ")
        ));
    }
    let foreign: Vec<String> =
        OTHERS.iter().filter(|key| values.get(*key).is_some()).map(|key| (*key).to_owned()).collect();
    if !foreign.is_empty() {
        return Err(format!(
            "the values {} are not of external-dns' own chart: render it, and give what it makes: `helm template RELEASE CHART -f \
             VALUES | zonewright migrate --from=-`",
            foreign.join(", ")
        ));
    }
    let tag = values.pointer("/image/tag").and_then(scalar).filter(|tag| !tag.is_empty());
    let webhook = provider(values) == "webhook";
    Ok(Source {
        what: "the values of the chart".to_owned(),
        namespace: text(values, "/namespaceOverride").unwrap_or("external-dns").to_owned(),
        service_account: Some(text(values, "/serviceAccount/name").unwrap_or("external-dns").to_owned()),
        image: tag.map(|tag| format!("external-dns:{tag}")),
        arguments: arguments(values),
        environment: variables(values, "/env"),
        mounts: mounts(values),
        others: if webhook { sidecar(values) } else { Vec::new() },
        chart: true,
        ..Source::default()
    })
}

fn provider(values: &Value) -> String {
    let name = text(values, "/provider/name").or_else(|| text(values, "/provider"));
    name.unwrap_or("aws").to_owned()
}

fn arguments(values: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let mut flag = |name: &str, value: &str| out.push(format!("--{name}={value}"));
    let given = |key: &str| values.get(key).and_then(scalar).filter(|text| !text.is_empty());
    let claims = matches!(given("registry").as_deref(), None | Some("txt" | "dynamodb"));
    for (key, name) in TEXTS.iter().filter(|(key, _)| claims || !matches!(*key, "txtPrefix" | "txtSuffix")) {
        let default = DEFAULTS.iter().find(|(known, _)| known == key).map(|(_, default)| (*default).to_owned());
        if let Some(value) = given(key).or(default) {
            flag(name, &value);
        }
    }
    flag("provider", &provider(values));
    let sources: Vec<String> = list(values, "/sources").iter().filter_map(scalar).collect();
    let sources =
        if values.get("sources").is_some() { sources } else { vec!["service".to_owned(), "ingress".to_owned()] };
    for source in sources {
        flag("source", &source);
    }
    for (key, name) in LISTS {
        for value in list(values, &format!("/{key}")).iter().filter_map(scalar) {
            flag(name, &value);
        }
    }
    let on = |key: &str| values.get(key).and_then(Value::as_bool).unwrap_or_default();
    if on("namespaced") {
        let namespace = given("sourceNamespace").or_else(|| given("namespaceOverride"));
        flag("namespace", &namespace.unwrap_or_else(|| "external-dns".to_owned()));
    }
    out.extend(on("triggerLoopOnEvent").then(|| "--events".to_owned()));
    out.extend(on("enableGatewayListenerSets").then(|| "--gateway-listener-sets".to_owned()));
    out.extend(more(values));
    out
}

/// `extraArgs`, a list or a map.
fn more(values: &Value) -> Vec<String> {
    match values.get("extraArgs") {
        Some(Value::Array(all)) => all.iter().filter_map(scalar).collect(),
        Some(Value::Object(all)) => {
            let one = |(name, value): (&String, &Value)| {
                let name = name.trim_start_matches("--");
                match value {
                    Value::Bool(true) | Value::Null => vec![format!("--{name}")],
                    Value::Bool(false) => vec![format!("--no-{name}")],
                    Value::Array(values) => {
                        values.iter().filter_map(scalar).map(|value| format!("--{name}={value}")).collect()
                    }
                    value => scalar(value).map(|value| format!("--{name}={value}")).into_iter().collect(),
                }
            };
            all.iter().flat_map(one).collect()
        }
        _ => Vec::new(),
    }
}

fn mounts(values: &Value) -> Vec<String> {
    let on = values.pointer("/secretConfiguration/enabled").and_then(Value::as_bool).unwrap_or_default();
    let secret = on.then(|| text(values, "/secretConfiguration/mountPath")).flatten();
    let secret = secret.map(|path| format!("{path}: the Secret of secretConfiguration"));
    let more = list(values, "/extraVolumeMounts").iter();
    let more = more.filter_map(|mount| Some(format!("{}: {}", text(mount, "/mountPath")?, text(mount, "/name")?)));
    secret.into_iter().chain(more).collect()
}

fn sidecar(values: &Value) -> Vec<Other> {
    let Some(webhook) = values.pointer("/provider/webhook") else { return Vec::new() };
    let image = text(webhook, "/image/repository").unwrap_or_default();
    let tag = webhook.pointer("/image/tag").and_then(scalar).map(|tag| format!(":{tag}")).unwrap_or_default();
    // The chart's Service is for metrics; the provider itself listens where every sidecar does.
    vec![Other { name: "webhook".to_owned(), image: format!("{image}{tag}"), ports: Vec::new() }]
}

#[cfg(test)]
mod tests {
    use crate::migrate::input::read;

    #[test]
    fn values_become_arguments() {
        let values = "provider: {name: cloudflare}\nsources: [crd]\ntxtOwnerId: me\ndomainFilters: [a.example, b.example]\npolicy: \
                      sync\nregistry: noop\ntxtPrefix: x-\nnamespaced: true\nextraArgs: {cloudflare-proxied: true, zone-id-filter: \
                      [a, b], events: null}\nenv:\n  - name: CF_API_TOKEN\n    valueFrom: {secretKeyRef: {name: cf, key: token}}\n";
        let source = read(values, "").unwrap();
        assert_eq!(
            source.arguments,
            [
                "--log-level=info",
                "--log-format=text",
                "--interval=1m",
                "--policy=sync",
                "--registry=noop",
                "--txt-owner-id=me",
                "--provider=cloudflare",
                "--source=crd",
                "--domain-filter=a.example",
                "--domain-filter=b.example",
                "--namespace=external-dns",
                "--cloudflare-proxied",
                "--events",
                "--zone-id-filter=a",
                "--zone-id-filter=b",
            ]
        );
        assert_eq!(source.environment.len(), 1);
        let least = read("txtOwnerId: me\n", "").unwrap().arguments;
        for expected in
            ["--policy=upsert-only", "--provider=aws", "--source=service", "--source=ingress", "--registry=txt"]
        {
            assert!(least.iter().any(|argument| argument == expected), "{expected}: {least:?}");
        }
    }

    #[test]
    fn a_webhook_sidecar_of_the_chart() {
        let values = "provider: {name: webhook, webhook: {image: {repository: r/hook, tag: v1}}}\n";
        let source = read(values, "").unwrap();
        assert_eq!(source.others[0].image, "r/hook:v1");
        assert!(source.arguments.contains(&"--provider=webhook".to_owned()));
    }

    #[test]
    fn another_publishers_chart_is_reported() {
        let problem = read("provider: aws\naws: {region: eu-west-1}\n", "").unwrap_err();
        assert!(problem.contains("helm template"), "{problem}");
        assert!(read("provider: aws\ntxtOwnerId: x\n", "").unwrap().arguments.contains(&"--provider=aws".to_owned()));
    }
}
