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

/// A rollout allocates much for a short time, on several threads. The system allocator keeps that memory for good; of those
/// that return it, this one keeps least: after a rollout of 3,000 machines 54 MiB, where mimalloc kept 99 MiB.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let args = args::Args::read();
    operator::main(&args)
}
