//! The recorded corpus: what external-dns did with given objects, flags and records, and whether the program does the same.
//!
//! In: `tests/corpus/GROUP/SCENARIO/` of the repository, whose README has the format. Out: one test for each group, which
//! names every run that differs and how. Whatever is recorded is run, and nothing differs but what [`KNOWN`] lists.

mod compare;
mod endpoint;
mod found_out;
mod known;
mod program;
mod provider;
mod recorded;
mod scope;
mod sharing;

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt as _;

use crate::known::KNOWN;
use crate::program::Program;
use crate::recorded::{Case, cases, folders};

/// The program under test.
const PROGRAM: Program<'_> = Program { path: env!("CARGO_BIN_EXE_zonewright"), limit: Duration::from_secs(20) };

/// How many runs of one group go on at a time.
const AT_A_TIME: usize = 2;

/// One test for each group; its folder is called the same, with `-` for `_`.
macro_rules! groups {
    ($($group:ident),+ $(,)?) => {
        const GROUPS: &[&str] = &[$(stringify!($group)),+];
        $(
            #[test]
            fn $group() {
                check_group(&folder(stringify!($group)));
            }
        )+
    };
}

groups!(
    ambassador,
    annotations,
    compatibility,
    contour,
    crd,
    f5,
    filters,
    flags,
    gateway_grpcroute,
    gateway_httproute,
    gateway_listenerset,
    gateway_tcproute,
    gateway_tlsroute,
    gateway_udproute,
    gloo,
    ingress,
    istio_gateway,
    istio_virtualservice,
    kong,
    multi_source,
    node,
    openshift_route,
    plan,
    pod,
    registry_noop,
    registry_txt,
    service_clusterip,
    service_externalname,
    service_headless,
    service_loadbalancer,
    service_nodeport,
    skipper,
    templates,
    traefik,
    unstructured,
    wrappers,
);

/// Where the recordings are.
fn corpus() -> PathBuf {
    repository().join("tests/corpus")
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is a folder of the repository")
}

/// The folder of the group that this test is for.
fn folder(test: &str) -> String {
    test.replace('_', "-")
}

/// Plays every run of the group, and fails with all that differs.
#[track_caller]
fn check_group(group: &str) {
    let cases = cases(&corpus(), group);
    assert!(!cases.is_empty(), "{group} holds no run");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let plays = futures::stream::iter(&cases).map(check_case).buffered(AT_A_TIME);
    let complaints: Vec<String> = runtime.block_on(plays.filter_map(std::future::ready).collect());
    let (bad, all) = (complaints.len(), cases.len());
    assert!(complaints.is_empty(), "{bad} of {all} runs of {group}:\n\n{}\n", complaints.join("\n\n"));
}

/// Plays one run; a complaint unless it went as it should.
async fn check_case(case: &Case) -> Option<String> {
    let played = PROGRAM.play(&case.objects, &case.run).await;
    let complaint = known::complaint(KNOWN, &case.name, compare::differences(&case.run, &played))?;
    Some(format!("{}  {}\n{}", case.name, case.run.args.join(" "), complaint.join("\n")))
}

#[test]
fn every_recorded_group_has_a_test() {
    let tested: Vec<String> = GROUPS.iter().map(|test| folder(test)).collect();
    assert_eq!(folders(&corpus()), tested);
}

#[test]
fn every_known_difference_is_recorded_and_documented() {
    let page = repository().join("docs/differences.md");
    let page = std::fs::read_to_string(&page).expect("docs/differences.md");
    for (name, _) in KNOWN {
        let group = name.split('/').next().unwrap_or_default();
        assert!(cases(&corpus(), group).iter().any(|case| case.name == *name), "{name} is no recorded run");
        assert!(page.contains(name), "docs/differences.md does not mention {name}");
    }
}
