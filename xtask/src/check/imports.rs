//! No more than three files of one shipped crate import each other in a circle: who reads one of them has to read all of them.
//!
//! In: the files of each crate. Out: circles that are too large. An import is a `use` at module level; it counts for the file
//! that defines the name, also where a parent re-exports it, so that a table of contents (`pub use child::Name`) is no import.
//! Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::workspace;

/// Most files that may import each other in a circle.
const MOST: usize = 3;

/// Folders of packages that are never shipped.
const NEVER_SHIPPED: &[&str] =
    &["crates/bench", "crates/fakes", "crates/sidebyside", "crates/simulator", "crates/testkit", "xtask"];

/// Most re-exports of one name that are followed.
const STEPS: usize = 8;

/// The path of a module within its crate; the root is empty.
type Module = Vec<String>;

pub(super) fn check() -> Result<Vec<String>> {
    let root = workspace::root()?;
    let files = workspace::files()?;
    let mut problems = Vec::new();
    for member in workspace::members()? {
        let Ok(folder) = member.folder.strip_prefix(&root) else { continue };
        let folder = folder.to_string_lossy().replace('\\', "/");
        if !NEVER_SHIPPED.contains(&folder.as_str()) {
            problems.extend(compare(&folder, &circles(&Sources::read(&root, &files, &folder))));
        }
    }
    Ok(problems)
}

/// The circles of a package that are too large.
fn compare(folder: &str, circles: &[Vec<Module>]) -> Vec<String> {
    let large = circles.iter().filter(|circle| circle.len() > MOST);
    let problem = |circle: &Vec<Module>| {
        let names: Vec<String> = circle.iter().map(show).collect();
        format!("{folder}: {} files import each other in a circle: {}", circle.len(), names.join(", "))
    };
    large.map(problem).collect()
}

fn show(module: &Module) -> String {
    if module.is_empty() { "the root".to_owned() } else { module.join("::") }
}

/// A path as a `use` names it: the module that it begins in, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Import {
    from: Module,
    rest: Vec<String>,
    /// It is passed on (`pub use`).
    public: bool,
}

/// What each module of a crate imports of the same crate.
struct Sources(BTreeMap<Module, Vec<Import>>);

impl Sources {
    fn read(root: &Path, files: &[PathBuf], folder: &str) -> Self {
        let source = Path::new(folder).join("src");
        let texts = files.iter().filter_map(|file| {
            let module = module_of(file.strip_prefix(&source).ok()?)?;
            // A file that was deleted but is still in git's index has no text.
            Some((module, fs::read_to_string(root.join(file)).ok()?))
        });
        Self::new(texts.collect())
    }

    fn new(texts: BTreeMap<Module, String>) -> Self {
        let known: BTreeSet<Module> = texts.keys().cloned().collect();
        let imports = |(module, text): (Module, String)| {
            let found = uses(&text).into_iter().filter_map(|(path, public)| import(&module, &path, public, &known));
            let found = found.collect();
            (module, found)
        };
        Self(texts.into_iter().map(imports).collect())
    }

    /// The modules that each module imports, by the files that define the names.
    fn graph(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let edges = |(module, imports): (&'_ Module, &Vec<Import>)| -> BTreeSet<Module> {
            let targets = imports.iter().filter_map(|import| {
                let target = self.resolve(&import.from, &import.rest, STEPS)?;
                let contents = import.public && target.starts_with(module);
                (target != *module && !contents).then_some(target)
            });
            targets.collect()
        };
        self.0.iter().map(|entry| (entry.0, edges(entry))).collect()
    }

    /// The module that defines what a path names.
    fn resolve(&self, from: &Module, rest: &[String], steps: usize) -> Option<Module> {
        let mut module = from.clone();
        let mut rest = rest;
        while let [first, more @ ..] = rest {
            let child: Module = module.iter().chain([first]).cloned().collect();
            if !self.0.contains_key(&child) {
                break;
            }
            (module, rest) = (child, more);
        }
        let imports = self.0.get(&module)?;
        let passed_on = rest.first().and_then(|name| imports.iter().find(|import| import.rest.last() == Some(name)));
        match passed_on {
            Some(import) if steps > 0 => self.resolve(&import.from, &import.rest, steps - 1).or(Some(module)),
            _ => Some(module),
        }
    }
}

/// Sets of files each of which leads to all others, the largest first.
fn circles(sources: &Sources) -> Vec<Vec<Module>> {
    let graph = sources.graph();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        graph.keys().map(|module| (*module, reach(&graph, module))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for (module, reach) in &reached {
        if seen.contains(module) || !reach.contains(module) {
            continue;
        }
        let back = |other: &&&Module| reached.get(**other).is_some_and(|reach| reach.contains(module));
        let circle: Vec<Module> = reach.iter().filter(back).map(|module| (*module).clone()).collect();
        seen.extend(reach.iter().filter(back).copied());
        circles.push(circle);
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// The modules that a module leads to, over any number of imports.
fn reach<'g>(graph: &'g BTreeMap<&Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<&'g Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = graph.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(graph.get(module).into_iter().flatten());
        }
    }
    reached
}

/// The module of a file below `src`; `None` for tests and for other files.
fn module_of(file: &Path) -> Option<Module> {
    let text = file.to_str()?.strip_suffix(".rs")?;
    let mut parts: Module = text.split('/').map(str::to_owned).collect();
    if parts.iter().any(|part| part == "tests" || part.ends_with("_tests")) {
        return None;
    }
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    Some(parts)
}

/// The paths of every `use` at module level, and whether it is passed on. What follows `#[cfg(test)] mod` is left out.
fn uses(text: &str) -> Vec<(String, bool)> {
    let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let is_test = |pair: &[&str]| matches!(pair, [attribute, module] if *attribute == "#[cfg(test)]" && module.starts_with("mod ") && module.ends_with('{'));
    let end = lines.windows(2).position(is_test).unwrap_or(lines.len());
    let mut found = Vec::new();
    let mut lines = lines.into_iter().take(end);
    while let Some(line) = lines.next() {
        let public = line.starts_with("pub");
        let Some(first) =
            line.strip_prefix("use ").or_else(|| line.split_once(" use ").filter(|_| public).map(|at| at.1))
        else {
            continue;
        };
        let mut statement = first.to_owned();
        while !statement.contains(';') {
            let Some(more) = lines.next() else { break };
            statement.push_str(more);
        }
        let statement: String = statement.split(';').next().unwrap_or_default().split_whitespace().collect();
        found.extend(expand(&statement).into_iter().map(|path| (path, public)));
    }
    found
}

/// `a::{b,c::d}` as `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let Some((prefix, body)) = tree.split_once('{').and_then(|(prefix, body)| Some((prefix, body.strip_suffix('}')?)))
    else {
        return vec![tree.to_owned()];
    };
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, letter) in body.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&body[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&body[start..]);
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.flat_map(expand).map(|part| format!("{prefix}{part}")).collect()
}

/// What a path of a `use` in `module` names in this crate; `None` where it names another crate.
fn import(module: &Module, path: &str, public: bool, known: &BTreeSet<Module>) -> Option<Import> {
    // White space is gone: `a as b` stands there as `aasb`, and names nothing that is known; its module is right all the same.
    let mut parts: Vec<String> = path.split("::").map(str::to_owned).collect();
    let mut from = module.clone();
    match parts.first().map(String::as_str)? {
        "crate" => {
            from.clear();
            parts.remove(0);
        }
        "self" => drop(parts.remove(0)),
        "super" => {
            while parts.first().is_some_and(|part| part == "super") {
                from.pop();
                parts.remove(0);
            }
        }
        first => {
            let child: Module = module.iter().cloned().chain([first.to_owned()]).collect();
            if !known.contains(&child) {
                return None;
            }
        }
    }
    if parts.last().is_some_and(|part| part == "self") {
        parts.pop();
    }
    Some(Import { from, rest: parts, public })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let module = |path: &str| module_of(Path::new(path)).unwrap();
        Sources::new(files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect())
    }

    #[test]
    fn a_use_is_read_with_its_braces_and_tests_are_not() {
        let text = "use a::{b, c::{self, d}}; // use x;\npub(crate) use super::e::{\n    F,\n    g,\n};\n\
                    fn f() {\n    use h;\n}\n#[cfg(test)]\nmod tests {\nuse i;\n}\n";
        let expected =
            [("a::b", false), ("a::c::self", false), ("a::c::d", false), ("super::e::F", true), ("super::e::g", true)];
        assert_eq!(uses(text), expected.map(|(path, public)| (path.to_owned(), public)));
    }

    #[test]
    fn circles_are_found_through_re_exports_and_a_table_of_contents_is_none() {
        let files = [
            ("lib.rs", "pub use a::A;\npub use a::b::B;\n"),
            ("a/mod.rs", "pub use b::B;\npub use c::C;\n"),
            ("a/b.rs", "use super::C;\n"),
            ("a/c.rs", "use crate::B;\nuse crate::d;\n"),
            ("d.rs", "use std::fmt;\nuse crate::A;\n"),
            ("d_tests.rs", "use crate::a::c::C;\n"),
        ];
        let files: Vec<_> = files.into_iter().filter(|(path, _)| module_of(Path::new(path)).is_some()).collect();
        let found: Vec<Vec<String>> =
            circles(&sources(&files)).into_iter().map(|circle| circle.iter().map(show).collect()).collect();
        assert_eq!(found, [["a::b", "a::c"]]);
    }

    #[test]
    fn circles_of_three_files_pass_and_larger_ones_do_not() {
        let circle = |size: usize| (0..size).map(|n| vec![format!("m{n}")]).collect::<Vec<Module>>();
        let check = |sizes: &[usize], expected: usize| {
            let circles: Vec<Vec<Module>> = sizes.iter().map(|size| circle(*size)).collect();
            assert_eq!(compare("crates/x", &circles).len(), expected, "{sizes:?}");
        };
        check(&[], 0);
        check(&[3, 2], 0);
        check(&[4, 3], 1);
        check(&[9, 4, 2], 2);
    }
}
