//! The chart's folder, its values with what is said about each, and small things that all tests of it need.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use zonewright_testkit::render::{Chart, Rendered};

/// A value of `values.yaml` that a comment with `--` documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Documented {
    /// Its path: `provider.webhook.image.tag`.
    pub(crate) path: String,
    /// The comment, on one line.
    pub(crate) text: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of the chart.
pub(crate) fn folder() -> PathBuf {
    root().join("deploy/chart")
}

/// A file of the chart.
#[track_caller]
pub(crate) fn file(path: &str) -> String {
    std::fs::read_to_string(folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// YAML as a value.
#[track_caller]
pub(crate) fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// An installation as `dns/zonewright`, for each of these values.
pub(crate) fn install_all(values: &[Value]) -> Vec<Result<Rendered, String>> {
    Chart { folder: &folder(), release: "zonewright", namespace: "dns" }.render_all(values)
}

/// An installation as `dns/zonewright`.
pub(crate) fn install(values: &Value) -> Result<Rendered, String> {
    install_all(std::slice::from_ref(values)).remove(0)
}

/// As [`install`], with values as YAML that Helm takes.
#[track_caller]
pub(crate) fn installed(values: &str) -> Rendered {
    let values = if values.is_empty() { Value::Object(Map::new()) } else { yaml(values) };
    install(&values).unwrap_or_else(|error| panic!("{values}: {error}"))
}

/// The pod's specification.
#[track_caller]
pub(crate) fn pod(rendered: &Rendered) -> &Value {
    &rendered.only("Deployment")["spec"]["template"]["spec"]
}

/// The arguments of the program.
#[track_caller]
pub(crate) fn arguments(rendered: &Rendered) -> Vec<String> {
    let list = pod(rendered)["containers"][0]["args"].as_array().expect("arguments");
    list.iter().map(|text| text.as_str().expect("an argument is text").to_owned()).collect()
}

/// The documented values, in the order of the file. A value is a key with a comment right above it that begins with `# --`.
pub(crate) fn documented() -> Vec<Documented> {
    let mut found = Vec::new();
    // The keys that the line stands in, with their indentation.
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut comment: Option<String> = None;
    for line in file("values.yaml").lines() {
        let indentation = line.len() - line.trim_start().len();
        let line = line.trim();
        if let Some(text) = line.strip_prefix("# --") {
            comment = Some(text.trim().to_owned());
        } else if let (Some(text), Some(so_far)) = (line.strip_prefix("# "), comment.as_mut()) {
            so_far.push(' ');
            so_far.push_str(text);
        } else if let Some((key, _)) = line.split_once(':').filter(|_| !line.starts_with(['#', '-'])) {
            above.retain(|(depth, _)| *depth < indentation);
            above.push((indentation, key.to_owned()));
            if let Some(text) = comment.take() {
                let path: Vec<&str> = above.iter().map(|(_, key)| &**key).collect();
                found.push(Documented { path: path.join("."), text });
            }
        }
    }
    found
}

/// The value at a path with dots.
pub(crate) fn at<'v>(values: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(values, |value, key| value.get(key))
}

#[test]
fn every_value_is_documented_once() {
    let documented = documented();
    assert!(documented.len() > 100, "{} values", documented.len());
    let values = yaml(&file("values.yaml"));
    for Documented { path, text } in &documented {
        assert!(at(&values, path).is_some(), "{path} is no value");
        assert!(text.ends_with('.'), "{path}: {text:?} is no sentence");
    }
    let known = |path: &str| documented.iter().any(|value| value.path == path);
    // A leaf is documented itself, or one of the objects that it stands in is documented as a whole.
    let mut open = vec![(String::new(), &values)];
    while let Some((path, value)) = open.pop() {
        match value.as_object().filter(|object| !object.is_empty() && !known(&path)) {
            Some(object) => {
                let below = |key: &String| if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                open.extend(object.iter().map(|(key, value)| (below(key), value)));
            }
            None => assert!(known(&path), "{path} has no comment that begins with `# --`"),
        }
    }
}
