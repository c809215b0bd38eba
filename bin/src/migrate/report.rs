//! What takes the place of an external-dns, as people read it: everything that begins a line can be pasted.

use std::fmt::Write as _;

use super::words;
use super::{Migration, Refusal, ShownVariable, Sidecar};

/// The whole text.
pub(super) fn text(migration: &Migration) -> String {
    let mut out = String::new();
    let image = migration.image.as_deref().map(|image| format!(" ({image})")).unwrap_or_default();
    // Writing into a string cannot fail.
    let _ = writeln!(out, "# In place of external-dns: {}{image}", migration.from);
    if migration.chart {
        out.push_str(
            "# Zonewright's chart has these values under the same names: give it the same file, and set image.repository.\n",
        );
    }
    refused(&mut out, &migration.refused);
    differs(&mut out, &migration.differs);
    exports(&mut out, migration);
    out.push_str("\n# Look first; nothing is written:\n");
    command(&mut out, &["zonewright", "plan"], &migration.arguments);
    out.push_str("\n# Then stop external-dns, and run:\n");
    command(&mut out, &["zonewright"], &migration.arguments);
    container(&mut out, migration);
    if let Some(rights) = &migration.rights {
        out.push_str("\n# The roles that it needs, bound to the same service account:\n");
        let (first, rest) = rights.split_at(rights.len().min(3));
        let first: Vec<&str> = first.iter().map(String::as_str).collect();
        command(&mut out, &first, rest);
    }
    out
}

fn refused(out: &mut String, refused: &[Refusal]) {
    if refused.is_empty() {
        return;
    }
    out.push_str("\n# Refused, and the way round:\n");
    for Refusal { what, why, way } in refused {
        let _ = writeln!(out, "#  - {what}: {why}\n#    {way}");
    }
}

fn differs(out: &mut String, differs: &[String]) {
    if differs.is_empty() {
        return;
    }
    out.push_str("\n# What differs (all of it: docs/differences.md):\n");
    for text in differs {
        let _ = writeln!(out, "#  - {text}");
    }
}

/// The environment, for a command line.
fn exports(out: &mut String, migration: &Migration) {
    if migration.environment.is_empty() && migration.environment_from.is_empty() {
        return;
    }
    out.push_str("\n# The environment; a pod keeps what it has:\n");
    for ShownVariable { name, from, shell } in &migration.environment {
        let _ = match shell {
            Some(shell) => writeln!(out, "export {name}={shell}"),
            None => writeln!(out, "# {name}: {from}"),
        };
    }
    for from in &migration.environment_from {
        let _ = writeln!(out, "# and the keys of {from}");
    }
}

fn command(out: &mut String, words: &[&str], arguments: &[String]) {
    out.push_str(&words.join(" "));
    for argument in arguments {
        let _ = write!(out, " \\\n  {}", words::with_variables(argument));
    }
    out.push('\n');
}

/// What stands in the pod.
fn container(out: &mut String, migration: &Migration) {
    out.push_str("\n# Or in the container, in place of external-dns' image and arguments:\n");
    out.push_str("#    args:\n");
    for argument in &migration.arguments {
        let _ = writeln!(out, "#      - {}", yaml(argument));
    }
    for ShownVariable { name, from, .. } in &migration.environment {
        let _ = writeln!(out, "#    env {name}: {from}");
    }
    for from in &migration.environment_from {
        let _ = writeln!(out, "#    envFrom: {from}");
    }
    for mount in &migration.mounts {
        let _ = writeln!(out, "#    mount {mount}");
    }
    if let Some(Sidecar { name, image, ports, arguments, about }) = &migration.sidecar {
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let ports = if ports.is_empty() { String::new() } else { format!(", ports {}", ports.join(", ")) };
        let _ = writeln!(out, "# Beside it the container {name} ({image}{ports}): {about}");
        for argument in arguments {
            let _ = writeln!(out, "#      - {}", yaml(argument));
        }
    }
}

/// A text as a scalar of YAML.
fn yaml(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,@%+$()".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}
