//! Helm charts and kustomizations as Helm and kustomize themselves render them: one program around their libraries
//! (`xtask/go/render-manifests.go`), to which folders and values go in, and from which objects come out.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::tools;

/// The program that a test needs which renders something, for [`require!`](crate::require).
pub const TOOLS: &[&str] = &["render-manifests"];

/// What was rendered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered {
    /// The objects in the order in which they would be applied; definitions of a chart's folder `crds` come first.
    pub objects: Vec<Value>,
    /// What Helm shows after an installation; empty for a kustomization.
    pub notes: String,
}

/// A chart that is installed.
#[derive(Debug, Clone, Copy)]
pub struct Chart<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// The name of the release.
    pub release: &'a str,
    /// The namespace of the release.
    pub namespace: &'a str,
}

impl Rendered {
    /// The only object of this kind.
    ///
    /// # Panics
    /// When there is none, or more than one.
    #[track_caller]
    pub fn only(&self, kind: &str) -> &Value {
        let found: Vec<&Value> = self.objects.iter().filter(|object| object["kind"] == kind).collect();
        match found[..] {
            [object] => object,
            _ => panic!("{} objects of kind {kind}, expected one", found.len()),
        }
    }

    /// The objects of this kind.
    pub fn of<'o>(&'o self, kind: &'o str) -> impl Iterator<Item = &'o Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }
}

impl Chart<'_> {
    /// What an installation with these values applies, or what Helm says instead.
    ///
    /// # Errors
    /// The message of Helm: values that the schema or a template refuses.
    ///
    /// # Panics
    /// When the program does not run.
    pub fn render(&self, values: &Value) -> Result<Rendered, String> {
        self.render_all(std::slice::from_ref(values)).remove(0)
    }

    /// As [`Self::render`], for many values at once: one answer for each, in order.
    ///
    /// # Panics
    /// When the program does not run.
    pub fn render_all(&self, values: &[Value]) -> Vec<Result<Rendered, String>> {
        let request = |values: &Value| json!({ "chart": self.folder, "release": self.release, "namespace": self.namespace, "values": values });
        ask(&values.iter().map(request).collect::<Vec<_>>())
    }

    /// Whether `helm lint --strict` finds nothing.
    ///
    /// # Errors
    /// Its messages.
    ///
    /// # Panics
    /// When the program does not run.
    pub fn lint(&self, values: &Value) -> Result<(), String> {
        let request = json!({ "lint": self.folder, "namespace": self.namespace, "values": values });
        ask(&[request]).remove(0).map(|_| ())
    }
}

/// What `kustomize build` makes of a folder.
///
/// # Errors
/// Its message.
///
/// # Panics
/// When the program does not run.
pub fn kustomization(folder: &Path) -> Result<Rendered, String> {
    ask(&[json!({ "kustomization": folder })]).remove(0)
}

/// One answer for each request.
fn ask(requests: &[Value]) -> Vec<Result<Rendered, String>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("requests");
    let mut lines = BufWriter::new(File::create(&file).expect("a file for requests"));
    for request in requests {
        writeln!(lines, "{request}").expect("write a request");
    }
    lines.into_inner().expect("write the requests");
    let mut command = Command::new(tools::need("render-manifests"));
    let command = command.stdin(File::open(&file).expect("the requests")).stderr(Stdio::inherit());
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "render-manifests ended with {}", output.status);
    let text = String::from_utf8(output.stdout).expect("answers are text");
    let answers: Vec<_> = text.lines().map(answer).collect();
    assert_eq!(answers.len(), requests.len(), "one answer for each request");
    answers
}

fn answer(line: &str) -> Result<Rendered, String> {
    let answer: Value = serde_json::from_str(line).expect("an answer is JSON");
    match answer["error"].as_str() {
        Some("") => Ok(Rendered {
            objects: answer["objects"].as_array().cloned().unwrap_or_default(),
            notes: answer["notes"].as_str().unwrap_or_default().to_owned(),
        }),
        error => Err(error.unwrap_or("an answer without an error").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_objects_or_an_error() {
        let good = answer(r#"{"objects":[{"kind":"Pod"}],"notes":"n","error":""}"#).unwrap();
        assert_eq!((good.only("Pod"), &*good.notes), (&json!({ "kind": "Pod" }), "n"));
        assert_eq!(answer(r#"{"objects":null,"notes":"","error":"no"}"#), Err("no".to_owned()));
    }

    #[test]
    fn a_folder_without_a_kustomization_is_an_error() {
        crate::require!(TOOLS);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = kustomization(folder.path()).unwrap_err();
        assert!(error.contains("unable to find one of 'kustomization.yaml'"), "{error}");
    }
}
