//! Links of pages, and the summary of the book.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::{pages, read, root};

/// Where the files of the repository are read on the web; what lies outside of the book is linked there.
const REPOSITORY: &str = "https://github.com/zonewright/zonewright/blob/main/";

/// The targets of the links of a text, code left out.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.lines().filter(|line| !line.starts_with("    ")).collect::<Vec<_>>().join("\n");
    let rest = prose.split("](").skip(1);
    rest.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned())).collect()
}

/// The anchors of a page: its headings as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = text.lines().filter(|line| !line.starts_with("    "));
    let headings =
        prose.filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

#[test]
fn every_link_leads_somewhere() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        for link in links(&page.text) {
            seen += 1;
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let from = Path::new(&page.path);
            let path = match target.strip_prefix(REPOSITORY) {
                Some(path) => PathBuf::from(path),
                None if target.contains("://") => continue,
                None if target.is_empty() => from.to_owned(),
                None => plain(&from.with_file_name("").join(target)),
            };
            let text = std::fs::read_to_string(root().join(&path));
            let inside = path.starts_with("docs") || page.path == "README.md" || target.starts_with(REPOSITORY);
            let problem = match text {
                Err(error) => Some(format!("{error}")),
                Ok(_) if !inside => Some("lies outside of the book: give its address in the repository".to_owned()),
                Ok(text) if !anchor.is_empty() && !anchors(&text).contains(anchor) => {
                    Some("no such heading".to_owned())
                }
                Ok(_) => None,
            };
            wrong.extend(problem.map(|problem| format!("{}: {link}: {problem}", page.path)));
        }
    }
    assert!(seen > 100, "{seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_summary_has_every_page_once() {
    let listed = links(&read("docs/SUMMARY.md").replace("    - ", "- "));
    let listed: Vec<String> = listed.into_iter().map(|link| format!("docs/{link}")).collect();
    let distinct: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    assert_eq!(distinct.len(), listed.len(), "a page is listed twice");
    let pages = pages();
    let there: BTreeSet<&str> = pages.iter().map(|page| &*page.path).filter(|path| path.starts_with("docs/")).collect();
    let there: BTreeSet<&str> = there.into_iter().filter(|path| *path != "docs/SUMMARY.md").collect();
    assert_eq!(distinct, there);
}

/// Three minutes at an ordinary reader's pace.
#[test]
fn the_readme_is_read_in_three_minutes() {
    let words = read("README.md").split_whitespace().count();
    assert!((300..=800).contains(&words), "{words} words");
}
