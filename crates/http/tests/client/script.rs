//! The scripted transport cannot be overlooked.

use zonewright_http::testing::{Script, on};
use zonewright_http::{Client, Request, RetryPolicy};

fn client(script: &Script) -> Client {
    let builder = Client::builder("https://api.example").unwrap().transport(script.transport());
    builder.retry(RetryPolicy::ONCE).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_script_that_is_not_followed_says_so() {
    let script = Script::new([on("GET", "/a").with_body("x"), on("GET", "/c")]);
    let client = client(&script);
    for path in ["/b", "/a"] {
        client.send("get", &Request::get(path)).await.unwrap_err();
    }
    let problems = script.problems();
    for part in ["GET /b was sent; expected GET /a", "has the body \"\"; expected \"x\"", "GET /c was never sent"] {
        assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:?}");
    }
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(script)));
    assert!(dropped.is_err(), "a test cannot overlook it");
}

#[tokio::test(start_paused = true)]
async fn a_script_without_order() {
    let script = Script::unordered([on("GET", "/a").answers(200, "a"), on("GET", "/b").answers(200, "b")]);
    let client = client(&script);
    for path in ["/b", "/a"] {
        let answer = client.send("get", &Request::get(path)).await.unwrap();
        assert_eq!(answer.body, &path[1..]);
    }
    assert_eq!(script.all_calls(), ["GET /b", "GET /a"]);
}
