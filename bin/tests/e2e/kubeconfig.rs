//! Where the cluster is found without `--kubeconfig`: what `KUBECONFIG` lists, else the file in the home folder.

use std::fs;

use zonewright_testkit::DnsSoftware::Bind;

use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, ends, text};
use crate::needs;
use crate::site::{Site, ZONE};

#[test]
fn the_usual_search_for_a_kubeconfig() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.1"]);
    let home = tempfile::tempdir().expect("a home folder");
    let line = site.line(&space).without("--kubeconfig").args(&["--once", "--dry-run", "--start-timeout=1s"]);
    let found = |line: &CommandLine| ends(line, 0, &["dry run, nothing was sent: 1 created"]);
    // A file that is not there is left out; of several the first that names a context counts.
    let (nowhere, file) = (home.path().join("nowhere"), space.kubeconfig());
    let broken = home.path().join("broken");
    fs::write(&broken, "apiVersion: v1\nkind: Config\ncurrent-context: none\n").expect("a kubeconfig");
    found(&line.clone().env("KUBECONFIG", &format!("{}:{}", text(&nowhere), text(&file))));
    found(&line.clone().env("KUBECONFIG", &format!("{}:{}", text(&file), text(&broken))));
    ends(&line.clone().env("KUBECONFIG", &text(&broken)), 1, &["none"]);
    ends(&line.clone().env("KUBECONFIG", &text(&nowhere)), 1, &[&text(&nowhere)]);
    // The home folder, where nothing is listed; what is listed goes first, and the flag before all.
    fs::create_dir(home.path().join(".kube")).expect("a folder");
    fs::copy(&file, home.path().join(".kube").join("config")).expect("a kubeconfig");
    let at_home = line.env("HOME", &text(home.path()));
    found(&at_home);
    ends(&at_home.clone().env("KUBECONFIG", &text(&broken)), 1, &["none"]);
    found(&at_home.env("KUBECONFIG", &text(&broken)).arg(format!("--kubeconfig={}", text(&file))));
}
