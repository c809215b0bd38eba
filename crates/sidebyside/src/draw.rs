//! Random changes of a recorded run.
//!
//! In: a recorded run and dice. Out: a [`Round`] with up to four changes of hostnames, targets, TTLs, annotations, labels,
//! statuses, flags and published records, each also in words. What is not drawn, because the outcome is chance in one of the
//! programs: a second object that asks for the same name with other targets.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::round::Round;

/// The most changes of one round.
const CHANGES: usize = 4;

const PREFIX: &str = "external-dns.kubernetes.io/";

/// Values that annotations are given, the odd ones too.
const ANNOTATIONS: &[(&str, &[&str])] = &[
    ("ttl", &["60", "0", "-1", "1m", "1h30m", "1.5h", "abc", "", "2147483648", "99999999999"]),
    (
        "hostname",
        &[
            "new.example.org",
            "New.Example.ORG",
            "new.example.org.",
            "a.example.org, b.example.org",
            "*.wild.example.org",
            " spaced.example.org ",
            "",
            "one,,two.example.org",
        ],
    ),
    ("internal-hostname", &["inside.example.org", "new.example.org"]),
    (
        "target",
        &[
            "192.0.2.77",
            "192.0.2.77,192.0.2.78",
            "2001:db8::77",
            "lb.example.org",
            "192.0.2.77,2001:db8::77",
            "lb.example.org.",
            " 192.0.2.77 ",
            "",
        ],
    ),
    ("set-identifier", &["blue", "Blue", ""]),
    ("alias", &["true", "false", "maybe"]),
    ("access", &["public", "private", "other"]),
    ("controller", &["dns-controller", "somebody-else", ""]),
    ("endpoints-type", &["NodeExternalIP", "HostIP", "other"]),
    ("ingress-hostname-source", &["annotation-only", "defined-hosts-only", "other"]),
    ("gateway-hostname-source", &["annotation-only", "defined-hosts-only", "other"]),
    ("webhook-weight", &["5", "", "a b"]),
];

/// Flags that are added, each where the same flag is not given yet.
const FLAGS: &[&str] = &[
    "--policy=sync",
    "--policy=upsert-only",
    "--policy=create-only",
    "--registry=noop",
    "--registry=txt",
    "--txt-owner-id=cluster-one",
    "--txt-owner-id=another",
    "--txt-prefix=p-",
    "--txt-prefix=%{record_type}.x.",
    "--txt-suffix=-s",
    "--txt-wildcard-replacement=star",
    "--domain-filter=example.com",
    "--domain-filter=example.org",
    "--domain-filter=.example.net",
    "--exclude-domains=apps.example.net",
    "--regex-domain-filter=^[a-m]",
    "--managed-record-types=A",
    "--managed-record-types=CNAME",
    "--managed-record-types=TXT",
    "--exclude-record-types=AAAA",
    "--ignore-hostname-annotation",
    "--combine-fqdn-annotation",
    "--fqdn-template={{.Name}}.tpl.example.org",
    "--fqdn-template={{.Name}}.{{.Namespace}}.example.org,{{index .Labels \"app\"}}.example.org",
    "--publish-internal-services",
    "--publish-host-ip",
    "--always-publish-not-ready-addresses",
    "--expose-internal-ipv6",
    "--namespace=prod",
    "--namespace=team-a",
    "--min-ttl=1m",
    "--default-targets=192.0.2.200",
    "--force-default-targets",
    "--target-net-filter=203.0.113.0/24",
    "--exclude-target-net=10.0.0.0/8",
    "--label-filter=app=web",
    "--label-filter=app in (web,db)",
    "--label-filter=tier!=front",
    "--annotation-filter=team.test/name=red",
    "--annotation-filter=external-dns.kubernetes.io/ttl",
    "--ignore-ingress-tls-spec",
    "--ignore-ingress-rules-spec",
    "--service-type-filter=LoadBalancer",
    "--service-type-filter=ClusterIP",
    "--ingress-class=nginx",
    "--prefer-alias",
];

/// A recorded run with random changes; the same dice give the same round.
pub fn draw(recorded: &[Round], dice: &mut Dice, changes: Option<usize>) -> Option<Round> {
    let mut round = dice.pick(recorded)?.clone();
    let changes = changes.unwrap_or_else(|| 1 + dice.below(CHANGES));
    // Some draws change nothing: not every run has an address, say.
    for _ in 0..changes * 8 {
        if round.changes.len() >= changes {
            break;
        }
        if let Some(described) = change(&mut round, dice) {
            round.changes.push(described);
        }
    }
    Some(round)
}

fn change(round: &mut Round, dice: &mut Dice) -> Option<String> {
    match dice.below(12) {
        0 | 1 => host(round, dice),
        2 | 3 => address(round, dice),
        4 | 5 => annotation(round, dice),
        6 => label(round, dice),
        7 => status(round, dice),
        8 => object(round, dice),
        9 => flag(round, dice),
        10 => drop_flag(round, dice),
        _ => published(round, dice),
    }
}

/// A text in an object: where it stands, and what it says.
type Leaf = (String, String);

/// Every text below `value`, with its JSON pointer.
fn leaves(value: &Value, at: &str, found: &mut Vec<Leaf>) {
    match value {
        Value::String(text) => found.push((at.to_owned(), text.clone())),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                leaves(item, &format!("{at}/{n}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(item, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// A random object's number, and a text in it that is wanted.
fn leaf(round: &Round, dice: &mut Dice, wanted: impl Fn(&Leaf) -> bool) -> Option<(usize, Leaf)> {
    let number = dice.below(round.objects.len());
    let mut found = Vec::new();
    leaves(round.objects.get(number)?, "", &mut found);
    found.retain(|leaf| {
        wanted(leaf) && !["/apiVersion", "/metadata/creationTimestamp", "/metadata/name"].contains(&leaf.0.as_str())
    });
    Some((number, dice.pick(&found)?.clone()))
}

fn set(round: &mut Round, number: usize, pointer: &str, text: &str) -> Option<()> {
    *round.objects.get_mut(number)?.pointer_mut(pointer)? = json!(text);
    Some(())
}

/// Whether a text is the name of a host: labels with dots between, the last one of letters.
fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'*' || b == b'_')
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.contains('.') && text.split('.').all(label) && last.bytes().all(|b| b.is_ascii_alphabetic())
}

fn host(round: &mut Round, dice: &mut Dice) -> Option<String> {
    let hosts = |leaf: &Leaf| leaf.1.split(',').any(|part| is_host(part.trim()));
    let (number, (pointer, old)) = leaf(round, dice, hosts)?;
    let new = match dice.below(8) {
        0 => format!("x{}", old.trim()),
        1 => old.to_uppercase(),
        2 => format!("{old}."),
        3 => format!("*.{}", old.trim_start_matches("*.")),
        4 => format!("fresh{}.example.org", dice.below(1_000)),
        5 => format!("fresh{}.apps.example.net", dice.below(1_000)),
        // Elsewhere the API server would refuse a list.
        6 if pointer.starts_with("/metadata/annotations/") => format!("{old},fresh{}.example.com", dice.below(1_000)),
        _ => old.split_once('.').map_or(old.clone(), |(_, rest)| rest.to_owned()),
    };
    set(round, number, &pointer, &new)?;
    Some(format!("object {number} {pointer}: {old:?} -> {new:?}"))
}

fn address(round: &mut Round, dice: &mut Dice) -> Option<String> {
    let (number, (pointer, old)) = leaf(round, dice, |leaf| leaf.1.parse::<IpAddr>().is_ok())?;
    let new = match dice.below(5) {
        0 => format!("2001:db8::{:x}", 1 + dice.below(60_000)),
        1 => format!("10.0.0.{}", 1 + dice.below(250)),
        2 => "::ffff:192.0.2.9".to_owned(),
        _ => format!("203.0.113.{}", 1 + dice.below(250)),
    };
    set(round, number, &pointer, &new)?;
    Some(format!("object {number} {pointer}: {old:?} -> {new:?}"))
}

/// The map at this place of an object; made where it is missing.
fn map<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut serde_json::Map<String, Value>> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata.entry(field).or_insert_with(|| json!({})).as_object_mut()
}

fn annotation(round: &mut Round, dice: &mut Dice) -> Option<String> {
    let number = dice.below(round.objects.len());
    let annotations = map(round.objects.get_mut(number)?, "annotations")?;
    if dice.below(4) == 0 {
        let keys: Vec<String> = annotations.keys().cloned().collect();
        let key = dice.pick(&keys)?;
        annotations.remove(key);
        return Some(format!("object {number} without annotation {key}"));
    }
    let (key, values) = dice.pick(ANNOTATIONS)?;
    let value = dice.pick(values)?;
    annotations.insert(format!("{PREFIX}{key}"), json!(value));
    Some(format!("object {number} with {key}={value:?}"))
}

fn label(round: &mut Round, dice: &mut Dice) -> Option<String> {
    let number = dice.below(round.objects.len());
    let labels = map(round.objects.get_mut(number)?, "labels")?;
    let keys: Vec<String> = labels.keys().cloned().collect();
    if let Some(key) = dice.pick(&keys).filter(|_| dice.clone().below(2) == 0) {
        labels.remove(key);
        return Some(format!("object {number} without label {key}"));
    }
    let (key, value) = *dice.pick(&[("app", "web"), ("app", "db"), ("tier", "front"), ("tier", "back")])?;
    labels.insert(key.to_owned(), json!(value));
    Some(format!("object {number} with label {key}={value}"))
}

/// Takes a status away, or doubles or shortens a list in it.
fn status(round: &mut Round, dice: &mut Dice) -> Option<String> {
    let number = dice.below(round.objects.len());
    let object = round.objects.get_mut(number)?;
    object.get("status")?;
    if dice.below(3) == 0 {
        object.as_object_mut()?.remove("status");
        return Some(format!("object {number} without status"));
    }
    let list = object.pointer_mut("/status/loadBalancer/ingress")?.as_array_mut()?;
    if dice.below(2) == 0 {
        let item = dice.pick(list.as_slice())?.clone();
        list.push(item);
        return Some(format!("object {number} with an address of its status twice"));
    }
    list.pop()?;
    Some(format!("object {number} with an address less in its status"))
}

fn object(round: &mut Round, dice: &mut Dice) -> Option<String> {
    if round.objects.len() < 2 {
        return None;
    }
    let object = round.objects.remove(dice.below(round.objects.len()));
    Some(format!("without {} {}/{}", object["kind"], object["metadata"]["namespace"], object["metadata"]["name"]))
}

fn flag(round: &mut Round, dice: &mut Dice) -> Option<String> {
    let flag = *dice.pick(FLAGS)?;
    let name = flag.split('=').next().unwrap_or(flag);
    let repeated = ["--domain-filter", "--managed-record-types", "--service-type-filter"].contains(&name);
    if !repeated {
        round.args.retain(|arg| arg.split('=').next() != Some(name));
    }
    round.args.push(flag.to_owned());
    // A registry needs what another one refuses, and a TXT name may have one of two.
    match name {
        "--txt-prefix" => round.args.retain(|arg| !arg.starts_with("--txt-suffix")),
        "--txt-suffix" => round.args.retain(|arg| !arg.starts_with("--txt-prefix")),
        _ => {}
    }
    Some(format!("with {flag}"))
}

fn drop_flag(round: &mut Round, dice: &mut Dice) -> Option<String> {
    let optional: Vec<usize> = (0..round.args.len()).filter(|n| !round.args[*n].starts_with("--source")).collect();
    let number = *dice.pick(&optional)?;
    // The value of `--flag value` stands by itself.
    let value = round.args.get(number + 1).is_some_and(|next| !next.starts_with("--"));
    if value || !round.args.get(number)?.starts_with("--") {
        return None;
    }
    Some(format!("without {}", round.args.remove(number)))
}

/// Changes what the provider has.
fn published(round: &mut Round, dice: &mut Dice) -> Option<String> {
    if round.current.is_empty() {
        return None;
    }
    let number = dice.below(round.current.len());
    let name = format!("{} {}", round.current.get(number)?["dnsName"], round.current.get(number)?["recordType"]);
    let record = round.current.get_mut(number)?;
    match dice.below(5) {
        0 => {
            round.current.remove(number);
            Some(format!("published without {name}"))
        }
        1 => {
            record["recordTTL"] = json!([0, 60, 300, 3_600][dice.below(4)]);
            Some(format!("published {name} with another TTL"))
        }
        2 if record["recordType"] == "A" => {
            record["targets"] = json!([format!("198.51.100.{}", 1 + dice.below(250))]);
            Some(format!("published {name} with another target"))
        }
        3 if record["recordType"] == "CNAME" => {
            record["targets"] = json!([format!("lb{}.example.org", dice.below(100))]);
            Some(format!("published {name} with another target"))
        }
        _ if record["recordType"] == "TXT" => {
            let text = record["targets"].get(0)?.as_str()?.replace("owner=", "owner=not-");
            record["targets"] = json!([text]);
            Some(format!("published {name} of another owner"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn recorded() -> Vec<Round> {
        let object = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "web", "namespace": "a", "annotations": { "external-dns.kubernetes.io/hostname": "web.example.org" } },
            "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } },
        });
        let current = json!({ "dnsName": "web.example.org", "recordType": "A", "targets": ["192.0.2.1"] });
        vec![Round {
            base: "g/s/r".to_owned(),
            changes: Vec::new(),
            objects: vec![object.clone(), object],
            args: vec!["--source=service".to_owned(), "--policy=sync".to_owned()],
            env: BTreeMap::new(),
            current: vec![current],
            domain_filter: json!({}),
        }]
    }

    #[test]
    fn a_round_follows_from_its_seed_and_every_kind_of_change_is_drawn() {
        let recorded = recorded();
        let mut described = String::new();
        for number in 0..400 {
            let draw = || draw(&recorded, &mut Dice::new(7, number), None).expect("a round");
            let (one, two) = (draw(), draw());
            assert_eq!((one.as_run(), one.manifest()), (two.as_run(), two.manifest()));
            assert!(one.changes.len() <= CHANGES, "{:?}", one.changes);
            described.extend(one.changes.iter().map(|change| format!("{change}\n")));
        }
        for kind in [
            "-> \"10.",
            "*.web",
            "ttl=",
            "without annotation",
            "label",
            "without status",
            "twice",
            "with --",
            "without --",
            "published",
            "without \"Service",
        ] {
            assert!(described.contains(kind), "{kind} is never drawn:\n{described}");
        }
    }

    #[test]
    fn without_changes_the_recorded_run_is_played() {
        let recorded = recorded();
        let round = draw(&recorded, &mut Dice::new(1, 1), Some(0)).expect("a round");
        assert_eq!(round.as_run(), recorded[0].as_run());
    }

    #[test]
    fn hosts_are_distinguished_from_addresses_and_words() {
        assert!(is_host("a.example.org") && is_host("*.example.org"));
        assert!(!is_host("192.0.2.1") && !is_host("web") && !is_host("a..org") && !is_host("10Gi.5"));
    }
}
