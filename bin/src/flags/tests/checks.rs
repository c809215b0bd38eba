//! Settings that contradict each other, flags that give way to others, and what is chosen and not here.

use super::*;

/// A command line without `--policy`, so that each case can give its own.
fn bare(arguments: &str) -> Result<Invocation, Stop> {
    let line: Vec<_> = "--source=service --manifests=m".split(' ').chain(arguments.split_whitespace()).collect();
    read(&line, &[])
}

#[test]
fn in_the_words_of_external_dns() {
    let policy = "--policy must be set explicitly (one of: sync, upsert-only, create-only)";
    for (arguments, expected) in [
        ("--provider=local", policy),
        ("--provider=local --policy=", policy),
        ("--provider=local --txt-prefix=a --txt-suffix=b", policy),
        ("--provider=acme --policy=sync --acme-size=0 --create-ptr", "acme-size is too small"),
        (
            "--provider=local --policy=sync --ignore-hostname-annotation",
            "FQDN Template must be set if ignoring annotations",
        ),
        (
            "--provider=local --policy=sync --txt-prefix=a --txt-suffix=b",
            "txt-prefix and txt-suffix are mutual exclusive",
        ),
        ("--provider=local --policy=sync --label-filter==", "--label-filter does not specify a valid label selector"),
        (
            "--provider=local --policy=sync --annotation-filter=a!=b",
            "--annotation-filter does not specify a valid label selector",
        ),
        ("--provider=local --policy=sync --annotation-prefix=", "--annotation-prefix cannot be empty"),
        ("--provider=local --policy=sync --annotation-prefix=a", "--annotation-prefix must end with '/'"),
        ("--provider=local --policy=sync --kube-api-qps=0", "--kube-api-qps must be greater than 0"),
        ("--provider=local --policy=sync --kube-api-burst=-1", "--kube-api-burst must be greater than 0"),
        ("--provider=local --policy=sync --create-ptr", "--create-ptr requires PTR in --managed-record-types"),
    ] {
        let text = refusal(bare(arguments));
        assert!(text.starts_with(&format!("config validation failed: {expected}")), "{arguments}: {text}");
    }
}

#[test]
fn of_another_provider_are_not_made() {
    assert!(with("--acme-size=0 --azure-config-file=").is_ok());
    assert!(with("--registry=noop --txt-prefix=a --txt-suffix=b").is_ok());
}

#[test]
fn of_our_own_flags() {
    for (arguments, expected) in [
        ("--status-grace=-1s", "--status-grace cannot be negative"),
        ("--brake-window=-1h", "--brake-window cannot be negative"),
        ("--brake-min-deletes=-1", "--brake-min-deletes cannot be negative"),
        ("--brake-percent=101", "--brake-percent must be from 0 to 100"),
    ] {
        assert_eq!(refusal(with(arguments)), format!("config validation failed: {expected}"));
    }
}

#[test]
fn several_annotation_prefixes_keep_their_order() {
    let settings = with("--annotation-prefix=b/ --annotation-prefix=a/").unwrap().settings;
    assert_eq!(settings.list("annotation-prefix"), ["b/", "a/"]);
    assert_eq!(with("").unwrap().settings.list("annotation-prefix"), ["external-dns.kubernetes.io/"]);
}

#[test]
fn intervals_of_any_sign_are_taken() {
    assert!(with("--interval=0 --min-event-sync-interval=-5s").is_ok());
}

mod deprecated {
    use super::*;

    fn notices(arguments: &str) -> (Settings, Vec<Notice>) {
        let invocation = with(arguments).unwrap();
        (invocation.settings, invocation.notices)
    }

    #[test]
    fn request_timeout() {
        for (arguments, seconds, warned) in [
            ("", 30, false),
            ("--request-timeout=30s", 30, false),
            ("--request-timeout=5s", 5, true),
            ("--request-timeout=5s --kube-api-request-timeout=7s", 7, true),
            ("--kube-api-request-timeout=7s", 7, false),
        ] {
            let (settings, notices) = notices(arguments);
            assert_eq!(settings.duration("kube-api-request-timeout"), Duration::from_secs(seconds), "{arguments}");
            assert_eq!(matches!(notices.as_slice(), [Notice::Warning(_)]), warned, "{arguments}: {notices:?}");
        }
    }

    #[test]
    fn former_names_of_flags() {
        for (arguments, fast, size, warning) in [
            ("", false, 5, ""),
            ("--acme-quick", true, 5, "--acme-quick is deprecated: use --acme-fast"),
            ("--no-acme-quick", false, 5, ""),
            ("--acme-bytes=7", false, 7, "--acme-bytes is deprecated: use --acme-size"),
            (
                "--acme-bytes=7 --acme-size=8",
                false,
                8,
                "--acme-bytes is deprecated and not looked at, since --acme-size is given",
            ),
        ] {
            let Invocation { settings, notices, .. } = acme(arguments).unwrap();
            assert_eq!((settings.bool("acme-fast"), settings.int("acme-size")), (fast, size), "{arguments}");
            let expected: &[Notice] = if warning.is_empty() { &[] } else { &[Notice::Warning(warning.to_owned())] };
            assert_eq!(notices, expected, "{arguments}");
        }
    }

    #[test]
    fn flags_of_earlier_releases_are_explained() {
        for (name, release) in
            [("txt-new-format-only", "v0.17"), ("rfc2136-create-ptr", "v0.20"), ("cf-password", "v0.20")]
        {
            let text = refusal(with(&format!("--{name}=x")));
            let expected =
                format!("flag parsing error: unknown long flag '--{name}': external-dns had it last in {release};");
            assert!(text.starts_with(&expected), "{text}");
        }
    }
}

mod availability {
    use super::*;

    #[test]
    fn what_is_not_here_is_refused_by_name() {
        let start = "config validation failed: ";
        let line = |arguments: &str| {
            let line: Vec<_> = arguments.split_whitespace().chain(["--policy=sync", "--manifests=m"]).collect();
            refusal(read(&line, &[]))
        };
        let text = line("--provider=godaddy --source=service");
        let expected = "--provider=godaddy does not exist in Zonewright yet; available here: acme, acme-dns, inmemory, local, rfc2136";
        assert_eq!(text, format!("{start}{expected}"));
        let text = line("--provider=local --source=service --registry=aws-sd");
        assert_eq!(
            text,
            format!(
                "{start}--registry=aws-sd does not exist in Zonewright yet; available here: {}",
                catalog().registry_names().join(", ")
            )
        );
        let without =
            |arguments: &str| parse(&Catalog::empty(), arguments.split_whitespace().map(OsString::from), &|_| None);
        let text = refusal(without("--provider=rfc2136 --source=service --policy=sync --manifests=m"));
        assert!(text.contains("not compiled into this build (Cargo feature provider-rfc2136); available here: none"));
    }

    #[test]
    fn a_flag_that_this_build_leaves_out_is_refused() {
        let expected = "config validation failed: --acme-rare is not compiled into this build (Cargo feature acme-rare): do without";
        assert_eq!(refusal(acme("--acme-rare")), expected);
        assert!(acme("--no-acme-rare").is_ok() && with("--acme-rare").is_ok());
    }

    #[cfg(feature = "webhook-server")]
    #[test]
    fn the_webhook_server_needs_a_provider_and_nothing_else() {
        let serve = |rest: &str| read(&format!("--webhook-server {rest}").split(' ').collect::<Vec<_>>(), &[]);
        let settings = serve("--provider=local").unwrap().settings;
        assert_eq!(settings.text("webhook-server-address"), "127.0.0.1:8888");
        assert!(serve("--provider=local --registry=aws-sd --source=service --policy=sync").is_ok());
        let given = "--provider=local --webhook-provider-idle-timeout=1s --webhook-provider-read-timeout=1s";
        assert!(serve(given).unwrap().notices.is_empty());
        assert!(refusal(serve("--source=service")).contains("'--provider'"));
        let text = refusal(serve("--provider=acme"));
        assert!(text.ends_with("--webhook-server cannot serve --provider=acme: it serves itself"), "{text}");
    }

    #[test]
    fn a_value_without_effect_is_no_reason_to_refuse() {
        for arguments in [
            "--no-create-ptr --compatibility= --fqdn-template= --txt-encrypt-aes-key= --events-emit=",
            "--registry=noop --txt-encrypt-enabled",
            "--combine-fqdn-annotation --force-default-targets --rfc2136-gss-tsig",
        ] {
            assert!(with(arguments).is_ok(), "{arguments}");
        }
    }

    #[test]
    fn flags_of_nothing_chosen_are_named_in_one_line() {
        let arguments = "--aws-zone-type=public --gateway-name=x --registry=noop --txt-prefix=p --acme-token=t --once";
        let notices = with(arguments).unwrap().notices;
        let [Notice::Info(text)] = notices.as_slice() else { panic!("{notices:?}") };
        let names: Vec<_> = text.split_once(": ").unwrap().1.split(' ').collect();
        assert_eq!(names, ["--gateway-name", "--txt-prefix", "--acme-token", "--aws-zone-type"]);
        assert!(with("--once --txt-prefix=p --ingress-class=x --source=ingress").unwrap().notices.is_empty());
    }

    #[test]
    fn a_record_type_that_matches_nothing_is_reported() {
        let notices = with("--managed-record-types=A --managed-record-types=cname").unwrap().notices;
        let [Notice::Warning(text)] = notices.as_slice() else { panic!("{notices:?}") };
        assert!(text.starts_with("--managed-record-types=cname matches no record type"), "{text}");
    }

    #[test]
    fn a_provider_of_a_third_party_is_taken() {
        for name in ["acme", "acme-dns"] {
            let line = format!("--source=service --provider={name} --policy=sync --manifests=m --acme-token=t");
            let invocation = read(&line.split(' ').collect::<Vec<_>>(), &[]).unwrap();
            assert_eq!(invocation.settings.secret("acme-token").unwrap().expose_secret(), "t");
            assert!(invocation.notices.is_empty());
        }
    }
}
