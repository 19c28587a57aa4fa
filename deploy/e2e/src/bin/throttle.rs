//! Throttles an API server, as its validating webhook.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use seaworthy_e2e::admission;

/// Admit a limited number of writes per second, and answer all others with 429, until the process ends.
#[derive(Debug, Parser)]
#[command(name = "throttle")]
struct Arguments {
    /// Where to listen, for example 127.0.0.1:9443.
    #[arg(long)]
    listen: SocketAddr,
    /// The certificate of the webhook, in PEM.
    #[arg(long)]
    certificate: PathBuf,
    /// Its private key, in PEM.
    #[arg(long)]
    key: PathBuf,
    /// How many writes are admitted per second.
    #[arg(long)]
    per_second: NonZeroU32,
}

fn main() -> Result<()> {
    let Arguments { listen, certificate, key, per_second } = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(admission::serve(listen, &certificate, &key, per_second))
}
