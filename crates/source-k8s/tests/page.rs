//! `docs/sources.md` holds the table that the code makes of itself.

/// `BLESS=1` in the environment writes the table into the page instead.
#[test]
fn the_page_of_sources_is_current() {
    const BEGIN: &str = "<!-- begin: made by the test `page` of source-k8s -->\n";
    const END: &str = "<!-- end -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sources.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (head, rest) = page.split_once(BEGIN).expect("the mark before the table");
    let (old, tail) = rest.split_once(END).expect("the mark after the table");
    let table = zonewright_source_k8s::sources::table::table();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{head}{BEGIN}{table}{END}{tail}")).expect("written");
    } else {
        assert_eq!(old, table, "docs/sources.md is old: run the test `page` with BLESS=1");
    }
}
