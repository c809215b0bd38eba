//! From the command line to an exit status.

use std::ffi::OsString;
use std::process::ExitCode;

use zonewright_core::catalog::Settings;
use zonewright_core::clock::Clock;
use zonewright_core::{Error, ErrorKind, Result};

use crate::catalog::Catalog;
use crate::flags::{self, Command, Stop};
use crate::{
    daemon, explain, history, inventory, logging, migrate, output, ownership, plans, preview, providers, rights, undo,
};

/// Reads the command line, does what it says and returns the status of the process.
pub fn run(catalog: &Catalog) -> ExitCode {
    let environment = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    let invocation = match flags::parse(catalog, std::env::args_os().skip(1), &environment) {
        Ok(invocation) => invocation,
        Err(Stop::Answer(text)) => {
            return answer(&text);
        }
        Err(Stop::Refusal(text)) => {
            output::complain(text);
            return ExitCode::FAILURE;
        }
    };
    let settings = &invocation.settings;
    let result = match &invocation.command {
        Command::FlagReference => Ok(answer(&flags::reference(catalog))),
        Command::ProviderTable => Ok(answer(&providers::page(catalog))),
        Command::Records { name } => block_on(inventory::show_records(settings, name)),
        Command::Zones => block_on(async { inventory::show_zones(settings).await.map(|text| answer(&text)) }),
        Command::Owners => block_on(async { inventory::show_owners(settings).await.map(|text| answer(&text)) }),
        Command::Migrate => migrate::run(catalog, settings),
        Command::Plan => {
            logging::start(settings);
            block_on(preview::run(catalog, settings, &invocation.instances))
        }
        Command::Rights => rights::show(catalog, settings).map(|text| answer(&text)),
        Command::Plans => block_on(async { plans::show(settings).await.map(|text| answer(&text)) }),
        Command::Approve { hash } => block_on(async { plans::approve(settings, hash).await.map(|text| done(&text)) }),
        Command::Ownership { order, words } => {
            logging::start(settings);
            block_on(ownership::run(catalog, settings, &invocation.instances, (*order, words)))
        }
        Command::History { name } => {
            block_on(async { history::show(settings, name, Clock::system().now()).await.map(|text| answer(&text)) })
        }
        Command::Undo => block_on(async { undo::run(settings, Clock::system().now()).await }),
        Command::Pinned => {
            block_on(async { undo::pinned(settings, Clock::system().now()).await.map(|text| answer(&text)) })
        }
        Command::Explain { about } => block_on(async {
            explain::show(catalog, settings, &invocation.instances, about).await.map(|text| answer(&text))
        }),
        Command::Demo => demo(settings),
        Command::Gardener => {
            logging::start(settings);
            gardener(catalog, settings)
        }
        Command::Kops => {
            logging::start(settings);
            invocation.notices.iter().for_each(flags::Notice::log);
            Ok(kops(catalog, settings).unwrap_or_else(|error| fatal(&error)))
        }
        Command::Daemon => {
            logging::start(settings);
            invocation.notices.iter().for_each(flags::Notice::log);
            let result = if settings.bool("webhook-server") {
                serve(catalog, settings)
            } else {
                block_on(daemon::run(catalog, settings, &invocation.instances))
            };
            Ok(result.unwrap_or_else(|error| fatal(&error)))
        }
    };
    result.unwrap_or_else(|error| {
        output::complain(error.chain());
        ExitCode::FAILURE
    })
}

/// What keeps a daemon from starting is the last line of its log.
fn fatal(error: &Error) -> ExitCode {
    tracing::error!(target: logging::FATAL, "{}", error.chain());
    ExitCode::FAILURE
}

/// The status of a command that only answers.
fn answer(text: &str) -> ExitCode {
    output::print(text).or_failure(ExitCode::SUCCESS)
}

/// The status of a command that has done something.
fn done(text: &str) -> ExitCode {
    output::print(text);
    ExitCode::SUCCESS
}

/// Most threads that work is spread over. The daemon mostly waits, and on a large node one thread for each core would cost
/// memory for nothing.
const WORKERS: usize = 4;

fn block_on(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.min(WORKERS))
        .enable_all()
        .build()
        .map_err(|e| Error::new(ErrorKind::Configuration, "start the runtime", "threads").caused_by(e))?;
    let result = runtime.block_on(work);
    // Whatever is still under way (a lookup, a posted event) does not hold up the end.
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    result
}

#[cfg(feature = "kops")]
fn kops(catalog: &Catalog, settings: &Settings) -> Result<ExitCode> {
    block_on(crate::kops::run(catalog, settings))
}

#[cfg(not(feature = "kops"))]
fn kops(_: &Catalog, _: &Settings) -> Result<ExitCode> {
    let text = "it is not compiled into this build (Cargo feature kops)";
    Err(Error::new(ErrorKind::Unsupported, "run in place of dns-controller", text))
}

#[cfg(feature = "webhook-server")]
fn serve(catalog: &Catalog, settings: &Settings) -> Result<ExitCode> {
    block_on(crate::serve::run(catalog, settings))
}

#[cfg(not(feature = "webhook-server"))]
fn serve(_: &Catalog, _: &Settings) -> Result<ExitCode> {
    let text = "it is not compiled into this build (Cargo feature webhook-server)";
    Err(Error::new(ErrorKind::Unsupported, "serve the provider", text))
}

#[cfg(feature = "gardener")]
fn gardener(catalog: &Catalog, settings: &Settings) -> Result<ExitCode> {
    if settings.bool("admission") {
        return block_on(crate::admission::run(settings));
    }
    block_on(crate::gardener::run(catalog, settings))
}

#[cfg(not(feature = "gardener"))]
fn gardener(_: &Catalog, _: &Settings) -> Result<ExitCode> {
    let text = "it is not compiled into this build (Cargo feature gardener)";
    Err(Error::new(ErrorKind::Unsupported, "run as an extension of Gardener", text))
}

#[cfg(feature = "demo")]
fn demo(settings: &Settings) -> Result<ExitCode> {
    block_on(async {
        let stop = tokio_util::sync::CancellationToken::new();
        daemon::surroundings::on_signal(stop.clone())?;
        crate::demo::run(settings, stop).await
    })
}

#[cfg(not(feature = "demo"))]
fn demo(_: &Settings) -> Result<ExitCode> {
    let text = "it is not compiled into this build (Cargo feature demo)";
    Err(Error::new(ErrorKind::Unsupported, "run the demo", text))
}
