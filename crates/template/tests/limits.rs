//! Templates that run away end with an error, in time and on a small stack.

mod common;

use std::time::{Duration, Instant};

use common::{SERVICE, names, service};

fn check(text: &str, expected: &str) {
    let (text, expected) = (text.to_owned(), expected.to_owned());
    let small = std::thread::Builder::new().stack_size(1024 * 1024);
    let run = small.spawn(move || {
        let start = Instant::now();
        let failure = names(&text, &service(), SERVICE).expect_err(&expected);
        assert!(failure.message.contains(&expected), "{text}: {failure}");
        assert!(start.elapsed() < Duration::from_secs(20), "{text} took {:?}", start.elapsed());
    });
    run.expect("a thread").join().expect("no panic");
}

#[test]
fn recursion_ends() {
    check(r#"{{define "r"}}{{template "r" .}}{{end}}{{template "r" .}}"#, "nested deeper than 128");
    check(
        r#"{{define "r"}}{{if .}}{{with .}}{{template "r" .}}{{end}}{{end}}{{end}}{{template "r" .}}"#,
        "nested deeper",
    );
    let block = format!("{}{{{{template \"r\" .}}}}{}", "{{if 1}}".repeat(60), "{{end}}".repeat(60));
    check(&format!("{{{{define \"r\"}}}}{block}{{{{end}}}}{{{{template \"r\" .}}}}"), "nested deeper");
    let open = "(print ".repeat(60);
    let paren = format!("{{{{define \"r\"}}}}{{{{{open}.{}}}}}{{{{end}}}}", ")".repeat(60));
    check(&format!("{paren}{}{{{{.Nope}}}}", r#"{{template "r" 1}}"#), "can't evaluate field Nope");
}

#[test]
fn work_ends() {
    check("{{range 100000}}{{range 100000}}{{end}}{{end}}", "more than 2000000 steps");
    check(r#"{{$x := "a"}}{{range 100}}{{$x = print $x $x}}{{end}}"#, "more than");
    check(r#"{{$x := "aa"}}{{range 100}}{{$x = replace "a" "aaaaaaaaaa" $x}}{{end}}"#, "would be longer than");
    check(r#"{{$x := "a"}}{{range 100}}{{$x = printf "%s%s" $x $x}}{{end}}"#, "than");
    check(r#"{{$j := printf "[%1000d]" 1}}{{range 100000}}{{$d := fromJson $j}}{{end}}"#, "steps");
    check(r#"{{range 1000000}}{{if contains $.Name "zzzz"}}{{end}}{{end}}"#, "steps");
}

#[test]
fn text_and_names_are_bounded() {
    check(r#"{{printf "%1001d" 1}}"#, "width or precision 1001 is over 1000");
    check(r#"{{printf "%99999999999999999999d" 1}}"#, "is over 1000");
    check(r#"{{printf "%*d" 4000000 1}}"#, "is over 1000");
    check(r#"{{printf "%.*f" 4000000 1.0}}"#, "is over 1000");
    check(r#"{{range 2000}}{{printf "%1000d" .}}{{end}}"#, "the result is longer than 1048576 bytes");
    check("{{range 1001}}n{{.}},{{end}}", "more than 1000 names");
    assert_eq!(names("{{range 1000}}n{{.}},{{end}}", &service(), SERVICE).expect("at the limit").len(), 1000);
}
