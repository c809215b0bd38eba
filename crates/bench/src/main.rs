//! The benchmarks of `cargo xtask bench`: the daemon, built for release, against a real kube-apiserver and BIND.
//!
//! In: what to measure, and how large. Out: a Markdown section for each on standard output, ready for
//! `docs/benchmarks.md`; progress goes to standard error. Times on one machine say little about another, so every section
//! gives beside its own figure the figure of the least that would do the same work, or a count.

mod answer;
mod bare;
mod build;
mod daemon;
mod headless;
mod lab;
mod machine;
mod objects;
mod options;
mod report;
mod tap;
mod task;

use std::process::ExitCode;

use anyhow::Result;

use crate::lab::Cluster;
use crate::options::Options;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Options::parse(&arguments).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    println!("Machine: {}.\n", machine::describe());
    let cluster = Cluster::default();
    for task in &options.tasks {
        eprintln!("==> {}", task.name());
        println!("{}", task.run(options, &cluster)?);
    }
    Ok(())
}
