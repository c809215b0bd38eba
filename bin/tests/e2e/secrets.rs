//! Secrets never print: not at the loudest log level, not in errors, not on the pages.

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::User;

use crate::cluster::{Space, shared};
use crate::site::{Site, ZONE};
use crate::{SOON, needs, until};

#[test]
fn secrets_are_in_no_output() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(3, ZONE);
    let secret = site.key.secret.clone();
    let quiet = |what: &str, text: &str| {
        let found = text.lines().find(|line| line.contains(&secret) || line.contains(User::Zonewright.token()));
        assert!(found.is_none(), "{what}: {found:?}");
    };
    for level in ["debug", "trace"] {
        let line = site.line(&space).arg(format!("--log-level={level}")).arg("--interval=1s");
        let daemon = line.start();
        until("three names", SOON, || site.ours().len() == 3);
        daemon.ready();
        space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.1"]);
        until("a fourth", SOON, || site.ours().len() == 4);
        space.delete("services", "web");
        until("three again", SOON, || site.ours().len() == 3);
        for page in ["/metrics", "/readyz", "/healthz"] {
            quiet(page, &daemon.page(page).1);
        }
        quiet(level, &daemon.terminate().log);
    }
    // As a flag, and where the server refuses it.
    let line = site.line(&space).arg(format!("--rfc2136-tsig-secret={secret}")).arg("--log-level=trace");
    let wrong = line.without("--rfc2136-tsig-keyname").arg("--rfc2136-tsig-keyname=nobody").start();
    wrong.says(&["the zone cannot be served"]);
    quiet("the page of an error", &wrong.page("/readyz").1);
    quiet("the log of an error", &wrong.terminate().log);
    // Where the command line is refused.
    let refused = site.line(&space).arg(format!("--rfc2136-tsig-secret={secret}")).arg("--no-such-flag").run();
    assert!(!refused.status.success());
    quiet("a refusal", &refused.log);
    let broken = format!("!{secret}");
    let refused = site.line(&space).env("EXTERNAL_DNS_RFC2136_TSIG_SECRET", &broken).run();
    assert!(!refused.status.success());
    quiet("a secret that is no base64", &refused.log);
}
