//! The production binary: drives the engine with a real API server and real hosts.

mod args;
mod clock;
mod descriptors;
mod drive;
mod executors;
mod flight;
mod health;
mod http;
mod identity;
mod labels;
mod logs;
mod metrics;
mod operator;
mod outage;
mod process;
mod programs;
mod recorder;
mod status;

use std::process::ExitCode;

/// A rollout allocates much for a short time. The system allocator keeps that memory for good, mimalloc returns it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = args::Args::read();
    operator::main(&args)
}
