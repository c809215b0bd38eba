//! Texts that are no template, for Go as for us: what is said, and where.

mod common;

use zonewright_template::{Template, limits};

/// `expected` is value, line, column and a part of the message.
fn check(values: &[&str], expected: (usize, usize, usize, &str)) {
    let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
    let error = Template::parse("--fqdn-template", &values).expect_err(&values.join(","));
    let at = error.position;
    assert_eq!((at.value, at.line, at.column), (expected.0, expected.1, expected.2), "{error}");
    assert!(error.message.contains(expected.3), "{error}\nwanted {}", expected.3);
    assert!(
        error.to_string().starts_with(&format!("--fqdn-template[{}] {:?}", error.index, values[error.index])),
        "{error}"
    );
}

#[test]
fn wrong_texts_are_refused_at_their_place() {
    for (text, line, column, message) in [
        ("{{nope .Name}}", 1, 3, r#"function "nope" not defined"#),
        ("{{$x}}", 1, 3, r#"undefined variable "$x""#),
        (r#"{{define "z"}}a{{end}}{{define "z"}}b{{end}}{{template "z"}}"#, 1, 23, r#"template "z" is defined twice"#),
        ("{{.Name}}{{end}}", 1, 10, "unexpected {{end}}"),
        ("{{else}}", 1, 1, "unexpected {{else}}"),
        ("{{if .Name}}", 1, 13, "the text ends inside if: {{end}} is missing"),
        ("{{if}}a{{end}}", 1, 1, "missing value for if"),
        ("{{.Name", 1, 1, "unclosed action"),
        ("{{break}}", 1, 1, "{{break}} outside range"),
        (r#"{{define "x"}}"#, 1, 15, "the text ends inside define: {{end}} is missing"),
        ("{{.A.}}", 1, 5, r#"unexpected "." in an operand"#),
        ("{{..A}}", 1, 4, r#"unexpected ".A" in an operand: a constant has no fields"#),
        ("{{1.A}}", 1, 3, r#"bad number "1.A""#),
        (r#"{{"a" | 3}}"#, 1, 9, "stage 2 of a pipeline is no function"),
        (r#"{{"unclosed}}"#, 1, 3, "a quoted text without its closing quote"),
        ("{{'ab'}}", 1, 3, "expected one character between quotes, found 'ab'"),
        ("{{range $a, $b, $c := .Labels}}{{end}}", 1, 15, "too many declarations in range"),
        ("{{$a, $b := 1}}", 1, 5, "too many declarations in an action"),
        (r#"{{if true}}{{define "n"}}x{{end}}{{end}}"#, 1, 14, r#"function "define" not defined"#),
        ("{{print (}}", 1, 1, "missing value for a parenthesis"),
        ("{{print )}}", 1, 9, r#"unexpected ")" in an action"#),
        ("{{range $x := .Labels}}{{$x}}{{end}}{{$x}}", 1, 39, r#"undefined variable "$x""#),
        ("{{if true}}{{$q := 1}}{{end}}{{$q}}", 1, 32, r#"undefined variable "$q""#),
        ("{{/* unclosed }}", 1, 1, "unclosed comment"),
        ("{{ /* spaced */ }}", 1, 1, "a comment must end with */}} or */ -}}"),
        ("{{if true}}a{{else}}b{{else}}c{{end}}", 1, 13, "a second {{else}} in one if"),
        ("{{range .Spec.Ports}}{{else}}{{break}}{{end}}", 1, 30, "{{break}} outside range"),
        ("{{3-}}", 1, 4, r#"unexpected '-' after "3""#),
        ("{{print 08}}", 1, 9, r#"bad number "08""#),
        ("{{print 1__0}}", 1, 9, r#"bad number "1__0""#),
        ("{{.Name=}}", 1, 8, r#"unexpected "=" in an operand"#),
    ] {
        check(&[text], (0, line, column, message));
    }
}

#[test]
fn values_are_checked_one_after_the_other() {
    let z = r#"{{define "z"}}a{{end}}"#;
    check(&["{{.Name}}", "{{.Name"], (1, 1, 1, "unclosed action"));
    check(&["{{.Name}}", "a\nb é{{nope}}"], (1, 2, 6, r#"function "nope" not defined"#));
    check(&[z, "x", r#"{{define "z"}}b{{end}}"#], (2, 1, 1, r#"template "z" is defined twice"#));
    check(&["{{if .Name}}", "{{end}}"], (0, 1, 13, "ends inside if"));
}

#[test]
fn good_values_are_joined_and_blank_ones_are_none() {
    let parse = |values: &[&str]| {
        let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
        Template::parse("f", &values).expect("good").map(|t| t.text().to_owned())
    };
    assert_eq!(parse(&[]), None);
    assert_eq!(parse(&["", " \n"]), None);
    assert_eq!(parse(&["a", "a"]).as_deref(), Some("a,a"));
    assert_eq!(parse(&[" ", "{{.Name}}"]).as_deref(), Some(" ,{{.Name}}"));
}

#[test]
fn hostile_texts_are_refused_without_a_crash() {
    let deep = |open: &str, n: usize| format!("{{{{{}1}}}}", open.repeat(n));
    let cases = [
        (deep("(", 30_000), "nested deeper"),
        ("{{if 1}}".repeat(8_000), "nested deeper"),
        ("{{range .}}".repeat(5_000), "nested deeper"),
        (format!("{{{{if 1}}}}{}", "{{else if 1}}".repeat(4_000)), "ends inside if"),
        (format!("{{{{block \"a\" .}}}}{}", "{{block \"a\" .}}".repeat(3_000)), "nested deeper"),
        ("x".repeat(limits::TEMPLATE_BYTES + 1), "longer than"),
    ];
    for (text, expected) in cases {
        let error = Template::parse("f", &[text]).expect_err(expected);
        assert!(error.message.contains(expected), "{}", error.message);
    }
}
