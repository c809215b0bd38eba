//! The daemon as a pod's process: the service account is all that it is given of the cluster. State and journal are in
//! ConfigMaps of its own namespace, and survive its death.

use std::process::{Command, Stdio};

use serde_json::Value;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::User;
use zonewright_testkit::{KubeApi, tools};

use crate::cluster::{self, Space};
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

pub(crate) const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const HELD: &str = "zonewright_held_deletes{zone=\"rfc2136/shop.test\"}";

/// Whether one process can have files of its own at the place of the service account.
pub(crate) fn mounts() -> bool {
    let mut probe = Command::new("unshare");
    probe.args(["--user", "--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs none /run"]).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

fn names(kube: &KubeApi) -> Vec<String> {
    let list = kube.get(CONFIGMAPS).expect_success();
    let name = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
    list["items"].as_array().into_iter().flatten().filter_map(name).collect()
}

/// The daemon's rights on ConfigMaps of its namespace become these.
#[track_caller]
fn may(kube: &KubeApi, verbs: &[&str]) {
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/zonewright";
    let rule = serde_json::json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs });
    let rules: Vec<Value> = Some(rule).filter(|_| !verbs.is_empty()).into_iter().collect();
    kube.patch(path, &serde_json::json!({ "rules": rules })).expect_success();
    until("the rights", SOON, || {
        let given = |verb: &str| kube.may_in(User::Zonewright, verb, "", "configmaps", "default");
        ["get", "create", "update"].into_iter().all(|verb| given(verb) == verbs.contains(&verb))
    });
}

/// Without the right to write it works on from memory, and says so once; without the right to read likewise.
#[test]
fn without_the_right_to_keep_its_state_it_works_and_says_so_once() {
    needs!(Bind);
    if !mounts() {
        tools::tell("pod::without_the_right", "the kernel lets nobody make mount namespaces");
        return;
    }
    let (kube, site) = (cluster::own(), Site::start(Bind));
    let (space, account) = (Space::new(&kube), tempfile::tempdir().expect("a folder"));
    let line = site.line(&space).without("--kubeconfig").without("--state-dir").in_pod(&kube, account.path());
    let mut expected = Vec::new();
    let said = "live in memory only, and are forgotten at a restart";
    for verbs in [&["get"][..], &[]] {
        may(&kube, verbs);
        let daemon = line.start();
        daemon.ready();
        for n in 0..3 {
            let name = format!("{}{n}", if verbs.is_empty() { "blind" } else { "read" });
            space.balancer(&name, &format!("{name}.{ZONE}"), &["192.0.2.1"]);
            expected.push(format!("{name} 0 A 192.0.2.1"));
            site.shows(&expected.iter().map(String::as_str).collect::<Vec<_>>());
        }
        space.delete("services", &format!("{}0", if verbs.is_empty() { "blind" } else { "read" }));
        expected.remove(expected.len() - 3);
        site.shows(&expected.iter().map(String::as_str).collect::<Vec<_>>());
        daemon.says_within(&[said], LATER);
        let log = { daemon }.terminate().log;
        assert_eq!(log.matches(said).count(), 1, "{verbs:?}: {log}");
    }
}

#[test]
fn state_and_journal_are_in_configmaps_of_the_pods_namespace() {
    needs!(Bind);
    if !mounts() {
        tools::tell("pod::state_and_journal", "the kernel lets nobody make mount namespaces");
        return;
    }
    let (kube, site) = (cluster::own(), Site::start(Bind));
    let (space, account) = (Space::new(&kube), tempfile::tempdir().expect("a folder"));
    let line = site.line(&space).without("--kubeconfig").without("--state-dir").in_pod(&kube, account.path());
    let mut daemon = line.start();
    daemon.says(&["state of brake and approvals", "zonewright-e2e"]);
    space.services(30, ZONE);
    until("thirty names", LATER, || site.ours().len() == 30);
    until("the state and the journal", SOON, || {
        let names = names(&kube);
        let journal = names.iter().any(|name| name.starts_with("zonewright-e2e-journal-"));
        journal && names.contains(&"zonewright-e2e".to_owned())
    });

    // What it holds is known to the next process, and is approved by whoever may write the object.
    daemon.kill();
    for n in 0..25 {
        space.delete("services", &format!("s{n}"));
    }
    let daemon = line.start();
    daemon.measures(HELD, 25.0);
    let said = daemon.says(&["zonewright approve"]);
    let hash = said.split("zonewright approve ").nth(1).map(|rest| rest.chars().take_while(char::is_ascii_hexdigit));
    let hash: String = hash.expect("a hash").collect();
    assert!(daemon.terminate().status.success());

    // Where no daemon answers, the plan is read there, and the command says to approve it there.
    let about = ["--source", "--provider", "--rfc2136", "--policy", "--metrics", "--namespace"];
    let ask = |words: &[&str]| {
        let line = about.iter().fold(line.ordered(words[0]), |line, start| line.without(start));
        line.args(&words[1..]).run()
    };
    let plans = ask(&["plans"]);
    let how = format!("kubectl annotate --overwrite configmap -n default zonewright-e2e zonewright.dev/approve={hash}");
    assert!(plans.log.contains("25 deletes are held") && plans.log.contains(&how), "{}", plans.log);
    let approved = ask(&["approve", &hash]);
    assert!(!approved.status.success() && approved.log.contains(&how), "{}", approved.log);

    let daemon = line.start();
    daemon.measures(HELD, 25.0);
    let path = format!("{CONFIGMAPS}/zonewright-e2e");
    // The daemon writes the object, too.
    until("the annotation", LATER, || {
        let mut state = kube.get(&path).expect_success();
        state["metadata"]["annotations"] = serde_json::json!({ "zonewright.dev/approve": hash });
        kube.put(&path, &state).status < 300
    });
    until("the approved deletes", LATER, || site.ours().len() == 5);

    // The history is shown without the daemon, and beside it.
    let history = ask(&["history", "--output=json"]);
    assert!(history.status.success(), "{}", history.log);
    assert!(history.log.contains("s0.shop.test") && history.log.contains(&hash), "{}", history.log);
}
