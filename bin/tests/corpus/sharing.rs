//! Names that several objects ask for: the merging vectors of external-dns with `--same-name=union`, what the holder rule
//! makes of the same objects, and a zone that external-dns wrote from two Services of one name.
//!
//! These runs are written by hand: external-dns knows no holder, and which of two objects it names in a claim is chance.

use serde_json::{Value, json};

use crate::PROGRAM;
use crate::recorded::Run;

/// A Service or Ingress at an address or host: `service a 1.2.3.4`.
fn object(line: &str) -> Value {
    let words: Vec<&str> = line.split(' ').collect();
    let [kind, name, target, set @ ..] = &words[..] else { panic!("{line:?} has no kind, name and target") };
    let set = set.first().copied().unwrap_or_default();
    let entry = match target.parse::<std::net::IpAddr>() {
        Ok(_) => json!({ "ip": target }),
        Err(_) => json!({ "hostname": target }),
    };
    let (api, kind, spec) = match *kind {
        "ingress" => ("networking.k8s.io/v1", "Ingress", json!({})),
        _ => ("v1", "Service", json!({"type": "LoadBalancer"})),
    };
    let mut annotations = json!({"external-dns.kubernetes.io/hostname": "app.example.org"});
    if !set.is_empty() {
        annotations["external-dns.kubernetes.io/set-identifier"] = json!(set);
    }
    json!({
        "apiVersion": api, "kind": kind, "spec": spec,
        "metadata": {"namespace": "ns", "name": name, "annotations": annotations, "creationTimestamp": "2024-01-01T00:00:00Z"},
        "status": {"loadBalancer": {"ingress": [entry]}},
    })
}

/// What is asked for, one line for each record set, and what is sent: creates with `+`, updates with `~`, deletes with `-`.
fn shown(objects: &[&str], flags: &[&str], current: &Value) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("objects.yaml");
    let texts: Vec<String> = objects.iter().map(|line| object(line).to_string()).collect();
    std::fs::write(&path, texts.join("\n---\n")).expect("the objects are written");
    let fixed = ["--source=service", "--source=ingress", "--policy=sync", "--txt-owner-id=me"];
    let args: Vec<&str> = fixed.iter().chain(flags).copied().collect();
    let run: Run = serde_json::from_value(
        json!({"name": "sharing", "args": args, "exit": 0, "desired": [], "changes": {}, "current": current}),
    )
    .expect("a run");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let played = runtime.block_on(PROGRAM.play(&path, &run));
    assert!(!played.failed && played.sent.problems.is_empty(), "{:?}\n{}", played.sent.problems, played.output);
    let line = |mark: &str, endpoint: &crate::recorded::Endpoint| {
        let mut targets = endpoint.targets.clone();
        targets.sort();
        let resource = endpoint.labels.get("resource").map(|label| format!(" ({label})")).unwrap_or_default();
        let set = Some(&endpoint.set_identifier).filter(|set| !set.is_empty()).map(|set| format!(" {set}"));
        format!("{mark}{}{} {}{resource}", endpoint.record_type, set.unwrap_or_default(), targets.join(" "))
    };
    let records = |endpoint: &&crate::recorded::Endpoint| endpoint.record_type != "TXT";
    let changes = &played.sent.changes;
    let mut lines: Vec<String> = played.sent.desired.iter().map(|endpoint| line("", endpoint)).collect();
    lines.extend(changes.create.iter().filter(records).map(|endpoint| line("+ ", endpoint)));
    lines.extend(changes.update.iter().map(|update| &update.to).filter(records).map(|endpoint| line("~ ", endpoint)));
    lines.extend(changes.delete.iter().filter(records).map(|endpoint| line("- ", endpoint)));
    lines.sort();
    lines
}

/// What objects lead to where nothing is published, with these flags.
#[track_caller]
fn check(id: &str, objects: &[&str], flags: &[&str], expected: &[&str]) {
    let mut all: Vec<String> = expected.iter().flat_map(|line| [format!("+ {line}"), (*line).to_owned()]).collect();
    all.sort();
    assert_eq!(shown(objects, flags, &json!([])), all, "{id} {flags:?}");
}

const UNION: &[&str] = &["--same-name=union"];
const HOLDER: &[&str] = &[];

/// S56, S58, S59, S60 and I53, I54 of the specification's vectors.
#[test]
fn vectors_of_merging() {
    let three = ["service b 1.2.3.5", "service a 1.2.3.4", "service c 1.2.3.6"];
    check("S56", &three, UNION, &["A 1.2.3.4 1.2.3.5 1.2.3.6 (service/ns/a)"]);
    check("S56", &three, HOLDER, &["A 1.2.3.4 (service/ns/a)"]);
    let sets = ["service a 1.2.3.4 x", "service b 1.2.3.5 y"];
    for flags in [UNION, HOLDER] {
        check("S58", &sets, flags, &["A x 1.2.3.4 (service/ns/a)", "A y 1.2.3.5 (service/ns/b)"]);
        check("S59", &["service b b.elb.com", "service a a.elb.com"], flags, &["CNAME a.elb.com (service/ns/a)"]);
        check("S60", &["service b 34.66.66.77", "service a 34.66.66.77"], flags, &["A 34.66.66.77 (service/ns/a)"]);
        check("I53", &["ingress b b.elb.com", "ingress a a.elb.com"], flags, &["CNAME a.elb.com (ingress/ns/a)"]);
    }
    let two = ["ingress a 10.0.0.1", "ingress b 10.0.0.2"];
    check("I54", &two, UNION, &["A 10.0.0.1 10.0.0.2 (ingress/ns/a)"]);
    check("I54", &two, HOLDER, &["A 10.0.0.1 (ingress/ns/a)"]);
    // Only objects of one source are joined.
    check("two sources", &["service a 10.0.0.1", "ingress b 10.0.0.2"], UNION, &["A 10.0.0.2 (ingress/ns/b)"]);
}

/// What external-dns leaves behind where two Services asked for one name.
fn written_by_external_dns(targets: &[&str]) -> Value {
    json!([
        {"dnsName": "app.example.org", "recordType": "A", "targets": targets},
        {"dnsName": "a-app.example.org", "recordType": "TXT",
         "targets": ["\"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a\""]},
    ])
}

#[test]
fn an_inherited_union_is_not_shrunk_by_the_swap() {
    let two = ["service a 1.2.3.4", "service b 1.2.3.5"];
    let published = written_by_external_dns(&["1.2.3.4", "1.2.3.5"]);
    assert_eq!(shown(&two, HOLDER, &published), ["A 1.2.3.4 1.2.3.5 (service/ns/a)"], "nothing is sent");
    let surplus = written_by_external_dns(&["1.2.3.4", "1.2.3.5", "1.2.3.9"]);
    let kept = ["A 1.2.3.4 1.2.3.5 (service/ns/a)", "~ A 1.2.3.4 1.2.3.5 (service/ns/a)"];
    assert_eq!(shown(&two, HOLDER, &surplus), kept, "what nobody asks for goes");
    let alone = ["A 1.2.3.4 (service/ns/a)", "~ A 1.2.3.4 (service/ns/a)"];
    assert_eq!(shown(&two[..1], HOLDER, &published), alone, "nor does what nobody asks for any more stay");
}
