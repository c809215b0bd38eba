//! Runs a template over one object. In come the tree and the value of its dot; out comes the text, or the place and the
//! reason of the failure. The work is bounded by [`limits`].

use std::sync::Arc;

use crate::access;
use crate::ast::{Branch, Command, Expr, Node, Pipe, Term, Tree};
use crate::error::TextError;
use crate::format;
use crate::functions::{self, Sources};
use crate::limits::{self, Budget};
use crate::value::{Text, Value};

/// Why an execution stopped.
#[derive(Debug)]
pub(crate) struct Halt {
    pub(crate) fault: TextError,
    /// Whether the other reading of the object may help. It cannot where a value is absent or a limit is passed.
    pub(crate) retry: bool,
}

type Result<T> = std::result::Result<T, Halt>;

enum Flow {
    Next,
    Break,
    Continue,
}

/// The text that `tree` gives for `dot`. With `strict` a missing key of a map is an error.
pub(crate) fn run(tree: &Tree, dot: &Value<'_>, strict: bool, sources: Sources<'_>) -> Result<String> {
    let vars = vec![("$".into(), dot.clone())];
    let mut run = Run { tree, strict, sources, vars, out: String::new(), budget: Budget::new(), depth: 0 };
    run.nodes(&tree.body, dot)?;
    Ok(run.out)
}

struct Run<'t, 'a> {
    tree: &'t Tree,
    strict: bool,
    sources: Sources<'t>,
    vars: Vec<(Arc<str>, Value<'a>)>,
    out: String,
    budget: Budget,
    depth: usize,
}

fn failed(at: usize) -> impl FnOnce(String) -> Halt {
    move |message| Halt { fault: TextError::new(at, message), retry: true }
}

fn last(at: usize, message: impl Into<String>) -> Halt {
    Halt { fault: TextError::new(at, message), retry: false }
}

impl<'t, 'a> Run<'t, 'a> {
    fn step(&mut self, at: usize, bytes: usize) -> Result<()> {
        self.budget.take(bytes).map_err(|message| last(at, message))
    }

    fn deeper<T>(&mut self, at: usize, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == limits::DEPTH {
            return Err(last(at, format!("nested deeper than {} levels at execution", limits::DEPTH)));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn emit(&mut self, at: usize, text: &str) -> Result<()> {
        if self.out.len() + text.len() > limits::OUTPUT_BYTES {
            return Err(last(at, format!("the result is longer than {} bytes", limits::OUTPUT_BYTES)));
        }
        self.out.push_str(text);
        Ok(())
    }

    fn nodes(&mut self, nodes: &'t [Node], dot: &Value<'a>) -> Result<Flow> {
        for node in nodes {
            match self.node(node, dot)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn node(&mut self, node: &'t Node, dot: &Value<'a>) -> Result<Flow> {
        match node {
            Node::Text(at, text) => self.step(*at, text.len()).and_then(|()| self.emit(*at, text)).map(|()| Flow::Next),
            Node::Action(pipe) => self.action(pipe, dot).map(|()| Flow::Next),
            Node::If(branch) => self.deeper(branch.at, |run| run.choose(branch, dot, false)),
            Node::With(branch) => self.deeper(branch.at, |run| run.choose(branch, dot, true)),
            Node::Range(branch) => self.deeper(branch.at, |run| run.range(branch, dot)),
            Node::Template { at, name, data } => self.template(*at, name, data.as_ref(), dot).map(|()| Flow::Next),
            Node::Break => Ok(Flow::Break),
            Node::Continue => Ok(Flow::Continue),
        }
    }

    fn action(&mut self, pipe: &'t Pipe, dot: &Value<'a>) -> Result<()> {
        let value = self.pipe(pipe, dot)?;
        if !pipe.vars.is_empty() {
            return Ok(());
        }
        if value.is_absent() {
            return Err(last(pipe.at, "there is no value here to print"));
        }
        if let Value::Text(text) = value.target() {
            return self.step(pipe.at, text.len()).and_then(|()| self.emit(pipe.at, text));
        }
        let mut text = String::new();
        format::write(&mut text, &value).map_err(failed(pipe.at))?;
        self.step(pipe.at, text.len())?;
        self.emit(pipe.at, &text)
    }

    fn choose(&mut self, branch: &'t Branch, dot: &Value<'a>, with: bool) -> Result<Flow> {
        let mark = self.vars.len();
        for (pipe, body) in &branch.arms {
            let value = self.pipe(pipe, dot)?;
            if value.is_true() {
                let flow = self.nodes(body, if with { &value } else { dot });
                self.vars.truncate(mark);
                return flow;
            }
        }
        let flow = self.nodes(&branch.otherwise, dot);
        self.vars.truncate(mark);
        flow
    }

    fn range(&mut self, branch: &'t Branch, dot: &Value<'a>) -> Result<Flow> {
        let mark = self.vars.len();
        let flow = self.each(branch, dot);
        self.vars.truncate(mark);
        flow
    }

    fn each(&mut self, branch: &'t Branch, dot: &Value<'a>) -> Result<Flow> {
        let Some((pipe, body)) = branch.arms.first() else { return Ok(Flow::Next) };
        let value = self.pipe(pipe, dot)?;
        let entries = match value.target() {
            Value::Missing => None,
            Value::Int(n) if pipe.vars.len() < 2 => {
                let n = *n;
                Some(Box::new((0..n).map(|i| Ok((Value::Int(i), Value::Int(i))))) as Box<dyn Iterator<Item = _>>)
            }
            Value::Int(n) => {
                return Err(failed(pipe.at)(format!("can't use {n} to iterate over more than one variable")));
            }
            other => match access::entries(other) {
                Some(entries) => Some(entries),
                None => return Err(failed(pipe.at)(format!("range can't iterate over {}", other.type_name()))),
            },
        };
        let mut any = false;
        for entry in entries.into_iter().flatten() {
            any = true;
            let (key, element) = entry.map_err(failed(pipe.at))?;
            self.step(pipe.at, 0)?;
            if matches!(self.once(pipe, body, key, &element)?, Flow::Break) {
                break;
            }
        }
        if any { Ok(Flow::Next) } else { self.nodes(&branch.otherwise, dot) }
    }

    /// One round of a `range`, its variables set.
    fn once(&mut self, pipe: &'t Pipe, body: &'t [Node], key: Value<'a>, element: &Value<'a>) -> Result<Flow> {
        match pipe.vars.as_slice() {
            [] => {}
            [one] => self.set(one, element.clone()),
            [first, second, ..] => {
                self.set(first, key);
                self.set(second, element.clone());
            }
        }
        let mark = self.vars.len();
        let flow = self.nodes(body, element);
        self.vars.truncate(mark);
        flow
    }

    /// Sets the innermost variable of that name. The parser has seen to it that there is one.
    fn set(&mut self, name: &str, value: Value<'a>) {
        if let Some((_, old)) = self.vars.iter_mut().rev().find(|(known, _)| **known == *name) {
            *old = value;
        }
    }

    fn template(&mut self, at: usize, name: &str, data: Option<&'t Pipe>, dot: &Value<'a>) -> Result<()> {
        let Some(body) = self.tree.named.get(name) else {
            return Err(last(at, format!("template {name:?} not defined")));
        };
        let dot = data.map_or(Ok(Value::Missing), |pipe| self.pipe(pipe, dot))?;
        let vars = std::mem::replace(&mut self.vars, vec![("$".into(), dot.clone())]);
        let result = self.deeper(at, |run| run.nodes(body, &dot));
        self.vars = vars;
        result.map(|_| ())
    }

    fn pipe(&mut self, pipe: &'t Pipe, dot: &Value<'a>) -> Result<Value<'a>> {
        let mut value = None;
        for command in &pipe.commands {
            value = Some(match self.command(command, dot, value)? {
                Value::Nil => Value::Missing,
                other => other,
            });
        }
        let value = value.unwrap_or(Value::Missing);
        for name in &pipe.vars {
            if pipe.assign {
                self.set(name, value.clone());
            } else {
                self.vars.push((Arc::clone(name), value.clone()));
            }
        }
        Ok(value)
    }

    fn command(&mut self, command: &'t Command, dot: &Value<'a>, piped: Option<Value<'a>>) -> Result<Value<'a>> {
        let first = &command.first;
        if let (Term::Function(name), true) = (&first.term, first.fields.is_empty()) {
            return self.call(first.at, name, &command.rest, dot, piped);
        }
        if piped.is_some() || !command.rest.is_empty() {
            return Err(failed(first.at)("only a function can be given arguments".into()));
        }
        if matches!(first.term, Term::Nil) {
            return Err(failed(first.at)("nil is not a command".into()));
        }
        self.expr(first, dot)
    }

    fn call(
        &mut self,
        at: usize,
        name: &str,
        rest: &'t [Expr],
        dot: &Value<'a>,
        piped: Option<Value<'a>>,
    ) -> Result<Value<'a>> {
        functions::check_count(name, rest.len() + usize::from(piped.is_some())).map_err(failed(at))?;
        let mut args = Vec::with_capacity(rest.len() + 1);
        let stops = matches!(name, "and" | "or").then_some(name == "or");
        for argument in rest {
            let value = self.expr(argument, dot)?;
            if stops == Some(value.is_true()) {
                return Ok(value);
            }
            args.push(value);
        }
        args.extend(piped);
        if stops.is_some() {
            return Ok(args.pop().unwrap_or(Value::Missing));
        }
        let size = |v: &Value<'a>| if let Value::Text(text) = v.target() { text.len() } else { 0 };
        let read: usize = args.iter().map(size).sum();
        // Decoded JSON takes many times the memory of its text.
        self.step(at, if name == "fromJson" { read * 8 } else { read })?;
        let value = functions::call(name, &args, self.sources).map_err(failed(at))?;
        self.step(at, size(&value))?;
        if size(&value) > limits::OUTPUT_BYTES {
            return Err(last(at, format!("{name} gives more than {} bytes", limits::OUTPUT_BYTES)));
        }
        Ok(value)
    }

    fn expr(&mut self, expr: &'t Expr, dot: &Value<'a>) -> Result<Value<'a>> {
        self.step(expr.at, 0)?;
        let mut value = self.term(expr, dot)?;
        for name in &expr.fields {
            self.step(expr.at, 0)?;
            value = access::field(&value, name, self.strict).map_err(failed(expr.at))?;
        }
        Ok(value)
    }

    fn term(&mut self, expr: &'t Expr, dot: &Value<'a>) -> Result<Value<'a>> {
        match &expr.term {
            Term::Dot => Ok(dot.clone()),
            Term::Nil => Ok(Value::Nil),
            Term::Bool(b) => Ok(Value::Bool(*b)),
            Term::Int(n) => Ok(Value::Int(*n)),
            Term::Float(n) => Ok(Value::Float(*n)),
            Term::TooLarge(text) => Err(last(expr.at, format!("{text} overflows int"))),
            Term::Text(text) => Ok(Value::Text(Text::Made(Arc::clone(text)))),
            Term::Variable(name) => {
                let found = self.vars.iter().rev().find(|(known, _)| known == name);
                found
                    .map(|(_, value)| value.clone())
                    .ok_or_else(|| failed(expr.at)(format!("undefined variable {name}")))
            }
            Term::Function(name) => self.call(expr.at, name, &[], dot, None),
            Term::Pipe(pipe) => self.deeper(expr.at, |run| run.pipe(pipe, dot)),
        }
    }
}
