//! Thousands of hosts in one process, to measure the operator with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use seaworthy_e2e::farm::Farm;

/// Serve hosts over SSH, one for each address that is dialed, until the process ends.
#[derive(Debug, Parser)]
#[command(name = "ssh-farm")]
struct Arguments {
    /// Where to listen, for example 0.0.0.0:2222.
    #[arg(long)]
    listen: SocketAddr,
    /// The private key of every host, as OpenSSH writes it.
    #[arg(long)]
    key: PathBuf,
    /// The host program that every host has.
    #[arg(long)]
    program: PathBuf,
    /// How long an operation takes, in milliseconds.
    #[arg(long, default_value_t = 0)]
    operation_ms: u64,
    /// The file that tells what the hosts have done.
    #[arg(long)]
    tally: PathBuf,
}

fn main() -> Result<()> {
    let Arguments { listen, key, program, operation_ms, tally } = Arguments::parse();
    let farm = Farm { listen, key, program, operation: Duration::from_millis(operation_ms), tally };
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(farm.run())
}
