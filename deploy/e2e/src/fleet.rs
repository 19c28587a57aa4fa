//! A world in which the project itself runs: its CRDs, its operator, and versions of a small service that it installs.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::conformance::calls;
use crate::deadline::{eventually, eventually_every};
use crate::manifests;
use crate::parts::{self, Health};
use crate::process::Process;
use crate::programs::Programs;
use crate::world::World;

/// How long anything may take that the operator is expected to bring about. It takes seconds on a quiet machine.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// Pause between two looks through kubectl, each of which costs 0.1 s of processor time.
const KUBECTL_PAUSE: Duration = Duration::from_millis(200);

/// Where the operator answers /readyz, inside the namespace of the control plane.
pub const OPERATOR_PORT: u16 = 8080;
/// The distance from the port for probes of an operator to its port for metrics.
const TO_METRICS: u16 = 1000;
/// The port on which the operator serves its metrics.
pub const METRICS_PORT: u16 = OPERATOR_PORT + TO_METRICS;

/// What the project's CRDs define.
const KINDS: [&str; 6] = [
    "Machine",
    "MachineComponent",
    "ClusterPackageVersion",
    "MachineComponentSet",
    "CanaryRelease",
    "DisruptionPolicy",
];

/// How long an order may take here: the flag `--apply-deadline` in `PACE`.
pub const APPLY_DEADLINE: Duration = Duration::from_secs(20);

/// How fast the operator works here. What is minutes and hours in production is seconds.
const PACE: [&str; 12] = [
    "--lease-duration=3s",
    "--renew-deadline=2s",
    "--retry-period=500ms",
    "--backoff-min=250ms",
    "--backoff-max=2s",
    "--unreachable-after=2",
    "--audit-without-node=3s",
    "--admission-wait=500ms",
    "--api-deadline=10s",
    "--read-deadline=20s",
    "--apply-deadline=20s",
    "--stop-grace=10s",
];

/// A world with the CRDs, the operator's namespace, the Secret that opens the hosts, and one operator. No Machine and
/// no version exists yet.
#[derive(Debug)]
pub struct Fleet<'w> {
    world: &'w World,
    programs: Programs,
    kubeconfig: PathBuf,
    /// The flags that say how fast it works.
    pace: &'static [&'static str],
    operator: Option<Process>,
    /// How many operators were started, for their names.
    started: u32,
}

/// What the daemon `webd` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webd {
    /// The version that was linked in.
    pub version: String,
    /// The greeting of its config file.
    pub greeting: String,
}

impl<'w> Fleet<'w> {
    /// Sets everything up and waits until the operator is ready.
    ///
    /// # Errors
    /// A program is not built, or something does not start.
    pub fn start(world: &'w World) -> Result<Self> {
        let mut fleet = Self::without_operator(world, &PACE)?;
        fleet.start_operator()?;
        fleet.wait_until_ready()?;
        Ok(fleet)
    }

    /// Sets everything up but an operator, which will work at this pace.
    pub(crate) fn without_operator(world: &'w World, pace: &'static [&'static str]) -> Result<Self> {
        let programs = Programs::find()?;
        apply_crds(world)?;
        world.control_plane().apply(&manifests::setting(world.ssh_key().private()))?;
        // It may do what the manifests for people allow its service account, and nothing more.
        for manifest in ["00-namespace.yaml", "rbac.yaml", "flow-control.yaml"] {
            world.kubectl(["apply", "-f", path(&parts::home().join("../operator").join(manifest))?])?;
        }
        let kubeconfig = world.control_plane().kubeconfig_for(calls::USER, &["system:serviceaccounts"])?;
        Ok(Self { world, programs, kubeconfig, pace, operator: None, started: 0 })
    }

    /// The world it runs in.
    #[must_use]
    pub fn world(&self) -> &'w World {
        self.world
    }

    // --- the operator

    /// Starts the operator; it does not wait until it is ready.
    ///
    /// # Errors
    /// One runs already, or it cannot be started.
    pub fn start_operator(&mut self) -> Result<()> {
        ensure!(self.operator.is_none(), "an operator runs already");
        let operator = self.spawn_operator("operator", OPERATOR_PORT)?;
        self.operator = Some(operator);
        Ok(())
    }

    /// Starts one more operator, which logs to `NAME.log` of this run.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn_operator(&mut self, log: &str, port: u16) -> Result<Process> {
        self.started += 1;
        let mut command = self.world.command(&self.programs.operator);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--host-program")
            .arg(&self.programs.host)
            .arg(format!("--identity={log}-{}", self.started))
            .arg(format!("--listen=127.0.0.1:{port}"))
            .arg(format!("--metrics-listen=127.0.0.1:{}", port + TO_METRICS))
            .args(self.pace);
        self.world.spawn(log, &mut command)
    }

    /// The operator, and the program that it brings to hosts.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// The operator's process.
    ///
    /// # Errors
    /// None runs.
    pub fn operator(&mut self) -> Result<&mut Process> {
        self.operator.as_mut().context("no operator runs")
    }

    /// Lets go of an operator that has ended by itself, so that another one can be started.
    pub fn forget_operator(&mut self) {
        self.operator = None;
    }

    /// Kills the operator (SIGKILL).
    ///
    /// # Errors
    /// None runs.
    pub fn kill_operator(&mut self) -> Result<()> {
        self.operator.take().context("no operator runs")?.kill()
    }

    /// Stops the operator (SIGTERM) and checks that it ends well.
    ///
    /// # Errors
    /// None runs, or it ends badly or not at all.
    pub fn stop_operator(&mut self) -> Result<()> {
        let status = self.operator.take().context("no operator runs")?.terminate(Duration::from_secs(60))?;
        ensure!(status.success(), "the operator ended with {status}");
        Ok(())
    }

    /// What the operator says on /readyz: status and text.
    ///
    /// # Errors
    /// It does not answer.
    pub fn readyz(&self) -> Result<(u16, String)> {
        self.world.control_plane().endpoint().http_get(Ipv4Addr::LOCALHOST, OPERATOR_PORT, "/readyz")
    }

    /// Waits until the operator holds the Lease and has seen everything.
    ///
    /// # Errors
    /// It exits, or is not ready in time.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        eventually("readiness of the operator", PATIENCE, || {
            self.operator()?.must_run()?;
            let (status, text) = self.readyz()?;
            // A standby is ready too, and says so.
            ensure!(status == 200 && text.trim() == "ok", "does not lead: {status} {text}");
            Ok(())
        })
    }

    // --- what people do

    /// Builds this version of `webd`, serves it, and creates its MachineComponent.
    ///
    /// # Errors
    /// The build fails, or the object is refused.
    pub fn publish(&self, version: &str, health: Health) -> Result<()> {
        let artefact = self.world.artefacts().publish_webd(version, health)?;
        self.apply(&manifests::webd(version, &artefact)?)
    }

    /// Creates or changes an object with kubectl.
    ///
    /// # Errors
    /// It is refused.
    pub fn apply(&self, object: &Value) -> Result<()> {
        self.world.control_plane().apply(&object.to_string()).map(drop)
    }

    /// Creates the Machine of each host, under the host's name.
    ///
    /// # Errors
    /// One is refused.
    pub fn add_machines(&self) -> Result<()> {
        self.world.hosts().try_for_each(|host| self.apply(&manifests::machine(host.name(), host)))
    }

    /// Creates the ClusterPackageVersion, or edits it: this version of `webd` with this greeting, for all machines.
    ///
    /// # Errors
    /// It is refused.
    pub fn set_default(&self, version: &str, greeting: &str, max_unavailable: u32) -> Result<()> {
        self.apply(&manifests::defaults(&[manifests::webd_setting(version, greeting)], max_unavailable))
    }

    // --- what can be seen

    /// An object, as the API server has it.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, kind: &str, name: &str) -> Result<Value> {
        let text = self.world.kubectl(["get", kind, name, "-o", "json"])?;
        serde_json::from_str(&text).with_context(|| format!("{kind} {name}: {text}"))
    }

    /// The Events about an object.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn events(&self, kind: &str, name: &str) -> Result<Vec<Value>> {
        let list =
            self.world.kubectl(["get", "events.events.k8s.io", "--namespace=default", "--output=json"])?;
        let list: Value = serde_json::from_str(&list)?;
        let all = list["items"].as_array().cloned().unwrap_or_default();
        let is_about = |event: &Value| {
            let regarding = &event["regarding"];
            regarding["kind"].as_str().is_some_and(|about| about.eq_ignore_ascii_case(kind))
                && regarding["name"] == name
        };
        Ok(all.into_iter().filter(is_about).collect())
    }

    /// Calls `probe` until it succeeds; for probes that use kubectl.
    ///
    /// # Errors
    /// The last error of `probe`, once the deadline has passed.
    pub fn eventually<T>(&self, what: &str, probe: impl FnMut() -> Result<T>) -> Result<T> {
        eventually_every(KUBECTL_PAUSE, what, PATIENCE, probe)
    }

    /// Waits until a condition of an object has this status and reason, and returns its message.
    ///
    /// # Errors
    /// It does not in time; the error holds the conditions.
    pub fn await_condition(&self, (kind, name): (&str, &str), wanted: [&str; 3]) -> Result<String> {
        let [condition, status, reason] = wanted;
        self.eventually(&format!("{kind} {name}: {condition}={status} {reason}"), || {
            let object = self.get(kind, name)?;
            let found = find_condition(&object, condition)
                .filter(|found| found["status"] == status && found["reason"] == reason)
                .with_context(|| format!("{}", object["status"]["conditions"]))?;
            Ok(found["message"].as_str().unwrap_or_default().to_owned())
        })
    }

    /// Waits until these machines are Ready with this version, and their services answer with it and the greeting.
    ///
    /// # Errors
    /// One is not in time; the error holds what it is instead.
    pub fn settles(&self, machines: &[&str], version: &str, greeting: &str) -> Result<()> {
        for name in machines {
            self.eventually(&format!("{name} with webd {version}"), || {
                let machine = self.get("machine", name)?;
                let status = &machine["status"];
                let is_ready =
                    find_condition(&machine, "Ready").is_some_and(|ready| ready["status"] == "True");
                let is_observed = status["observedGeneration"] == machine["metadata"]["generation"];
                let is_installed = status["installed"] == format!("webd={version}");
                ensure!(
                    is_ready && is_observed && is_installed,
                    "generation {} {status}",
                    machine["metadata"]["generation"]
                );
                Ok(())
            })?;
            let wanted = Webd { version: version.to_owned(), greeting: greeting.to_owned() };
            let seen = self.webd(name)?;
            ensure!(
                seen == wanted,
                "{name} is Ready with {version} {greeting:?}, but its webd says {seen:?}"
            );
        }
        Ok(())
    }

    /// Waits until the defaults as they are now are everywhere.
    ///
    /// # Errors
    /// They are not in time.
    pub fn rollout_completes(&self) -> Result<()> {
        self.eventually("the rollout", || {
            let object = self.get("clusterpackageversion", "default")?;
            let complete = find_condition(&object, "Complete").context("no condition Complete")?;
            let is_now = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            ensure!(complete["status"] == "True" && is_now, "{}", object["status"]);
            Ok(())
        })
    }

    /// What the daemon on a host answers.
    ///
    /// # Errors
    /// It does not answer.
    pub fn webd(&self, host: &str) -> Result<Webd> {
        let address = self.world.host(host)?.endpoint().address();
        let get = |path| {
            let (status, body) =
                self.world.control_plane().endpoint().http_get(address, manifests::PORT, path)?;
            ensure!(status == 200, "{path}: status {status}");
            Ok(body.trim().to_owned())
        };
        Ok(Webd { version: get("/version")?, greeting: get("/")? })
    }

    // --- what is written down

    /// Plays one scene: `kubectl get machines` before and after it goes to the test's output and to `scenes.log`.
    ///
    /// # Errors
    /// Those of `act`, with the title.
    pub fn scene<T>(&mut self, title: &str, act: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let start = Instant::now();
        self.show(&format!("{title}: before"))?;
        let played = act(self);
        let verdict = if played.is_ok() { "after" } else { "FAILED" };
        let shown = self.show(&format!("{title}: {verdict}, {:.1?}", start.elapsed()));
        let played = played.with_context(|| title.to_owned())?;
        shown.map(|()| played)
    }

    fn show(&self, heading: &str) -> Result<()> {
        // With no Machine there is no table, and kubectl says so on its standard error.
        let output = self.world.control_plane().kubectl_output(["get", "machines"], "")?;
        let text = [output.stdout, output.stderr].concat();
        self.note(&format!(
            "\n===== {heading}\n$ kubectl get machines\n{}",
            String::from_utf8_lossy(&text).trim_end()
        ))
    }

    /// Writes a line to the test's output and to `scenes.log`.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn note(&self, line: &str) -> Result<()> {
        eprintln!("{line}");
        let log = self.world.run().log("scenes");
        let mut file = OpenOptions::new().create(true).append(true).open(log)?;
        Ok(writeln!(file, "{line}")?)
    }
}

/// Applies the project's CRDs and waits until the API server serves them, and says so to those who ask what there is.
///
/// # Errors
/// They are refused.
pub fn apply_crds(world: &World) -> Result<()> {
    let folder = parts::home().join("../crds");
    let folder = path(&folder)?;
    world.kubectl(["apply", "--server-side", "-f", folder])?;
    world.kubectl(["wait", "--for=condition=Established", "--timeout=120s", "-f", folder])?;
    eventually_every(KUBECTL_PAUSE, "the project's kinds", PATIENCE, || {
        let group = format!("/apis/{}", manifests::API_VERSION);
        let served: Value = serde_json::from_str(&world.kubectl(["get", "--raw", &group])?)?;
        let kinds = served["resources"].as_array().into_iter().flatten().map(|resource| &resource["kind"]);
        let kinds = kinds.filter_map(Value::as_str).collect::<Vec<_>>();
        ensure!(KINDS.iter().all(|kind| kinds.contains(kind)), "only {kinds:?}");
        Ok(())
    })
}

/// A condition of an object.
#[must_use]
pub fn find_condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == name)
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("not a UTF-8 path: {}", path.display()))
}
