//! Builds the operator from its arguments, runs it, and shuts it down.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use seaworthy_engine::Engine;
use seaworthy_kube::{Api, Failure, Secrets, Watches, cluster_id, connect};
use seaworthy_ssh::{Hosts, Limits};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::args::Args;
use crate::drive::{Drive, Exit, Parts};
use crate::executors::{Executors, SecretKeys};
use crate::health::Health;
use crate::http::{Pages, serve};
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::recorder::{self, Recorder};
use crate::status::Status;
use crate::{descriptors, logs, programs};

/// The exit code after a newer operator has taken over: starting again would take the Lease back from it.
const STEPPED_DOWN: u8 = 3;

/// Updates that may be queued for the loop; watches wait when there are more.
const UPDATES_WAITING: usize = 4096;

/// How long to wait before the API server is asked again for the cluster's id.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// Runs the operator until it is asked to stop, or has to.
pub(crate) fn main(args: &Args) -> ExitCode {
    if let Err(error) = logs::start(args.log_format, &args.log_level) {
        eprintln!("error: {error:#}");
        return ExitCode::from(2);
    }
    end_on_panic();
    descriptors::raise_limit();
    let ended = runtime().and_then(|runtime| {
        let ended = runtime.block_on(run(args));
        // Tasks that still run are abandoned on purpose; hosts finish their work without the operator.
        runtime.shutdown_timeout(Duration::from_secs(1));
        ended
    });
    match ended {
        Ok(Exit::Stopped) => ExitCode::SUCCESS,
        Ok(Exit::SteppedDown { .. }) => ExitCode::from(STEPPED_DOWN),
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Ends the process when any task panics. Otherwise only that task would be gone, a watch perhaps, and an operator that no
/// longer sees a kind would look healthy. The next process finds all that is under way.
fn end_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let trace = std::backtrace::Backtrace::force_capture();
        tracing::error!("{panic}: this is a bug, and the process ends\n{trace}");
        std::process::abort();
    }));
}

/// The main thread runs the loop of the engine, and one worker runs all connections. A connection hands on many small pieces. With
/// several workers another one is woken for each piece, which cost a quarter of the processor time of a start.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().context("cannot start threads")
}

async fn run(args: &Args) -> anyhow::Result<Exit> {
    let identity = Identity::new(args.identity.as_deref())?;
    let Identity { holder, seed } = identity;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, holder, seed = seed.0, "seaworthy-operator starts");
    let programs = programs::load(args.host_program.as_deref())?;
    let metrics = Arc::new(Metrics::new());
    let health = Arc::new(Health::new());
    let connector = connect(args.kubeconfig.as_deref()).await?;
    let api = Api::connect(connector, Arc::clone(&metrics) as _)?;
    let pages = Pages { health: Arc::clone(&health), metrics: Arc::clone(&metrics) };
    let _servers = serve(args.listen, args.metrics_listen, pages).await?;

    let stop = stop_signal()?;
    tokio::pin!(stop);
    let cluster = tokio::select! {
        cluster = find_cluster(&api, &health) => cluster?,
        () = &mut stop => return Ok(Exit::Stopped),
    };
    tracing::info!(cluster, "connected");
    let (sender, updates) = mpsc::channel(UPDATES_WAITING);
    let (found, api_servers) = mpsc::channel(1);
    let watches = Watches::start(api.clone(), sender, found);
    let keys = SecretKeys(Secrets::new(api.clone()));
    let hosts = Hosts::new(keys, programs, Limits::default());
    let (recorder, events) = Recorder::new(holder.clone(), Arc::clone(&metrics));
    tokio::spawn(recorder::deliver(api.clone(), events, Arc::clone(&metrics)));
    let drive = Drive::new(Parts {
        engine: Engine::new(args.pace.config(holder), seed),
        judge: seaworthy_check::check,
        cluster,
        api_servers,
        executors: Executors::new(api, watches, hosts, args.pace.api_requests),
        status: Status::new(health, metrics),
        recorder,
        stop_grace: args.stop_grace,
    });
    Ok(drive.run(updates, stop).await)
}

/// The id of the cluster, as soon as the API server answers. Waits for one that is still starting, and fails when it
/// refuses us.
async fn find_cluster(api: &Api, health: &Health) -> anyhow::Result<String> {
    let mut told = None;
    loop {
        health.beat();
        let failure = match cluster_id(api).await {
            Ok(cluster) => return Ok(cluster),
            Err(failure @ Failure::Answered { code: 401 | 403 | 404, .. }) => {
                return Err(failure)
                    .context("cannot read the namespace kube-system, whose uid names the cluster");
            }
            Err(failure) => failure.to_string(),
        };
        health.set_obstacles([failure.clone()].into());
        if told.as_ref() != Some(&failure) {
            tracing::warn!("{failure}");
            told = Some(failure);
        }
        sleep(ASK_AGAIN).await;
    }
}

/// Completes when the process is asked to end.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => tracing::info!("SIGTERM"),
            _ = interrupt.recv() => tracing::info!("SIGINT"),
        }
    })
}
