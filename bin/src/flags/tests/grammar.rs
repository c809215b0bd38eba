//! How texts become values: the grammar of external-dns' command line (the Go library kingpin), and the environment.

use super::*;

#[test]
fn values() {
    for (arguments, name, expected) in [
        ("--interval=5m", "interval", "5m0s"),
        ("--interval 5m", "interval", "5m0s"),
        ("--interval 1w2d", "interval", "216h0m0s"),
        ("--interval .5s", "interval", "500ms"),
        ("--interval=-10s", "interval", "-10s"),
        ("--txt-owner-id=", "txt-owner-id", ""),
        ("--txt-prefix=-x", "txt-prefix", "-x"),
        ("--txt-prefix=a=b", "txt-prefix", "a=b"),
        ("--txt-prefix=@nowhere", "txt-prefix", "@nowhere"),
        ("--txt-prefix -", "txt-prefix", "-"),
        ("--once", "once", "true"),
        ("--no-once", "once", "false"),
        ("", "once", "false"),
        ("--no-brake", "brake", "false"),
        ("", "brake", "true"),
        ("--kube-api-qps 5.9", "kube-api-qps", "5"),
        ("--domain-filter a --domain-filter=b,c", "domain-filter", "a,b,c"),
        ("--domain-filter=", "domain-filter", ""),
        ("", "managed-record-types", "A,AAAA,CNAME"),
        ("--managed-record-types=TXT", "managed-record-types", "TXT"),
        ("--aws-sd-create-tag a=b:c --aws-sd-create-tag d:e", "aws-sd-create-tag", "a=b:c,d=e"),
        ("--regex-domain-filter=\\.org$", "regex-domain-filter", "\\.org$"),
        ("--", "once", "false"),
    ] {
        let invocation = with(arguments).unwrap_or_else(|stop| panic!("{arguments}: {stop:?}"));
        assert_eq!(show(&invocation.settings, name), expected, "{arguments}");
    }
}

#[test]
fn a_list_keeps_its_order_and_its_commas() {
    let settings = with("--domain-filter b,c --domain-filter a").unwrap().settings;
    assert_eq!(settings.list("domain-filter"), ["b,c", "a"]);
}

#[test]
fn errors() {
    for (arguments, expected) in [
        ("--txt-prefix -x", "expected argument for flag '--txt-prefix'"),
        ("--txt-prefix --once", "expected argument for flag '--txt-prefix'"),
        ("--txt-prefix", "expected argument for flag '--txt-prefix'"),
        ("--once=true", "unexpected true"),
        ("--no-once=false", "unexpected false"),
        ("--interval 1m --interval 2m", "flag 'interval' cannot be repeated"),
        ("--once --once", "flag 'once' cannot be repeated"),
        ("--once --no-once", "flag 'once' cannot be repeated"),
        ("--no-once --no-once", "flag 'once' cannot be repeated"),
        ("-x", "unknown short flag '-x'"),
        ("-xyz", "unknown short flag '-x'"),
        ("--intervall=1m", "unknown long flag '--intervall', did you mean '--interval'?"),
        ("--zzzzzz=secret", "unknown long flag '--zzzzzz'"),
        ("--no-interval", "unknown long flag '--no-interval'"),
        ("extra", "unexpected extra"),
        ("-", "unexpected -"),
        ("--once true", "unexpected true"),
        ("-- --once", "unexpected --once"),
        ("--log-format=xml", "enum value must be one of text,json, got 'xml'"),
        ("--log-level=warn", "enum value must be one of panic,fatal,error,warning,info,debug,trace, got 'warn'"),
        ("--registry=TXT", "enum value must be one of aws-sd,configmap,crd,dynamodb,memory,noop,txt, got 'TXT'"),
        ("--interval=72", "time: missing unit in duration \"72\""),
        ("--interval=60S", "time: unknown unit \"S\" in duration \"60S\""),
        ("--kube-api-qps=0x10", "strconv.ParseFloat: parsing \"0x10\": invalid syntax"),
        ("--aws-sd-create-tag=a", "expected KEY=VALUE got 'a'"),
        ("--regex-domain-filter=(", "error parsing regexp: "),
        ("@no/such/file", "argument file no/such/file: "),
    ] {
        let text = refusal(with(arguments));
        assert!(text.starts_with(&format!("flag parsing error: {expected}")), "{arguments}: {text}");
        assert!(!text.contains('\n') && !text.contains("secret"), "{text}");
    }
}

#[test]
fn an_error_says_where_the_value_stands() {
    assert!(refusal(with("--interval=72")).ends_with("(flag --interval)"));
    let env = refusal(with_env(&[("INTERVAL", "72")]));
    assert!(env.ends_with("(environment variable EXTERNAL_DNS_INTERVAL)"), "{env}");
}

#[test]
fn required_flags() {
    for (line, missing) in [
        (&["--once"][..], "'--source', '--provider'"),
        (&["--source=service"], "'--provider'"),
        (&["--provider=local"], "'--source'"),
    ] {
        let expected = format!("flag parsing error: required flag(s) {missing} not provided");
        assert_eq!(refusal(read(line, &[])), expected);
    }
}

#[test]
fn argument_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("inner"), "--domain-filter=in.example\n").unwrap();
    let text = format!("# a comment\n--once\r\n\n--txt-owner-id\nmine\n@{}\n", path("inner"));
    std::fs::write(path("outer"), text).unwrap();
    std::fs::write(path("loop"), format!("@{}\n", path("loop"))).unwrap();

    let settings = with(&format!("--domain-filter=out.example @{}", path("outer"))).unwrap().settings;
    assert!(settings.bool("once"));
    assert_eq!(settings.text("txt-owner-id"), "mine");
    assert_eq!(settings.list("domain-filter"), ["out.example", "in.example"]);
    assert!(refusal(with(&format!("@{}", path("loop")))).contains("more than 64 argument files"));
    // The end of a file that is too large would be missing without a word.
    std::fs::write(path("large"), format!("--once\n{}\n--dry-run\n", "#".repeat(1 << 20))).unwrap();
    let large = refusal(with(&format!("@{}", path("large"))));
    assert!(large.contains("large: it is larger than 1048576 bytes"), "{large}");
}

#[cfg(unix)]
#[test]
fn arguments_are_utf8() {
    use std::os::unix::ffi::OsStringExt;
    let arguments = [OsString::from("--once"), OsString::from_vec(b"--txt-prefix=\xff".to_vec())];
    let text = refusal(parse(&catalog(), arguments, &|_| None));
    assert!(text.starts_with("flag parsing error: argument 2 is not UTF-8"), "{text}");
}

#[test]
fn help_and_version_need_nothing_else() {
    for (line, expected) in [("--version", "zonewright "), ("--once --help", "Keeps DNS zones"), ("--help-long", "")] {
        let line: Vec<_> = line.split_whitespace().collect();
        let Err(Stop::Answer(text)) = read(&line, &[]) else { panic!("{line:?}") };
        assert!(text.starts_with(expected), "{text}");
    }
}

mod variables {
    use super::*;

    #[test]
    fn stand_in_for_flags() {
        for (variables, name, expected) in [
            (&[("INTERVAL", "2m")][..], "interval", "2m0s"),
            (&[("INTERVAL", "")], "interval", "1m0s"),
            (&[("ONCE", "T")], "once", "true"),
            (&[("BRAKE", "0")], "brake", "false"),
            (&[("DOMAIN_FILTER", "a\nb,c\r\nd\n")], "domain-filter", "a,b,c,d"),
            (&[("DOMAIN_FILTER", "a\n\nb")], "domain-filter", "a,,b"),
            (&[("DOMAIN_FILTER", "a\n\n")], "domain-filter", "a,"),
            (&[("TXT_OWNER_ID", "a\nb")], "txt-owner-id", "a\nb"),
            (&[("AWS_SD_CREATE_TAG", "a=1\nb:2")], "aws-sd-create-tag", "a=1,b=2"),
            (&[("RFC2136_TSIG_SECRET", "hush")], "rfc2136-tsig-secret", "hush"),
        ] {
            let settings = with_env(variables).unwrap().settings;
            assert_eq!(show(&settings, name), expected, "{variables:?}");
        }
    }

    #[test]
    fn yield_to_flags_without_merging() {
        let line = [BASE.split_whitespace().collect::<Vec<_>>(), vec!["--domain-filter=a", "--no-once"]].concat();
        let settings = read(&line, &[("DOMAIN_FILTER", "b"), ("ONCE", "yes"), ("SOURCE", "ingress")]).unwrap().settings;
        assert_eq!(settings.list("domain-filter"), ["a"]);
        assert_eq!(settings.list("source"), ["service"]);
        assert!(!settings.bool("once"));
    }

    #[test]
    fn satisfy_required_flags() {
        let variables =
            [("SOURCE", "service\ningress"), ("PROVIDER", "rfc2136"), ("POLICY", "sync"), ("MANIFESTS", "m")];
        let settings = read(&[], &variables).unwrap().settings;
        assert_eq!(settings.list("source"), ["service", "ingress"]);
        assert!(settings.given("provider") && !settings.given("interval"));
    }

    #[test]
    fn errors() {
        for (variable, expected) in [
            (("ONCE", "yes"), "strconv.ParseBool: parsing \"yes\": invalid syntax"),
            (("POLICY", "all"), "required"),
            (("SOURCE", "service\n\ningress"), "enum value must be one of "),
        ] {
            let text = refusal(read(&["--provider=local"], &[variable]));
            assert!(text.starts_with("flag parsing error: "), "{text}");
            assert!(text.contains(expected) || variable.0 == "POLICY", "{text}");
        }
    }
}
