//! Typical ones from end to end: what is printed is read back by a shell and by the daemon's own command line.

use super::*;

const RFC2136: &str = include_str!("../../tests/migrate/rfc2136.yaml");
const DYNAMODB: &str = include_str!("../../tests/migrate/dynamodb.yaml");
const WEBHOOK: &str = include_str!("../../tests/migrate/webhook.yaml");

#[track_caller]
fn migrated(input: &str) -> (Migration, String) {
    let source = input::read(input, "").expect("a source");
    let migration = of(&Catalog::built_in(), &source);
    let text = report::text(&migration);
    (migration, text)
}

/// The commands of a report, as a shell reads them: lines that are no comments, joined at backslashes.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().filter(|line| line.starts_with("zonewright "));
    // What a shell would put in place of a variable is any text here.
    lines.map(|line| words::split(&line.replace("${", "").replace('}', "")).expect("a command line")).collect()
}

/// Every command in a report is one that the program takes, but for what this build lacks.
#[track_caller]
fn can_be_pasted(text: &str) {
    let all = commands(text);
    assert!(all.len() >= 2, "{text}");
    let environment = |name: &str| text.contains(&format!("export {name}=")).then(|| "AAAA".into());
    for words in all {
        let arguments = words.iter().skip(1).map(OsString::from);
        let known = |name: &str| if name == "EXTERNAL_DNS_INTERVAL" { Some("2m".into()) } else { environment(name) };
        match flags::parse(&Catalog::built_in(), arguments, &known) {
            Ok(_) => {}
            Err(Stop::Refusal(problem)) if problem.contains("not compiled into this build") => {}
            Err(Stop::Refusal(problem)) if problem.contains("no Kubernetes client") => {}
            Err(other) => panic!("{words:?}: {other:?}"),
        }
    }
}

#[track_caller]
fn says(text: &str, all: &[&str]) {
    for part in all {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn rfc2136_with_claims_in_txt_records() {
    let (migration, text) = migrated(RFC2136);
    assert!(migration.refused.is_empty(), "{:?}", migration.refused);
    assert_eq!(
        migration.arguments,
        [
            "--source=service",
            "--source=ingress",
            "--provider=rfc2136",
            "--registry=txt",
            "--txt-owner-id=k8s",
            "--txt-prefix=externaldns-",
            "--domain-filter=k8s.example.org",
            "--rfc2136-host=192.168.0.1",
            "--rfc2136-port=53",
            "--rfc2136-zone=k8s.example.org",
            "--rfc2136-tsig-secret-alg=hmac-sha256",
            "--rfc2136-tsig-keyname=externaldns-key",
            "--rfc2136-tsig-axfr",
            "--fqdn-template={{.Name}}.k8s.example.org",
            "--policy=sync",
            "--annotation-prefix=external-dns.alpha.kubernetes.io/",
        ]
    );
    says(
        &text,
        &[
            "# In place of external-dns: Deployment dns/external-dns (registry.k8s.io/external-dns/external-dns:v0.15.1)",
            "was the default of this version",
            "'--fqdn-template={{.Name}}.k8s.example.org'",
            "export TSIG_SECRET=\"$(kubectl --namespace=dns get secret tsig --output=jsonpath='{.data.rfc2136\\.key}' | base64 -d)\"",
            "export EXTERNAL_DNS_RFC2136_TSIG_SECRET=\"$TSIG_SECRET\"",
            "export EXTERNAL_DNS_INTERVAL=2m",
            "zonewright rbac --service-account=dns/external-dns",
            "must allow AXFR",
        ],
    );
    can_be_pasted(&text);
}

#[test]
fn a_cloud_with_claims_in_dynamodb() {
    let (migration, text) = migrated(DYNAMODB);
    assert!(migration.refused.is_empty(), "{:?}", migration.refused);
    let arguments = &migration.arguments;
    assert!(arguments.contains(&"--source=gateway-httproute".to_owned()), "{arguments:?}");
    assert!(!arguments.iter().any(|argument| argument.starts_with("--annotation-prefix")), "{arguments:?}");
    assert_eq!(migration.environment_from, ["Secret more", "ConfigMap proxies with the prefix P_"]);
    assert_eq!(migration.mounts, ["/.aws: Secret aws-credentials"]);
    says(
        &text,
        &[
            "the table and its rows are those of external-dns",
            "--events and --min-event-sync-interval are accepted and have no effect",
            "export AWS_DEFAULT_REGION=eu-west-1",
            "# and the keys of Secret more",
            "mount /.aws: Secret aws-credentials",
        ],
    );
    can_be_pasted(&text);
}

#[test]
fn a_webhook_with_its_sidecar() {
    let (migration, text) = migrated(WEBHOOK);
    assert!(migration.refused.is_empty(), "{:?}", migration.refused);
    let sidecar = migration.sidecar.expect("a sidecar");
    assert_eq!((sidecar.name.as_str(), sidecar.ports.as_slice()), ("webhook", &[8888, 8080][..]));
    assert!(sidecar.arguments.is_empty());
    says(&text, &["Beside it the container webhook", "stays as it is; Zonewright asks it at http://localhost:8888"]);
    says(&text, &["`kubectl --namespace=", " port-forward deployment/external-dns 8888`"]);
    can_be_pasted(&text);
    let elsewhere = WEBHOOK.replace("8888", "9999");
    says(&migrated(&elsewhere).1, &["names the ports 9999, 8080, and --webhook-provider-url has 8888"]);
    let alone = WEBHOOK.split("        - name: webhook").next().unwrap();
    says(&migrated(alone).1, &["no other container is in the pod"]);
}

/// A provider that is not here is served by external-dns itself, over the bridge.
#[test]
fn a_provider_that_is_not_here_goes_behind_the_bridge() {
    let input = "--source=service --provider=pdns --pdns-server=http://pdns:8081 --pdns-api-key=t0p-secret --txt-owner-id=me \
                 --policy=sync --domain-filter=example.com";
    let (migration, text) = migrated(input);
    assert_eq!(
        migration.arguments,
        ["--source=service", "--provider=webhook", "--txt-owner-id=me", "--policy=sync", "--domain-filter=example.com"]
    );
    let sidecar = migration.sidecar.as_ref().expect("a sidecar");
    assert_eq!(
        sidecar.arguments,
        [
            "--webhook-server",
            "--source=service",
            "--provider=pdns",
            "--policy=sync",
            "--domain-filter=example.com",
            "--pdns-server=http://pdns:8081"
        ]
    );
    assert_eq!(migration.refused[0].what, "--provider=pdns");
    assert!(!text.contains("t0p-secret"), "{text}");
    says(&text, &["give it EXTERNAL_DNS_PDNS_API_KEY with the value of --pdns-api-key"]);
    can_be_pasted(&text);
}

#[test]
fn what_is_refused_has_its_way_round() {
    for (input, what, why, way) in [
        ("--sorce=pod", "--sorce", "did you mean --source?", "it is left out"),
        ("--provider=digitalocean", "--provider=digitalocean", "enum value must be one of", "a webhook provider"),
        ("--source=nothing", "--source=nothing", "enum value must be one of", "--unstructured-resource"),
        ("--registry=crd", "--registry=crd", "no such registry", "zonewright adopt"),
        ("--akamai-edgerc-path=/x", "--akamai-edgerc-path", "external-dns had it last in v0.21", "it is left out"),
        ("--interval=soon", "--interval=soon", "invalid duration", "it is left out"),
        ("--once=true", "--once=true", "a switch takes no value", "it is left out"),
        ("--txt-prefix=a --txt-prefix=b", "--txt-prefix", "given twice", "it is left out"),
        ("--txt-prefix=a --txt-suffix=b", "these arguments together", "mutual exclusive", "give the result"),
        ("@flags.txt", "@flags.txt", "it is no flag", "put the lines of the file"),
        ("--policy", "--policy", "it needs a value", "one of sync"),
    ] {
        let base = ["--source=pod", "--provider=inmemory", "--policy=sync"];
        let name = input.split(['=', ' ']).next().unwrap_or_default();
        let base = base.iter().filter(|word| !word.starts_with(name)).copied().collect::<Vec<_>>().join(" ");
        let (migration, text) = migrated(&format!("--txt-owner-id=me {base} {input}"));
        let found = migration.refused.iter().find(|refusal| refusal.what == what);
        let Some(refusal) = found else { panic!("{input}: {:?}", migration.refused) };
        assert!(refusal.why.contains(why) && refusal.way.contains(way), "{input}: {refusal:?}");
        says(&text, &["# Refused, and the way round:"]);
    }
    let (nothing, _) = migrated("--txt-owner-id=me");
    let what: Vec<&str> = nothing.refused.iter().map(|refusal| refusal.what.as_str()).collect();
    assert_eq!(what, ["--provider", "--source"]);
}

#[test]
fn no_secret_is_printed() {
    let input = "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x, namespace: dns}\nspec:\n  template:\n    spec:\n      \
                 containers:\n        - name: external-dns\n          args: [--source=pod, --provider=rfc2136, --policy=sync, \
                 --rfc2136-zone=a.example, --rfc2136-host=h, --rfc2136-tsig-secret=c2VjcmV0, --txt-owner-id=x]\n          env:\n            \
                 - {name: CF_API_TOKEN, value: t0ken}\n            - {name: EXTERNAL_DNS_TXT_ENCRYPT_AES_KEY, value: k3y}\n";
    let (migration, text) = migrated(input);
    let json = as_json(&migration);
    for secret in ["c2VjcmV0", "t0ken", "k3y"] {
        assert!(!text.contains(secret) && !json.contains(secret), "{secret} is in\n{text}\n{json}");
    }
    says(&text, &["# EXTERNAL_DNS_RFC2136_TSIG_SECRET: the value of the argument --rfc2136-tsig-secret"]);
}

#[test]
fn values_of_the_chart() {
    let values = "provider: {name: aws}\nsources: [service]\ntxtOwnerId: prod\nimage: {tag: v0.21.0}\n";
    let (migration, text) = migrated(values);
    assert!(migration.chart && migration.refused.is_empty(), "{:?}", migration.refused);
    says(&text, &["Zonewright's chart has these values under the same names", "--policy=upsert-only"]);
    can_be_pasted(&text);
}
