//! The daemon with its claims in a table: no TXT record beside a record, and no record changed that the table does not give it.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use zonewright_fakes::dynamodb::{DynamoDb, Fault, Schema};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{CommandLine, text};
use crate::manifests::{folder, service, write};
use crate::site::{OWNER, Site, ZONE};
use crate::{LATER, SOON, until};

const TABLE: &str = "claims";

/// A zone, a folder of manifests and a table.
struct Shop {
    site: Site,
    folder: TempDir,
    table: DynamoDb,
}

impl Shop {
    fn new() -> Self {
        let shop = Self { site: Site::start(Bind), folder: folder(), table: DynamoDb::start() };
        shop.table.create_table(TABLE, Schema::hash("k", "S"));
        shop.table.set_page(100);
        shop
    }

    /// One whose folder asks for two records.
    fn of_two() -> Self {
        let shop = Self::new();
        for (host, address) in [("api", "192.0.2.1"), ("web", "192.0.2.2")] {
            shop.put(host, address);
        }
        shop
    }

    fn put(&self, host: &str, address: &str) {
        write(self.folder.path(), &format!("{host}.yaml"), &service(host, host, address));
    }

    fn remove(&self, host: &str) {
        fs::remove_file(self.folder.path().join(format!("{host}.yaml"))).expect("remove a manifest");
    }

    /// The daemon with TXT records.
    fn with_txt(&self) -> CommandLine {
        let line = self.site.provider(self.site.dns.addr().port()).args(&["--source=service", "--interval=1s"]);
        line.arg(format!("--manifests={}", text(self.folder.path())))
    }

    /// The daemon with the table.
    fn line(&self) -> CommandLine {
        self.with_txt()
            .args(&["--registry=dynamodb", "--dynamodb-region=eu-test-1", "--aws-api-retries=2"])
            .arg(format!("--dynamodb-table={TABLE}"))
            .env("AWS_ENDPOINT_URL_DYNAMODB", &self.table.url())
            .env("AWS_ACCESS_KEY_ID", "id")
            .env("AWS_SECRET_ACCESS_KEY", "not to be printed")
    }

    /// Host, owner, resource and whether a write is open, of every row.
    fn rows(&self) -> Vec<String> {
        let line = |row: serde_json::Map<String, Value>| {
            let labels = &row["l"]["M"];
            let word = |value: &Value| value["S"].as_str().unwrap_or("-").to_owned();
            let host = word(&row["k"]).replace(&format!(".{ZONE}"), "");
            let open = if labels.get("zonewright-open").is_some() { " open" } else { "" };
            format!("{host} {} {}{open}", word(&row["o"]), word(&labels["resource"]))
        };
        self.table.items(TABLE).into_iter().map(line).collect()
    }

    /// Waits until the rows are exactly those of these hosts.
    #[track_caller]
    fn claims(&self, hosts: &[&str]) {
        let expected: Vec<String> =
            hosts.iter().map(|host| format!("{host}#A# {OWNER} service/default/{host}")).collect();
        let shown = zonewright_testkit::poll(SOON, || (self.rows() == expected).then_some(()));
        assert!(shown.is_some(), "the table holds {:#?}, expected {expected:#?}", self.rows());
    }
}

/// One round, which must succeed.
#[track_caller]
fn once(line: &CommandLine) {
    let ended = line.clone().arg("--once").run();
    assert!(ended.status.success(), "{}", ended.log);
}

#[test]
fn records_come_change_and_go_with_their_rows() {
    require!(Bind.tools());
    let shop = Shop::new();
    for (host, address) in [("api", "192.0.2.1"), ("web", "192.0.2.2"), ("taken", "192.0.2.3"), ("bare", "192.0.2.4")] {
        shop.put(host, address);
    }
    let mut daemon = shop.line().start();
    shop.site.shows(&["api 0 A 192.0.2.1", "web 0 A 192.0.2.2"]);
    shop.claims(&["api", "web"]);
    daemon.ready();
    assert_eq!(shop.site.claims(), Vec::<String>::new(), "no TXT record");
    let (serial, writes) = (shop.site.serial(), shop.table.calls()["BatchExecuteStatement"]);

    // A restart after a crash finds everything as it was.
    daemon.kill();
    let daemon = shop.line().start();
    daemon.ready();
    let idle = "external_dns_controller_no_op_runs_total";
    until("a round without changes", SOON, || daemon.metric(idle).is_some_and(|rounds| rounds >= 1.0));
    assert_eq!((shop.site.serial(), shop.table.calls()["BatchExecuteStatement"]), (serial, writes));

    shop.put("web", "192.0.2.5");
    shop.put("new", "192.0.2.6");
    shop.remove("api");
    shop.site.shows(&["new 0 A 192.0.2.6", "web 0 A 192.0.2.5"]);
    shop.claims(&["new", "web"]);

    // A record that another writer takes away comes back under its row; a name that another owner holds in the table does not come.
    let foreign = json!({ "k": { "S": format!("other.{ZONE}#A#") }, "o": { "S": "someone-else" }, "l": { "M": {} } });
    shop.table.put(TABLE, foreign.as_object().expect("an item").clone());
    shop.put("other", "192.0.2.7");
    daemon.says(&["other.shop.test", "someone-else"]);
    assert_eq!(shop.site.ours(), ["new 0 A 192.0.2.6", "web 0 A 192.0.2.5"]);
    assert_eq!(shop.rows().len(), 3);
    let ended = daemon.terminate();
    assert!(ended.status.success() && !ended.log.contains("not to be printed"), "{}", ended.log);
}

#[test]
fn a_table_that_is_away_or_throttled_costs_no_record() {
    require!(Bind.tools());
    let shop = Shop::new();
    for (host, address) in [("a", "192.0.2.1"), ("b", "192.0.2.2"), ("c", "192.0.2.3")] {
        shop.put(host, address);
    }
    let daemon = shop.line().start();
    shop.claims(&["a", "b", "c"]);
    daemon.ready();
    let serial = shop.site.serial();

    // Throttled: what is wanted meanwhile waits.
    for operation in ["Scan", "BatchExecuteStatement"] {
        shop.table.fail(operation, Fault::Throttled, usize::MAX);
    }
    shop.remove("a");
    shop.put("d", "192.0.2.4");
    daemon.says(&["level=error", "the zone cannot be served", "ProvisionedThroughputExceeded"]);
    assert_eq!(shop.site.serial(), serial);
    for operation in ["Scan", "BatchExecuteStatement"] {
        shop.table.fail(operation, Fault::Throttled, 0);
    }
    until("the changes that waited", LATER, || {
        shop.site.ours() == ["b 0 A 192.0.2.2", "c 0 A 192.0.2.3", "d 0 A 192.0.2.4"]
    });
    shop.claims(&["b", "c", "d"]);
    daemon.ready_within(LATER);

    // Gone: also for a daemon that starts without it.
    let serial = shop.site.serial();
    let rows = shop.table.drop_table(TABLE);
    daemon.says(&["level=error", "the zone cannot be served", "ResourceNotFound", "--dynamodb-table"]);
    assert!(daemon.terminate().status.success());
    shop.remove("b");
    let daemon = shop.line().start();
    daemon.says(&["level=error", "ResourceNotFound"]);
    daemon.unready(&[], SOON);
    assert_eq!(shop.site.serial(), serial);

    // Back with its rows, which nobody reads before all of them are there.
    shop.table.fail("Scan", Fault::Throttled, usize::MAX);
    shop.table.create_table(TABLE, Schema::hash("k", "S"));
    for row in rows {
        shop.table.put(TABLE, row);
    }
    shop.table.fail("Scan", Fault::Throttled, 0);
    until("the delete that waited", LATER, || shop.site.ours() == ["c 0 A 192.0.2.3", "d 0 A 192.0.2.4"]);
    shop.claims(&["c", "d"]);
    daemon.ready_within(LATER);

    // An empty table in its place: nothing is ours, so nothing goes.
    let serial = shop.site.serial();
    shop.table.create_table(TABLE, Schema::hash("k", "S"));
    let read = shop.table.calls()["Scan"];
    until("two more readings", LATER, || shop.table.calls()["Scan"] > read + 2);
    shop.remove("c");
    until("two readings after that", LATER, || shop.table.calls()["Scan"] > read + 5);
    assert_eq!((shop.site.serial(), shop.rows()), (serial, vec![]));
}

#[test]
fn txt_claims_move_into_the_table_while_the_records_stay() {
    require!(Bind.tools());
    let shop = Shop::of_two();
    once(&shop.with_txt());
    let (records, claims) = shop.site.ours_and_claims();
    assert_eq!((records.len(), claims.len()), (2, 2));

    once(&shop.line().arg("--dry-run"));
    assert_eq!(
        (shop.site.ours_and_claims(), shop.rows()),
        ((records.clone(), claims), vec![]),
        "a dry run writes nothing"
    );

    once(&shop.line());
    assert_eq!(shop.site.ours_and_claims(), (records.clone(), vec![]));
    shop.claims(&["api", "web"]);
    once(&shop.line());
    assert_eq!(shop.site.ours(), records);
    shop.claims(&["api", "web"]);
}

#[test]
fn an_owner_that_leaves_takes_its_rows_along() {
    require!(Bind.tools());
    let shop = Shop::of_two();
    once(&shop.line());
    shop.claims(&["api", "web"]);
    // One record is gone already, and of one external-dns has left a row.
    shop.site.dns.nsupdate(&format!("update delete web.{ZONE} A"));
    let row = |host: &str, owner: &str| json!({ "k": { "S": format!("{host}.{ZONE}#A#") }, "o": { "S": owner }, "l": { "M": {} } });
    for item in [row("left", OWNER), row("theirs", "someone-else")] {
        shop.table.put(TABLE, item.as_object().expect("an item").clone());
    }
    let drain = shop.line().without("--source").without("--manifests").ordered("drain");
    let asked = drain.run();
    assert_eq!((asked.status.code(), shop.rows().len()), (Some(2), 4), "{}", asked.log);
    for line in
        ["- api.shop.test", "- web.shop.test A  a claim without a record", "- left.shop.test A  a claim without"]
    {
        assert!(asked.log.contains(line), "{line:?} is not in\n{}", asked.log);
    }
    let ended = drain.arg("--yes").run();
    assert!(ended.status.success() && ended.log.contains("3 done, 0 failed"), "{}", ended.log);
    assert_eq!((shop.site.ours(), shop.rows()), (vec![], vec!["theirs#A# someone-else -".to_owned()]));
}

/// What an order took out of the table comes back with the records, and stays while it is held.
#[test]
fn a_drain_is_undone_with_its_rows() {
    require!(Bind.tools());
    let (shop, state) = (Shop::of_two(), tempfile::tempdir().expect("a folder"));
    let state = format!("--state-dir={}", text(state.path()));
    let line = shop.line().arg(&state);
    once(&line);
    let (records, rows) = (shop.site.ours(), shop.rows());
    assert_eq!((records.len(), rows.len()), (2, 2));
    let drained = line.without("--source").without("--manifests").ordered("drain").arg("--yes").run();
    assert!(drained.status.success() && drained.log.contains("2 done, 0 failed"), "{}", drained.log);
    assert_eq!((shop.site.ours(), shop.rows()), (vec![], vec![]));
    let hash = drained.log.split("zonewright undo --plan ").nth(1).expect("how it is undone");
    let plan = format!("--plan={}", hash.split_whitespace().next().expect("a hash"));

    // Nobody asks for them any more; an undo is stronger than that, for as long as it holds.
    shop.remove("api");
    shop.remove("web");
    let daemon = shop.line().arg(&state).start();
    daemon.ready();
    let output = crate::daemon::command(&["undo", &plan, "--yes", &state, &format!("--txt-owner-id={OWNER}")]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("2 names were restored and pinned"), "{said}");
    assert_eq!((shop.site.ours(), shop.rows()), (records.clone(), rows.clone()));
    let rounds = daemon.metric("external_dns_controller_no_op_runs_total").unwrap_or(0.0);
    let idle = || daemon.metric("external_dns_controller_no_op_runs_total").is_some_and(|now| now >= rounds + 3.0);
    until("three rounds more", SOON, idle);
    assert_eq!((shop.site.ours(), shop.rows()), (records, rows));
}
