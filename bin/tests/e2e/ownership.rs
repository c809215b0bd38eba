//! Claims that change hands by command, against real servers: records are compared before and after, to the letter.

mod reached;
mod undone;

use tempfile::TempDir;
use zonewright_testkit::{DnsSoftware, require};

use crate::daemon::{CommandLine, ends, text};
use crate::manifests::{folder, service, write};
use crate::site::Site;

/// A zone with a folder of manifests, and the command line of a daemon over both.
struct Shop {
    site: Site,
    folder: TempDir,
}

impl Shop {
    fn new(software: DnsSoftware, records: &str, hosts: &[(&str, &str)]) -> Self {
        let shop = Self { site: Site::with(software, records), folder: folder() };
        for (host, address) in hosts {
            shop.put(host, address);
        }
        shop
    }

    fn put(&self, host: &str, address: &str) {
        write(self.folder.path(), &format!("{host}.yaml"), &service(host, host, address));
    }

    fn line(&self) -> CommandLine {
        let line = self.site.provider(self.site.dns.addr().port()).arg("--source=service");
        line.arg(format!("--manifests={}", text(self.folder.path())))
    }

    /// The command line of a command that reads no objects.
    fn order(&self, word: &str) -> CommandLine {
        self.line().without("--source").without("--manifests").ordered(word)
    }

    fn once(&self) {
        let ended = self.line().arg("--once").run();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    }
}

const TWO: &[(&str, &str)] = &[("web", "192.0.2.1"), ("api", "192.0.2.2")];
const SHOWN: &[&str] = &["api 0 A 192.0.2.2", "web 0 A 192.0.2.1"];

crate::each_server!(
    records_go_from_one_owner_to_another,
    an_owner_leaves_for_good,
    records_are_released_and_adopted,
    disputes_and_claims_without_a_record_end_by_name
);

fn records_go_from_one_owner_to_another(software: DnsSoftware) {
    require!(software.tools());
    let shop = Shop::new(software, "", TWO);
    shop.once();
    let line = shop.order("transfer").without("--txt-owner-id").args(&["--from=e2e", "--to=next"]);
    let before = shop.site.zone();
    ends(&line, 2, &["2 records of \"e2e\" become owned by \"next\"", "nothing was done"]);
    ends(&line.clone().args(&["--dry-run", "--yes"]), 0, &["dry run"]);
    assert_eq!(shop.site.zone(), before);
    // A part of them, then the rest.
    ends(&line.clone().args(&["--yes", "service/default/web"]), 0, &["1 done, 0 failed", "0 differ; 0 claims remain"]);
    assert_eq!(shop.site.claims().iter().filter(|claim| claim.contains("owner=next")).count(), 1);
    ends(&line.clone().arg("--yes"), 0, &["1 done"]);
    // What was named is where it was to go.
    for named in ["web.shop.test", "service/default/web"] {
        let again = line.clone().args(&["--yes", named]);
        ends(&again, 0, &["nothing to do: 1 records there belong to \"next\" already"]);
    }
    // Without names: the former owner has nothing any more, as one that never was.
    let nothing =
        ["nothing matched: there is no record of owner \"e2e\"", "2 records there belong to \"next\" already"];
    ends(&line.clone().arg("--yes"), 1, &nothing);
    let unknown = line.without("--from").args(&["--from=nobody", "--yes"]);
    ends(&unknown, 1, &["nothing matched: there is no record of owner \"nobody\""]);
    assert_eq!(shop.site.ours(), SHOWN);
    assert!(shop.site.claims().iter().all(|claim| claim.contains("owner=next")), "{:?}", shop.site.claims());
    // The former owner has no say any more, the new one has.
    shop.put("web", "192.0.2.9");
    shop.once();
    assert_eq!(shop.site.ours(), SHOWN);
    let next = shop.line().without("--txt-owner-id").args(&["--txt-owner-id=next", "--once"]).run();
    assert_eq!(next.status.code(), Some(0), "{}", next.log);
    shop.site.shows(&["api 0 A 192.0.2.2", "web 0 A 192.0.2.9"]);
}

fn an_owner_leaves_for_good(software: DnsSoftware) {
    require!(software.tools());
    let shop = Shop::new(software, "", TWO);
    shop.once();
    let anonymous = shop.order("drain").without("--txt-owner-id").arg("--yes");
    ends(&anonymous, 1, &["--txt-owner-id is required", "e2e (2 records)", "someone-else (1 records)"]);
    ends(&shop.order("drain"), 2, &["- web.shop.test", "- api.shop.test", "nothing was done"]);
    let nowhere = shop.order("drain").args(&["--yes", "nowhere.shop.test"]);
    ends(&nowhere, 1, &["nothing matched: there is no record of owner \"e2e\" at nowhere.shop.test"]);
    assert_eq!(shop.site.ours(), SHOWN);
    // A claim whose record is gone goes along. What a former owner claims, with the daemon's own flags, does not.
    shop.site.dns.nsupdate("update delete web.shop.test A");
    let drain = shop.order("drain").args(&["--yes", "--migrate-from-txt-owner=someone-else"]);
    ends(&drain, 0, &["a claim without a record", "2 done, 0 failed", "0 changes remain"]);
    assert_eq!(shop.site.ours_and_claims(), (vec![], vec![]));
    let theirs =
        shop.site.zone().into_iter().filter(|record| record.starts_with("taken.") || record.contains("someone-else"));
    assert_eq!(theirs.count(), 2, "{:?}", shop.site.zone());
}

fn records_are_released_and_adopted(software: DnsSoftware) {
    require!(software.tools());
    let shop = Shop::new(software, "", TWO);
    shop.once();
    ends(&shop.order("release").args(&["--yes", "web.shop.test"]), 0, &["are no longer owned by", "1 done"]);
    assert_eq!((shop.site.ours().as_slice(), shop.site.claims().len()), (&SHOWN.map_to_owned()[..], 1));
    // What nobody claims is left alone, whatever the cluster wants.
    shop.put("web", "192.0.2.9");
    shop.once();
    assert_eq!(shop.site.ours(), SHOWN);
    let adopt = shop.line().ordered("adopt").arg("--yes");
    ends(&adopt, 0, &["nothing to do", "wants 192.0.2.9", "--force web.shop.test"]);
    ends(&adopt.clone().arg("nowhere.shop.test"), 1, &["nothing matched: there is no record at nowhere.shop.test"]);
    ends(&adopt.clone().arg("api.shop.test"), 0, &["nothing to do"]);
    ends(&adopt.clone().arg("--force=web.shop.test"), 0, &["1 done, 0 failed", "0 differ"]);
    assert_eq!((shop.site.ours().as_slice(), shop.site.claims().len()), (&SHOWN.map_to_owned()[..], 2));
    shop.once();
    shop.site.shows(&["api 0 A 192.0.2.2", "web 0 A 192.0.2.9"]);
    // As a flag of the daemon: only what matches.
    ends(&shop.order("release").arg("--yes"), 0, &["2 done"]);
    shop.put("api", "192.0.2.8");
    let line = shop.line().args(&["--adopt-matching", "--once"]);
    assert_eq!(line.run().status.code(), Some(0));
    let claims = shop.site.claims();
    assert!(claims.len() == 1 && claims[0].contains("service/default/web"), "{claims:?}");
    assert_eq!(shop.site.ours(), ["api 0 A 192.0.2.2", "web 0 A 192.0.2.9"]);
}

/// What the events `DisputedClaim` and `ForeignClaim` advise.
fn disputes_and_claims_without_a_record_end_by_name(software: DnsSoftware) {
    require!(software.tools());
    let shop = Shop::new(software, "", TWO);
    shop.once();
    let claim = |name: &str, owner: &str| {
        format!("update add a-{name}.shop.test 60 TXT \"heritage=external-dns,external-dns/owner={owner}\"\n")
    };
    let [one, two] = [claim("twice", "one"), claim("twice", "two")];
    let [ghost, other] = [claim("ghost", "one"), claim("other", "one")];
    shop.site.dns.nsupdate(&format!("update add twice.shop.test 60 A 198.51.100.7\n{one}{two}{ghost}{other}"));
    let claims = |of: &str| shop.site.claims().iter().filter(|claim| claim.contains(of)).count();
    let order = |word: &str, name: &str| {
        shop.order(word).without("--txt-owner-id").args(&["--txt-owner-id=one", "--yes", name])
    };
    let told =
        ["twice.shop.test A: claimed by two, too", "zonewright release twice.shop.test", "nothing of it can be done"];
    ends(&order("drain", "twice.shop.test"), 1, &told);
    let transfer = shop.order("transfer").without("--txt-owner-id").args(&["--from=one", "--to=two", "--yes"]);
    ends(&transfer.arg("twice.shop.test"), 1, &told);
    ends(&order("release", "twice.shop.test"), 0, &["one -> two", "are no longer owned by", "1 done, 0 failed"]);
    assert_eq!((claims("a-twice"), claims("owner=two"), claims("owner=one")), (1, 1, 2), "{:?}", shop.site.claims());
    ends(&order("release", "ghost.shop.test"), 1, &["nothing matched"]);
    ends(&order("drain", "ghost.shop.test"), 0, &["a claim without a record", "1 done, 0 failed", "0 changes remain"]);
    assert_eq!((claims("a-ghost"), claims("a-other"), claims("owner=e2e")), (0, 1, 2), "{:?}", shop.site.claims());
    assert_eq!(shop.site.ours(), ["api 0 A 192.0.2.2", "twice 60 A 198.51.100.7", "web 0 A 192.0.2.1"]);
    // One claim of each owner, in the old format, for two records.
    let old = |owner: &str| {
        format!("update add both.shop.test 60 TXT \"heritage=external-dns,external-dns/owner={owner}\"\n")
    };
    let records = "update add both.shop.test 60 A 198.51.100.8\nupdate add both.shop.test 60 MX 10 mail.shop.test.\n";
    shop.site.dns.nsupdate(&format!("{records}{}{}", old("one"), old("two")));
    let told =
        ["2 records stay", "both.shop.test 60 A 198", "both.shop.test 60 MX 10 mail", "one -> two", "1 done, 0 failed"];
    let release = order("release", "both.shop.test").args(&["--managed-record-types=A", "--managed-record-types=MX"]);
    ends(&release, 0, &told);
    assert_eq!((claims("both "), claims("owner=two"), claims("owner=one")), (1, 2, 1), "{:?}", shop.site.claims());
}

trait MapToOwned {
    fn map_to_owned(&self) -> Vec<String>;
}

impl MapToOwned for &[&str] {
    fn map_to_owned(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

/// One line for the plan and one for what became of it; nobody is asked.
#[test]
fn the_answers_of_ownership_commands_for_programs() {
    use serde_json::{Value, json};
    require!(DnsSoftware::Bind.tools());
    let shop = Shop::new(DnsSoftware::Bind, "", TWO);
    shop.once();
    let answers = |line: CommandLine, status: i32| -> Vec<Value> {
        let ended = line.arg("--output=json").run();
        assert_eq!(ended.status.code(), Some(status), "{}", ended.log);
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        // What is logged goes to standard error, which tests see with the rest.
        ended.log.lines().filter(|line| !line.starts_with("time=")).map(read).collect()
    };
    let state = crate::daemon::state_folder();
    let line = shop.order("transfer").without("--txt-owner-id").args(&["--from=e2e", "--to=next"]);
    let line = line.arg(format!("--state-dir={}", state.1));
    let plan = answers(line.clone(), 2);
    assert_eq!(plan.len(), 1, "{plan:?}");
    let head = json!([plan[0]["command"], plan[0]["owner"], plan[0]["to"], plan[0]["matched"], plan[0]["dry_run"]]);
    assert_eq!(head, json!(["transfer", "e2e", "next", true, false]));
    assert_eq!(plan[0]["changes"].as_array().map(Vec::len), Some(2));
    assert_eq!(plan[0]["changes"][0]["zone"], "rfc2136/shop.test");
    let done = answers(line.clone().arg("--yes"), 0);
    assert_eq!(done[0], plan[0]);
    let numbers = json!([done[1]["done"], done[1]["failed"], done[1]["skipped"], done[1]["remaining"]]);
    assert_eq!(numbers, json!([2, [], 0, 0]));
    assert!(done[1]["undo"].as_str().is_some_and(|undo| undo.starts_with("zonewright undo --plan ")), "{done:?}");
    let nothing = answers(line.arg("--yes"), 1);
    assert_eq!((nothing.len(), &nothing[0]["matched"], &nothing[0]["changes"]), (1, &json!(false), &json!([])));
    let dry = answers(shop.order("drain").without("--txt-owner-id").args(&["--txt-owner-id=next", "--dry-run"]), 0);
    assert_eq!((dry.len(), &dry[0]["dry_run"], &dry[0]["command"]), (1, &json!(true), &json!("drain")));
    assert!(answers(shop.line().ordered("adopt").arg("--yes"), 0)[0]["matched"].is_boolean());
}
