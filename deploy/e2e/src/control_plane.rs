//! etcd and kube-apiserver with their own certificates, and optionally kube-controller-manager and kube-scheduler.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::certificates::{self, Authority, Files};
use crate::conformance::calls;
use crate::deadline::eventually;
use crate::host::Host;
use crate::network::{Endpoint, Network};
use crate::parts::{Controllers, Parts};
use crate::process::{Process, output, run_to_end};
use crate::run::Run;

/// From the start of kube-apiserver to `/readyz`; 2.4 s were measured on a quiet machine.
const READY_WITHIN: Duration = Duration::from_secs(120);

const ETCD_CLIENTS: &str = "http://127.0.0.1:2379";
const ETCD_PEERS: &str = "http://127.0.0.1:2380";

/// The group that may do everything.
const MASTERS: &str = "system:masters";

/// A control plane in a namespace of its own. Its processes can be killed and started at will.
#[derive(Debug)]
pub struct ControlPlane {
    run: Arc<Run>,
    parts: Parts,
    controllers: Option<Controllers>,
    etcd: Mutex<Option<Process>>,
    api_server: Mutex<Option<Process>>,
    controller_manager: Mutex<Option<Process>>,
    scheduler: Mutex<Option<Process>>,
    endpoint: Endpoint,
    authority: Authority,
    server: Files,
    tokens: Files,
    kubeconfig: PathBuf,
}

impl ControlPlane {
    pub(crate) fn start(
        run: &Arc<Run>,
        network: &Network,
        parts: Parts,
        controllers: Option<Controllers>,
    ) -> Result<Self> {
        let endpoint = network.attach("control-plane")?;
        let authority = Authority::create(&run.state().join("pki"))?;
        let server = authority.issue_server(endpoint.address())?;
        let tokens = authority.issue_token_key()?;
        let mut control_plane = Self {
            run: Arc::clone(run),
            parts,
            controllers,
            etcd: Mutex::new(None),
            api_server: Mutex::new(None),
            controller_manager: Mutex::new(None),
            scheduler: Mutex::new(None),
            endpoint,
            authority,
            server,
            tokens,
            kubeconfig: PathBuf::new(),
        };
        control_plane.kubeconfig = control_plane.kubeconfig_for("admin", &[MASTERS])?;
        control_plane.start_etcd()?;
        control_plane.start_api_server()?;
        if let Some(controllers) = &control_plane.controllers {
            control_plane.start_controller_manager(controllers, None)?;
            control_plane.start_scheduler(controllers)?;
        }
        Ok(control_plane)
    }

    /// Its place in the network. The operator runs here too.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The kubeconfig file of a member of `system:masters`. It is of use only in the namespaces of this world.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The certificate of the authority that signed the API server's, in PEM.
    #[must_use]
    pub fn certificate_authority(&self) -> PathBuf {
        self.authority.certificate()
    }

    /// The certificate of the API server and its key, in PEM. They are also good for another server at 127.0.0.1.
    #[must_use]
    pub fn server_certificate(&self) -> (&Path, &Path) {
        (&self.server.certificate, &self.server.key)
    }

    /// Writes a kubeconfig file for a user who may do what RBAC allows this user or one of these groups.
    ///
    /// # Errors
    /// The file or the certificate cannot be written.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> Result<PathBuf> {
        let Files { certificate, key } = self.authority.issue_client(user, groups)?;
        let path = self.run.state().join(format!("{user}.kubeconfig"));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: e2e\n\
             clusters:\n- name: e2e\n  cluster:\n    server: https://{address}:6443\n    certificate-authority: {ca}\n\
             users:\n- name: {user}\n  user:\n    client-certificate: {certificate}\n    client-key: {key}\n\
             contexts:\n- name: e2e\n  context: {{cluster: e2e, user: {user}}}\n",
            address = self.endpoint.address(),
            ca = self.authority.certificate().display(),
            certificate = certificate.display(),
            key = key.display(),
        );
        certificates::write(&path, &text)?;
        Ok(path)
    }

    /// A program that can reach the API server.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        self.endpoint.namespace().command(program)
    }

    /// A kubectl of this control plane, as administrator, without arguments yet.
    #[must_use]
    pub fn kubectl_command(&self) -> Command {
        let mut command = self.command(&self.parts.kubectl);
        // Its discovery cache must not be the one of another run with the same address.
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        command.arg("--cache-dir").arg(self.run.state().join("kubectl-cache"));
        command
    }

    /// Runs kubectl and returns what it printed.
    ///
    /// # Errors
    /// It failed; the error holds what it said.
    pub fn kubectl<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Result<String> {
        run_to_end(self.kubectl_command().args(arguments))
    }

    /// Runs kubectl with `input` on its standard input, for calls that are expected to fail.
    ///
    /// # Errors
    /// It cannot be started. That it fails is no error.
    pub fn kubectl_output<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        input: &str,
    ) -> Result<Output> {
        output(self.kubectl_command().args(arguments), input.as_bytes())
    }

    /// Applies manifests (YAML or JSON) and returns what kubectl printed.
    ///
    /// # Errors
    /// They were refused; the error holds what kubectl said.
    pub fn apply(&self, manifests: &str) -> Result<String> {
        let output = self.kubectl_output(["apply", "-f", "-"], manifests)?;
        if !output.status.success() {
            bail!("kubectl apply: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes an executable script for people that calls kubectl in the right namespace.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_kubectl_script(&self) -> Result<PathBuf> {
        write_script(&self.run.state().join("kubectl"), &self.kubectl_command())
    }

    /// Writes an executable script for people that calls ssh to a host from where the operator runs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_ssh_script(&self, host: &Host) -> Result<PathBuf> {
        let mut command = self.endpoint.namespace().command("ssh");
        command.args(host.ssh_arguments());
        write_script(&self.run.state().join(format!("ssh-{}", host.name())), &command)
    }

    /// Starts etcd on its old data, if any.
    ///
    /// # Errors
    /// It runs already, or cannot be started.
    pub fn start_etcd(&self) -> Result<()> {
        let mut command = self.endpoint.namespace().command(&self.parts.etcd);
        command
            .arg("--name=etcd")
            // This machine keeps its power, and what a killed process has written is not lost. Disks that are busy with the
            // hosts of several runs would make every write slow.
            .arg("--unsafe-no-fsync")
            .arg(format!("--data-dir={}", self.run.state().join("etcd").display()))
            .arg(format!("--listen-client-urls={ETCD_CLIENTS}"))
            .arg(format!("--advertise-client-urls={ETCD_CLIENTS}"))
            .arg(format!("--listen-peer-urls={ETCD_PEERS}"))
            .arg(format!("--initial-advertise-peer-urls={ETCD_PEERS}"))
            .arg(format!("--initial-cluster=etcd={ETCD_PEERS}"));
        start(&self.run, &self.etcd, "etcd", &mut command)
    }

    /// Kills etcd (SIGKILL).
    ///
    /// # Errors
    /// It does not run.
    pub fn kill_etcd(&self) -> Result<()> {
        kill(&self.etcd, "etcd")
    }

    /// Makes etcd forget all history before `revision`.
    ///
    /// # Errors
    /// It does not run, or refuses.
    pub fn compact_etcd(&self, revision: u64) -> Result<()> {
        // Its HTTP gateway; bash is in every Debian, etcdctl is not.
        const REQUEST: &str = r#"exec 3<>/dev/tcp/127.0.0.1/2379
printf 'POST /v3/kv/compaction HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' "${#0}" "$0" >&3; cat <&3"#;
        let body = format!(r#"{{"revision": "{revision}", "physical": true}}"#);
        let mut command = self.endpoint.namespace().command("timeout");
        let answer = run_to_end(command.args(["10", "bash", "-c", REQUEST, &body]))?;
        match answer.split(' ').nth(1) {
            Some("200") => Ok(()),
            _ => bail!("etcd does not compact: {answer}"),
        }
    }

    /// Starts kube-apiserver and waits until it is ready.
    ///
    /// # Errors
    /// It runs already, cannot be started, exits, or is not ready within two minutes.
    pub fn start_api_server(&self) -> Result<()> {
        let address = self.endpoint.address();
        let policy = self.run.state().join("audit-policy.yaml");
        fs::write(&policy, calls::policy()).with_context(|| format!("cannot write {}", policy.display()))?;
        let mut command = self.endpoint.namespace().command(&self.parts.kube_apiserver);
        command
            .arg(format!("--etcd-servers={ETCD_CLIENTS}"))
            .arg(format!("--bind-address={address}"))
            .arg(format!("--advertise-address={address}"))
            .arg("--secure-port=6443")
            .arg(format!("--audit-policy-file={}", policy.display()))
            .arg(format!("--audit-log-path={}", calls::log(&self.run).display()))
            .arg("--audit-log-mode=blocking")
            .arg("--service-cluster-ip-range=10.96.0.0/16")
            .arg("--authorization-mode=Node,RBAC")
            .arg("--enable-admission-plugins=NodeRestriction")
            .arg(format!("--client-ca-file={}", self.authority.certificate().display()))
            .arg(format!("--tls-cert-file={}", self.server.certificate.display()))
            .arg(format!("--tls-private-key-file={}", self.server.key.display()))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(format!("--service-account-key-file={}", self.tokens.certificate.display()))
            .arg(format!("--service-account-signing-key-file={}", self.tokens.key.display()));
        if self.controllers.is_some() {
            // It calls kubelets for logs, by their addresses: nobody resolves their names here.
            let Files { certificate, key } =
                self.authority.issue_client("kube-apiserver-kubelet", &[MASTERS])?;
            command
                .arg("--kubelet-preferred-address-types=InternalIP")
                .arg(format!("--kubelet-certificate-authority={}", self.authority.certificate().display()))
                .arg(format!("--kubelet-client-certificate={}", certificate.display()))
                .arg(format!("--kubelet-client-key={}", key.display()));
        }
        start(&self.run, &self.api_server, "kube-apiserver", &mut command)?;
        self.wait_until_ready(READY_WITHIN)
    }

    /// Has certificates signed for so long from now on (`3m`), or for a year: restarts kube-controller-manager.
    ///
    /// # Errors
    /// The control plane runs no pods, or it cannot be started.
    pub fn sign_for(&self, duration: Option<&str>) -> Result<()> {
        let controllers = self.controllers.as_ref().context("a control plane without controllers")?;
        kill(&self.controller_manager, "kube-controller-manager")?;
        self.start_controller_manager(controllers, duration)
    }

    /// Starts kube-controller-manager. It signs the certificate requests that somebody approved; it approves none, for
    /// nobody gave it the right.
    fn start_controller_manager(&self, controllers: &Controllers, signs_for: Option<&str>) -> Result<()> {
        let kubeconfig = self.kubeconfig_for("system:kube-controller-manager", &[])?;
        let mut command = self.endpoint.namespace().command(&controllers.kube_controller_manager);
        command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg("--bind-address=127.0.0.1")
            .arg("--leader-elect=false")
            .arg("--use-service-account-credentials=true")
            .arg(format!("--service-account-private-key-file={}", self.tokens.key.display()))
            .arg(format!("--root-ca-file={}", self.authority.certificate().display()))
            .arg(format!("--cluster-signing-cert-file={}", self.authority.certificate().display()))
            .arg(format!("--cluster-signing-key-file={}", self.authority.key().display()))
            .args(signs_for.map(|duration| format!("--cluster-signing-duration={duration}")));
        start(&self.run, &self.controller_manager, "kube-controller-manager", &mut command)
    }

    fn start_scheduler(&self, controllers: &Controllers) -> Result<()> {
        let kubeconfig = self.kubeconfig_for("system:kube-scheduler", &[])?;
        let mut command = self.endpoint.namespace().command(&controllers.kube_scheduler);
        command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg("--bind-address=127.0.0.1")
            .arg("--leader-elect=false");
        start(&self.run, &self.scheduler, "kube-scheduler", &mut command)
    }

    /// Kills kube-apiserver (SIGKILL).
    ///
    /// # Errors
    /// It does not run.
    pub fn kill_api_server(&self) -> Result<()> {
        kill(&self.api_server, "kube-apiserver")
    }

    /// Makes kube-apiserver stand still for this long: connections stay open, and nothing is answered.
    ///
    /// # Errors
    /// It does not run.
    pub fn freeze_api_server(&self, span: Duration) -> Result<()> {
        let running = self.api_server.lock().unwrap_or_else(PoisonError::into_inner);
        let process = running.as_ref().context("kube-apiserver does not run")?;
        process.suspend()?;
        thread::sleep(span);
        process.resume()
    }

    /// Waits until kube-apiserver says that it is ready, which includes its etcd.
    ///
    /// # Errors
    /// It does not within that time, or it exits.
    pub fn wait_until_ready(&self, within: Duration) -> Result<()> {
        eventually("readiness of kube-apiserver", within, || {
            self.kubectl(["get", "--raw", "/readyz", "--request-timeout=5s"])
        })
        .with_context(|| crate::logs::tail(&self.run.log("kube-apiserver"), 20))
        .map(drop)
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if self.run.keep() {
            for process in [&self.etcd, &self.api_server, &self.controller_manager, &self.scheduler] {
                if let Some(process) = process.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                    process.keep();
                }
            }
        }
    }
}

/// Writes an executable script that runs `command` with the script's own arguments in addition.
fn write_script(path: &Path, command: &Command) -> Result<PathBuf> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| format!("'{}'", word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    fs::write(path, format!("#!/bin/sh\nexec {words} \"$@\"\n"))
        .with_context(|| format!("cannot write {}", path.display()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    Ok(path.to_owned())
}

fn start(run: &Run, slot: &Mutex<Option<Process>>, name: &str, command: &mut Command) -> Result<()> {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.is_some() {
        bail!("{name} runs already");
    }
    *slot = Some(Process::spawn(name, command, &run.log(name))?);
    Ok(())
}

fn kill(slot: &Mutex<Option<Process>>, name: &str) -> Result<()> {
    let mut process = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    process.as_mut().with_context(|| format!("{name} does not run"))?.kill()
}
