//! The real API server, reached through `kubectl proxy`, whose Unix socket needs no network.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::script::http;
use super::{Answer, ApiServer, Call, socket};
use crate::control_plane::ControlPlane;
use crate::deadline::eventually;
use crate::process::Process;
use crate::world::World;

/// A way to the real API server.
#[derive(Debug)]
pub struct ApiProxy<'w> {
    control_plane: &'w ControlPlane,
    _proxy: Process,
    socket: PathBuf,
}

/// The project's kinds. Each has a cache of its own in the API server.
const RESOURCES: [&str; 6] = [
    "machines",
    "machinecomponents",
    "clusterpackageversions",
    "machinecomponentsets",
    "canaryreleases",
    "disruptionpolicies",
];

/// How long the API server may take to fill its caches.
const CACHES_WITHIN: Duration = Duration::from_secs(60);

impl<'w> ApiProxy<'w> {
    /// Starts a proxy as administrator. The project's kinds are there.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(world: &'w World) -> Result<Self> {
        let socket = world.run().state().join("api.socket");
        let control_plane = world.control_plane();
        let mut command = control_plane.kubectl_command();
        command.arg("proxy").arg(format!("--unix-socket={}", socket.display()));
        let mut proxy = world.spawn("kubectl-proxy", &mut command)?;
        eventually("kubectl proxy", Duration::from_secs(20), || {
            proxy.must_run()?;
            socket::exchange(&socket, "GET", "/readyz", "", "")
        })?;
        let server = Self { control_plane, _proxy: proxy, socket };
        for resource in RESOURCES {
            eventually(format!("the cache of {resource}"), CACHES_WITHIN, || server.must_watch(resource))?;
        }
        Ok(server)
    }

    /// A watch goes on from what a list told. The API server fills the cache of a new kind after it has answered the first
    /// requests for it, and refuses watches from versions before that.
    fn must_watch(&self, resource: &str) -> Result<()> {
        let version = self.version(&http(&format!("GET {resource}?limit=1"))?.1)?;
        let (method, path) = http(&format!("WATCH {resource}?resourceVersion={version}"))?;
        let (code, text) = self.exchange(&method, &path)?;
        ensure!(code == 200 && !text.contains("\"ERROR\""), "{code}: {text}");
        Ok(())
    }

    /// The resource version of a list.
    fn version(&self, path: &str) -> Result<String> {
        let list: Value = serde_json::from_str(&self.exchange("GET", path)?.1)?;
        let version = list["metadata"]["resourceVersion"].as_str();
        Ok(version.with_context(|| format!("no list: {list}"))?.to_owned())
    }

    fn exchange(&self, method: &str, path: &str) -> Result<(u16, String)> {
        socket::exchange(&self.socket, method, path, "application/json", "")
    }
}

impl ApiServer for ApiProxy<'_> {
    const IS_MODEL: bool = false;

    fn call(&mut self, call: &Call) -> Result<Answer> {
        let body = if call.body.is_null() { String::new() } else { call.body.to_string() };
        let (code, text) =
            socket::exchange(&self.socket, &call.method, &call.path, call.content_type, &body)?;
        let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let body = documents.collect::<Result<Vec<_>, _>>();
        Ok(Answer { code, body: body.with_context(|| format!("no JSON: {text}"))? })
    }

    /// The store forgets its history, and the API server, which remembers some of it, is restarted.
    fn compact(&mut self) -> Result<()> {
        let revision = self.version("/api/v1/namespaces?limit=1")?;
        self.control_plane.compact_etcd(revision.parse()?)?;
        self.control_plane.kill_api_server()?;
        self.control_plane.start_api_server()?;
        eventually("the caches of the API server", CACHES_WITHIN, || {
            let (method, path) = http("WATCH machines?resourceVersion=0")?;
            let (code, text) = self.exchange(&method, &path)?;
            ensure!(code == 200, "{code}: {text}");
            Ok(())
        })
    }
}
