//! The extension controller of Gardener.

use super::*;

fn settings(line: &str) -> Result<zonewright_core::catalog::Settings, String> {
    let words: Vec<&str> = ["gardener"].into_iter().chain(line.split_whitespace()).collect();
    match read(&words, &[]) {
        Ok(invocation) => Ok(invocation.settings),
        Err(Stop::Answer(text) | Stop::Refusal(text)) => Err(text),
    }
}

#[test]
fn switches_in_the_form_of_gardeners_extensions() {
    let leads = |line: &str| settings(line).unwrap().bool("leader-election");
    assert!(leads("") && leads("--leader-election=true") && leads("--leader-election"));
    assert!(!leads("--leader-election=false") && !leads("--no-leader-election"));
    assert!(settings("--leader-election=maybe").unwrap_err().contains("leader-election"));
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    let check = |line: &str, text: &str| {
        let error = settings(line).unwrap_err();
        assert!(error.contains(text), "{error}");
    };
    check("--dnsrecord-max-concurrent-reconciles=0", "--dnsrecord-max-concurrent-reconciles=0: expected at least 1");
    check("--registry=txt", "--txt-owner-id");
    check("--registry=dynamodb", "registry");
    check("--source=service", "unknown long flag '--source'");
    settings("--registry=txt --txt-owner-id=garden --types=rfc2136,aws-route53").unwrap();
}
