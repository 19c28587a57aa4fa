//! The real API server, reached through `kubectl proxy`, whose Unix socket needs no network.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

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

impl<'w> ApiProxy<'w> {
    /// Starts a proxy as administrator.
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
        Ok(Self { control_plane, _proxy: proxy, socket })
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
        let path = "/api/v1/namespaces?limit=1";
        let (_, text) = socket::exchange(&self.socket, "GET", path, "application/json", "")?;
        let list: Value = serde_json::from_str(&text)?;
        let revision = list["metadata"]["resourceVersion"].as_str().context("a list has a version")?;
        self.control_plane.compact_etcd(revision.parse()?)?;
        self.control_plane.kill_api_server()?;
        self.control_plane.start_api_server()?;
        eventually("the caches of the API server", Duration::from_secs(60), || {
            let (method, path) = super::script::http("WATCH machines?resourceVersion=0")?;
            let (code, text) = socket::exchange(&self.socket, &method, &path, "application/json", "")?;
            ensure!(code == 200, "{code}: {text}");
            Ok(())
        })
    }
}
