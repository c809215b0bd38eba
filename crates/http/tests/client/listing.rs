//! A listing of a service that throttles in the middle of it.

use std::time::Duration;

use zonewright_core::error::Retry;
use zonewright_http::testing::{Script, ScriptStep, on};
use zonewright_http::{Client, Page, PageLimits, Pages, Request};

#[tokio::test(start_paused = true)]
async fn a_listing_that_is_throttled_in_the_middle_goes_on_there() {
    let page = |number: u64| on("GET", format!("/zones?page={number}"));
    let throttled = |step: ScriptStep| step.answers(429, "").and_header("retry-after", "60");
    let script = Script::new([
        page(1).answers(200, r#"["a","b"]"#),
        throttled(page(2)),
        page(2).answers(200, r#"["c","d"]"#),
        page(3).answers(200, r#"["e"]"#),
    ]);
    let client = Client::builder("https://api.example").unwrap().transport(script.transport()).build().unwrap();
    let mut pages = Pages::new(PageLimits::default());
    let fetch = |cursor: Option<u64>| {
        let client = &client;
        async move {
            let number = cursor.unwrap_or(1);
            let request = Request::get("/zones").query("page", number);
            let items: Vec<String> = client.json("list zones", &request).await?;
            Ok(Page::numbered(items, number, 3))
        }
    };
    let error = pages.rest("list zones", fetch, |_| {}).await.unwrap_err();
    assert_eq!(error.retry, Retry::After(Duration::from_mins(1)));
    tokio::time::advance(Duration::from_mins(1)).await;
    let items = pages.rest("list zones", fetch, |_| {}).await.unwrap();
    assert_eq!(items, ["a", "b", "c", "d", "e"]);
    assert_eq!(script.calls("GET /zones?page=1"), 1);
}
