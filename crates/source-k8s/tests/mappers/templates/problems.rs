//! What is reported and kept where a template fails, or gives less than it should.

use serde_json::json;
use zonewright_core::endpoint::{Mapped, Severity};
use zonewright_source_k8s::kind::Kind;

use super::{
    FQDN, PAIRS, TARGET, check, check_unstructured, combine, config_map, ingress, mapped, my_svc, service, set, st,
};
use crate::scene::{map, options, shown};

/// What is reported: how grave, why, and all these pieces.
fn reports(mapped: &Mapped, severity: Severity, reason: &str, pieces: &[&str]) {
    assert_eq!(mapped.notes.len(), 1, "{:?}", mapped.notes);
    let note = &mapped.notes[0];
    assert_eq!((note.severity, note.reason), (severity, reason), "{note:?}");
    for piece in pieces {
        assert!(note.message.contains(piece), "{:?} lacks {piece:?}", note.message);
    }
}

#[test]
fn what_gives_too_little_is_reported() {
    let map = config_map("m", json!({"a": "b"}));
    let name = (FQDN, "{{.Name}}.com");
    let incomplete = "TemplateIncomplete";
    let skipped = "TemplateItemSkipped";
    for (flags, severity, reason, pieces, lines) in [
        (
            &[name, (TARGET, "{{if .Object.data.x}}1.1.1.1{{end}}")][..],
            Severity::Warning,
            incomplete,
            &["--target-template gives no target for m.com; expected an IP address or a host name"][..],
            &["! TemplateIncomplete", "m.com pending"][..],
        ),
        (
            &[name, (TARGET, "{{.Object.data.x}}")],
            Severity::Warning,
            "TemplateFailed",
            &["--target-template on ConfigMap default/m: value 0, line 1"],
            &["! TemplateFailed"],
        ),
        (
            &[(FQDN, "a.com,b.com"), (TARGET, r#"{{if eq .Kind "Pod"}}1.1.1.1{{end}}"#)],
            Severity::Warning,
            incomplete,
            &["--target-template gives no target for a.com, b.com; expected an IP address or a host name"],
            &["! TemplateIncomplete", "a.com pending", "b.com pending"],
        ),
        (
            &[name],
            Severity::Warning,
            incomplete,
            &["--fqdn-template gives m.com, and --target-template is not set; expected both"],
            &["! TemplateIncomplete"],
        ),
        (
            &[(FQDN, "a.com,b.com,c.com,d.com,e.com,f.com,g.com")],
            Severity::Warning,
            incomplete,
            &["--fqdn-template gives a.com, b.com, c.com, d.com, e.com and 2 more, and"],
            &["! TemplateIncomplete"],
        ),
        (
            &[(TARGET, "1.1.1.1")],
            Severity::Normal,
            incomplete,
            &["--target-template is set, and --fqdn-template", "is not; expected both"],
            &["! TemplateIncomplete"],
        ),
        (
            &[(PAIRS, "{{.Name}}.com")],
            Severity::Normal,
            skipped,
            &["--fqdn-target-template, \"m.com\": expected host:target, found no colon"],
            &["! TemplateItemSkipped"],
        ),
        (
            &[(PAIRS, ":1.1.1.1")],
            Severity::Normal,
            skipped,
            &["--fqdn-target-template, \":1.1.1.1\": expected host:target, found no host"],
            &["! TemplateItemSkipped"],
        ),
        (
            &[(PAIRS, "{{.Name}}.com: ")],
            Severity::Warning,
            skipped,
            &["--fqdn-target-template, \"m.com:\": expected host:target, found no target"],
            &["! TemplateItemSkipped", "m.com pending"],
        ),
    ] {
        let mapped = mapped(&map, flags, false);
        assert_eq!(shown(&mapped), lines, "{flags:?}: {:?}", mapped.notes);
        reports(&mapped, severity, reason, pieces);
    }
    let own = map.ann("hostname", "own.com").ann("target", "1.1.1.1");
    check_unstructured("the object's own names do", &own, &[(TARGET, "2.2.2.2")], false, &["own.com A 1.1.1.1"]);
}

/// Templates choose objects by giving nothing for the others.
#[test]
fn a_template_that_gives_no_names_is_silent() {
    let none = r#"{{if eq .Kind "Pod"}}a.com{{end}}"#;
    let map = config_map("m", json!({"a": "b"}));
    check_unstructured("names", &map, &[(FQDN, none), (TARGET, "1.1.1.1")], false, &[]);
    check_unstructured("pairs, and targets", &map, &[(PAIRS, none), (TARGET, "1.1.1.1")], false, &[]);
    check_unstructured("no target flag", &map, &[(FQDN, none)], false, &[]);
    check_unstructured("pairs", &map, &[(PAIRS, none)], false, &[]);
    check("a service", &my_svc(), (FQDN, none), st, "");
    check("an ingress", &ingress().status("1.1.1.1"), (FQDN, none), combine, "");
}

/// Nothing is disowned that is published under the label of what failed.
#[test]
fn what_fails_keeps_what_is_published() {
    let load_balancer = service("LoadBalancer").status("1.2.3.4");
    let configs = config_map("m", json!({"a": "b"}));
    for (thing, flags, label, message) in [
        (
            load_balancer.clone(),
            &[(FQDN, "{{.Calibre}}.com")][..],
            Some("service/testing/foo"),
            "--fqdn-template on Service testing/foo: value 0, line 1, column 3: ",
        ),
        (
            load_balancer.clone(),
            &[(FQDN, "{{.Labels.x}}.com")],
            Some("service/testing/foo"),
            "--fqdn-template on Service testing/foo: ",
        ),
        (
            load_balancer,
            &[(PAIRS, "{{.Calibre}}.com:1.1.1.1")],
            None,
            "--fqdn-target-template on Service testing/foo: value 0, line 1, column 3: ",
        ),
        (
            ingress().status("1.1.1.1"),
            &[(FQDN, "a.com,\n{{.Calibre}}.com")],
            Some("ingress/testing/fake1"),
            "--fqdn-template on Ingress testing/fake1: value 0, line 2, column 3: ",
        ),
        (
            configs.clone(),
            &[(FQDN, "{{.Calibre}}.com"), (TARGET, "1.1.1.1")],
            Some("configmap/default/m"),
            "--fqdn-template on ConfigMap default/m: value 0, line 1, column 3: ",
        ),
        (
            configs.clone(),
            &[(FQDN, "a.com"), (TARGET, "{{.Calibre}}")],
            Some("configmap/default/m"),
            "--target-template on ConfigMap default/m: value 0, line 1, column 3: ",
        ),
        (
            configs,
            &[(PAIRS, "{{.Calibre}}.com:1.1.1.1")],
            Some("configmap/default/m"),
            "--fqdn-target-template on ConfigMap default/m: value 0, line 1, column 3: ",
        ),
    ] {
        let custom = matches!(thing.kind, Kind::Custom(_));
        let mapped = if custom { mapped(&thing, flags, false) } else { map(&thing, &[], &options(|o| set(o, flags))) };
        assert!(mapped.endpoints.is_empty() && mapped.pending.is_empty(), "{flags:?}: {mapped:?}");
        reports(&mapped, Severity::Warning, "TemplateFailed", &["; what is published for this object stays"]);
        assert!(mapped.notes[0].message.starts_with(message), "{}", mapped.notes[0].message);
        let failed = message.split(' ').next().unwrap_or_default();
        let unknown: Vec<_> = mapped.unknown.iter().map(|u| (u.resource.as_deref(), u.reason.as_str())).collect();
        assert_eq!(unknown, [(label, format!("{failed} failed").as_str())], "{flags:?}");
    }
}
