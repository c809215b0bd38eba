//! How commands reach what a daemon keeps: by its socket, in its state folder, in a cluster; and what is said where there is
//! none.

use zonewright_testkit::{DnsSoftware, require};

use super::{SHOWN, Shop, TWO};
use crate::daemon::{CommandLine, ends, text};

/// Where neither a daemon nor anything of one is found, that is said in a sentence.
#[test]
fn history_and_holds_of_nobody() {
    let folder = crate::daemon::state_folder();
    for word in ["history", "pinned"] {
        let output = crate::daemon::command(&[word, &format!("--state-dir={}", folder.1), "--txt-owner-id=nobody"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("no daemon of owner \"nobody\" answers in"), "{said}");
        assert!(said.contains("--kubeconfig and --state-namespace"), "{said}");
    }
}

/// State and journal in ConfigMaps, and no daemon whose socket could be reached: they are read where they are, and a command
/// goes on in the same journal.
#[test]
fn what_a_daemon_keeps_in_a_cluster_is_found_there() {
    use zonewright_cluster::{ConfigMapJournal, ConfigMapStore, ConnectOptions, RingLimits, connect};
    use zonewright_core::store::JournalStore as _;
    use zonewright_core::store::StateStore as _;

    crate::needs!(DnsSoftware::Bind);
    const OWNER: &str = "far-away";
    let kube = crate::cluster::shared();
    let space = crate::cluster::Space::new(&kube);
    let kubeconfig = format!("--kubeconfig={}", text(&space.kubeconfig()));
    let common = [kubeconfig.as_str(), "--txt-owner-id=far-away", "--state-namespace=default"];
    let run = |words: &[&str]| {
        let output = crate::daemon::command(&[words, &common].concat());
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    for word in ["history", "pinned"] {
        assert!(run(&[word]).contains("no daemon of owner \"far-away\" answers in"), "{}", run(&[word]));
    }
    let until = jiff::Timestamp::now().as_millisecond() + 3_600_000;
    let state = format!(
        r#"{{"zones":{{"i/z":{{"holds":[{{"plan":"abc","since":1,"until":{until},"names":{{"held.shop.test":null}}}},
            {{"plan":"old","since":1,"until":2,"names":{{"over.shop.test":null}}}}]}}}}}}"#
    );
    let line = r#"{"v":1,"kind":"change","id":1,"at":1,"zone":"i/z","apex":"z","name":"x.z","plan":"p1","steps":[]}"#;
    let write = async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = ConnectOptions { kubeconfig: Some(space.kubeconfig()), ..ConnectOptions::default() };
        let cluster = connect(&options).await.expect("a connection");
        let ring = ConfigMapJournal::new(&cluster, "default", OWNER, RingLimits::default());
        ring.append(&[line.to_owned()]).await.expect("append a line");
        ConfigMapStore::new(&cluster, "default", OWNER).save(state.as_bytes()).await.expect("save the state");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(write);
    let shown = run(&["history", "--output=json"]);
    assert!(
        shown.contains("\"plan\":\"p1\"") && shown.contains("ConfigMaps default/zonewright-far-away-journal-*"),
        "{shown}"
    );
    let held = run(&["pinned"]);
    assert!(held.contains("held.shop.test in zone i/z") && !held.contains("over.shop.test"), "{held}");
    assert!(held.contains("ConfigMap default/zonewright-far-away (no daemon answers)"), "{held}");

    // A command goes on in the ring that it finds.
    let shop = Shop::new(DnsSoftware::Bind, "", TWO);
    let owner = |line: CommandLine| line.without("--txt-owner-id").args(&common[1..2]);
    let once = owner(shop.line()).args(&["--once", &format!("--state-dir={}", space.state_dir())]);
    assert_eq!(once.run().status.code(), Some(0));
    let release = owner(shop.order("release")).args(&common[2..]).arg("--yes");
    let journaled =
        "journaled in ConfigMaps default/zonewright-far-away-journal-*; undo in the daemon's pod with: zonewright undo";
    // The cluster is found where `history` finds it, without being named.
    let unnamed = release.clone().env("KUBECONFIG", &text(&space.kubeconfig())).arg("api.shop.test");
    ends(&unnamed, 0, &["note: ", "kubeconfig", "1 done, 0 failed", journaled]);
    let shown = run(&["history"]);
    assert!(shown.contains("claim of api.shop.test A: owner far-away -> nobody"), "{shown}");
    ends(&release.clone().args(&common[..1]), 0, &["1 done, 0 failed", journaled]);
    let shown = run(&["history"]);
    assert!(
        shown.contains("claim of web.shop.test A: owner far-away -> nobody") && shown.contains(" applied "),
        "{shown}"
    );
    let shown = run(&["history", "--output=json"]);
    assert!(shown.contains("\"plan\":\"p1\""), "nothing of it is lost: {shown}");
}

/// A folder that no daemon reads is no daemon's journal: that is said before anybody says yes, and no undo is promised.
#[test]
fn a_journal_that_no_daemon_reads_is_not_called_the_daemons() {
    require!(DnsSoftware::Bind.tools());
    let (shop, home) = (Shop::new(DnsSoftware::Bind, "", TWO), crate::daemon::state_folder());
    shop.once();
    let release = shop.order("release").env("XDG_RUNTIME_DIR", &home.1);
    let note = "note: no daemon of owner \"e2e\" answers in ";
    let ways = "--state-dir of the daemon, or --kubeconfig and --state-namespace where it runs in a cluster";
    ends(&release, 2, &[note, ways, "nothing was done"]);
    let required = release.clone().args(&["--yes", "--journal=required"]);
    ends(&required, 1, &["no daemon of owner \"e2e\" answers in ", ways, "--journal=required"]);
    assert_eq!(shop.site.claims().len(), 2, "nothing was done");
    let done =
        ends(&release.clone().args(&["--yes", "web.shop.test"]), 0, &[note, "1 done, 0 failed", "journaled in "]);
    assert!(!done.log.contains("zonewright undo --plan"), "{}", done.log);
    // A daemon with the same flags goes on with that journal, and undoes what stands there.
    let daemon = shop.line().env("XDG_RUNTIME_DIR", &home.1).start();
    daemon.ready();
    let done = ends(&release.args(&["--yes", "api.shop.test"]), 0, &["1 done, 0 failed", "undo with: zonewright undo"]);
    assert!(!done.log.contains("note: no daemon"), "{}", done.log);
}

/// The local socket answers whoever shows the token beside it, and nobody else.
#[test]
fn the_socket_wants_its_token() {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    require!(DnsSoftware::Bind.tools());
    let shop = Shop::new(DnsSoftware::Bind, "", TWO);
    let state = crate::daemon::state_folder();
    let daemon = shop.line().arg(format!("--state-dir={}", state.1)).start();
    shop.site.shows(SHOWN);
    daemon.ready();
    let folder = std::path::Path::new(&state.1);
    let mut socket = std::os::unix::net::UnixStream::connect(folder.join("control.sock")).expect("the socket");
    socket.write_all(b"{\"command\":\"plans\",\"token\":\"x\"}\n").expect("a request");
    let mut reply = String::new();
    socket.read_to_string(&mut reply).expect("a reply");
    assert!(reply.contains("token is wrong"), "{reply}");
    let token = folder.join("control.token");
    assert_eq!(std::fs::metadata(&token).expect("the token").permissions().mode() & 0o777, 0o600);
    let plans = crate::daemon::command(&["plans", &format!("--state-dir={}", state.1)]);
    assert!(String::from_utf8_lossy(&plans.stdout).contains("No plan is held"), "{plans:?}");
}
