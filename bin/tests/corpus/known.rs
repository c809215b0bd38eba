//! Where the program differs from the recordings on purpose.
//!
//! In: a run and how it differs. Out: what is wrong with that. A run that is listed must differ; one that is not, must not.

/// Runs, as group/scenario/run, and why they differ. `docs/differences.md` says the same to users.
pub(crate) const KNOWN: &[(&str, &str)] = &[(
    "multi-source/random-1/annotation-filter",
    "external-dns stops reading DNSEndpoints at the first one that the annotation filter drops; every one that matches is read",
)];

/// What is to be said of a run with these differences: nothing if it is `known` to differ or does not.
pub(crate) fn complaint(known: &[(&str, &str)], run: &str, differences: Vec<String>) -> Option<Vec<String>> {
    let reason = known.iter().find(|(name, _)| *name == run).map(|(_, reason)| reason);
    match (reason, differences.is_empty()) {
        (None, true) | (Some(_), false) => None,
        (None, false) => Some(differences),
        (Some(reason), true) => Some(vec![format!(
            "  is listed as a known difference and does not differ any more; the reason was: {reason}"
        )]),
    }
}

#[test]
fn only_a_listed_run_differs_and_it_must() {
    const LIST: &[(&str, &str)] = &[("plan/sync/twice", "we are right")];
    let check = |run, differs: bool, expected: Option<&str>| {
        let complaint = complaint(LIST, run, if differs { vec!["  create: missing".to_owned()] } else { Vec::new() });
        let found = complaint.map(|lines| lines.join("\n"));
        assert!(
            found.is_some() == expected.is_some()
                && found.iter().all(|found| found.contains(expected.unwrap_or_default())),
            "{run}: {found:?}",
        );
    };
    check("plan/sync/once", false, None);
    check("plan/sync/once", true, Some("create: missing"));
    check("plan/sync/twice", true, None);
    check("plan/sync/twice", false, Some("does not differ any more; the reason was: we are right"));
}
