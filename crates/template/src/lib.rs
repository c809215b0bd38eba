//! Names and targets from Kubernetes objects: `--fqdn-template`, `--target-template`, `--fqdn-target-template`.
//!
//! In come the values of one flag, once, and then objects as JSON, each with the [`Shape`] in which its source reads it.
//! Out come sorted names without duplicates ([`Template::names`]) or pairs of name and target ([`Template::pairs`]), or
//! one [`TemplateFailure`] for that object. A failure is a value: it ends nothing but the templates of that object. Nothing
//! here panics on a template or an object, and every execution ends: [`limits`] bounds its depth, its work and its text.
//!
//! # The language
//!
//! Go's text/template: actions, pipelines, variables, `if`, `with`, `range`, `define`, `block`, `template`, `break`,
//! `continue`, comments and trim markers, with Go's functions (but `call`, see [`mod@functions`]) and those of external-dns.
//! It is read by a parser and an evaluator of our own, because the published crates fall short: `gotmpl` 0.6 drops the
//! rest of a text after a stray `{{end}}`, takes an unclosed `{{if}}` for a whole one and does not distinguish a structure from a
//! map; `gtmpl` 0.7 lacks `slice`, `break` and `continue`; both overflow the stack on hostile texts, and neither gives a
//! position when an execution fails.
//!
//! # Two readings of an object
//!
//! 1. *Typed*: fields by their Go names (`.Spec.ClusterIP`, `.Status.LoadBalancer.Ingress`), and absent fields have Go's
//!    zero values. Which fields there are is said by [`shape`].
//! 2. *By JSON keys*, tried when the first reading fails: `.Name .Namespace .Kind .APIVersion .Labels .Annotations .Metadata
//!    .Spec .Status .Object`, where the last four are maps with the keys of the YAML and a missing key is a failure.
//!
//! # What differs from Go, on purpose
//!
//! - A value that is absent is never printed. Where Go writes `<no value>`, the action itself fails; a name in which
//!   `<no value>` or `<nil>` stands by other ways (`print .Labels.x`) fails when the text is split into names.
//! - Pointers count as what they point at wherever Go would print an address or refuse to compare, and every string type
//!   may be given to a function that wants a string. So more templates succeed, and none gives another result.
//! - Assigning to a variable that was never declared, and complex numbers, are errors of the parser.

mod access;
mod ast;
mod compare;
mod error;
mod exec;
mod format;
pub mod functions;
mod lexer;
pub mod limits;
mod naming;
mod number;
mod output;
mod parser;
mod printf;
mod root;
pub mod shape;
mod table;
mod template;
mod text;
mod tokens;
mod value;

pub use error::{Position, TemplateError, TemplateFailure};
pub use output::{Pair, Pairs, Skipped};
pub use shape::{ObjectKind, Shape};
pub use template::{Input, Template};
