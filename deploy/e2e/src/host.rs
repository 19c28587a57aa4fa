//! A real host: Debian with its own systemd and sshd, in namespaces and cgroups of its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cgroups::{self, Cgroups};
use crate::deadline::eventually;
use crate::network::{Endpoint, Network};
use crate::power_loss::LossyDisk;
use crate::process::{Process, output, run_to_end, signal};
use crate::run::Run;
use crate::ssh::{SshKey, write_known_hosts};
use crate::{cache, mounts};

/// The size of a host's disk. The file is sparse: it takes what the host writes.
const DISK_BYTES: u64 = 4 << 30;

/// The folder on a node's disk that is its `/var/lib`: container images lie there, each of which is an overlay, and
/// an overlay on an overlay does not work.
const PLAIN: &str = "var-lib";

/// systemd-nspawn mounts the hierarchies of cgroups (version 1) read only; kubelet writes in all of them.
const CGROUPS_UNIT: &str = "[Unit]\nDescription=Writable cgroups\nDefaultDependencies=no\nBefore=sysinit.target\n\
    ConditionPathExists=!/sys/fs/cgroup/cgroup.controllers\n[Service]\nType=oneshot\nRemainAfterExit=yes\n\
    ExecStart=/bin/sh -c 'for c in /sys/fs/cgroup/*/; do mountpoint -q $c && mount -o remount,rw,bind $c; done; true'\n";

/// From power on to an answer of sshd; 1 to 4 s were measured on a quiet machine.
const BOOT_WITHIN: Duration = Duration::from_secs(90);

/// From the death of the first process to the end of systemd-nspawn; 2 s were measured.
const OFF_WITHIN: Duration = Duration::from_secs(30);

/// What the hosts of a world are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They run services of systemd.
    Services,
    /// They can become nodes of Kubernetes: they may start containers, and `/var/lib` lies on a plain file system.
    Nodes,
}

/// What all hosts of a world have in common.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub(crate) purpose: Purpose,
    /// The base image.
    pub(crate) image: PathBuf,
    /// It may log in as root.
    pub(crate) client: SshKey,
}

/// A host. Its root file system is the base image below an overlay on a [`LossyDisk`].
#[derive(Debug)]
pub struct Host {
    run: Arc<Run>,
    name: String,
    purpose: Purpose,
    image: PathBuf,
    root: PathBuf,
    key: SshKey,
    client: SshKey,
    known_hosts: PathBuf,
    chassis: Mutex<Chassis>,
    endpoint: Endpoint,
}

/// What power and disk changes act on.
#[derive(Debug)]
struct Chassis {
    disk: Option<LossyDisk>,
    /// How often the power was cut, for the name of the next disk image.
    cuts: u32,
    power: Option<Power>,
}

#[derive(Debug)]
struct Power {
    supervisor: Process,
    cgroups: Cgroups,
}

impl Host {
    /// Installs a host and boots it. Machine id and SSH host key are new.
    pub(crate) fn boot(run: &Arc<Run>, network: &Network, name: &str, blueprint: &Blueprint) -> Result<Self> {
        let endpoint = network.attach(name)?;
        if blueprint.purpose == Purpose::Nodes {
            network.route_elsewhere(&endpoint)?;
        }
        let folder = run.state().join("hosts").join(name);
        let disk = LossyDisk::create(&folder, "disk", DISK_BYTES)?;
        for part in ["upper", "work"] {
            fs::create_dir(disk.path().join(part))?;
        }
        let root = folder.join("root");
        fs::create_dir(&root)?;
        let known_hosts = folder.join("known_hosts");
        let key = SshKey::generate(&folder.join("host-key"))?;
        write_known_hosts(&known_hosts, &endpoint.address().to_string(), &key)?;
        let chassis = Mutex::new(Chassis { disk: Some(disk), cuts: 0, power: None });
        let (run, name) = (Arc::clone(run), name.to_owned());
        let Blueprint { purpose, image, client } = blueprint;
        let (purpose, image, client) = (*purpose, image.clone(), client.clone());
        let host = Self { run, name, purpose, image, root, key, client, known_hosts, chassis, endpoint };
        host.install()?;
        host.power_on()?;
        Ok(host)
    }

    /// Its name, which is also its host name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its place in the network.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its address, as text.
    #[must_use]
    pub fn address(&self) -> String {
        self.endpoint.address().to_string()
    }

    /// The public key of its sshd: `ssh-ed25519 BASE64`.
    #[must_use]
    pub fn public_key(&self) -> &str {
        self.key.public()
    }

    /// Pulls its network cable.
    ///
    /// # Errors
    /// `ip` refuses.
    pub fn cut_network(&self) -> Result<()> {
        self.endpoint.cut()
    }

    /// Plugs its network cable in.
    ///
    /// # Errors
    /// `ip` refuses.
    pub fn restore_network(&self) -> Result<()> {
        self.endpoint.restore()
    }

    /// Whether it has power.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.chassis().power.is_some()
    }

    /// Cuts the power: every process dies at once, and what was not synced is lost.
    ///
    /// # Errors
    /// It is off already, or the disk of before cannot be replaced.
    pub fn power_off(&self) -> Result<()> {
        let mut chassis = self.chassis();
        let power = chassis.power.take().with_context(|| format!("{} is off already", self.name))?;
        stop(power, &self.name)?;
        // Unmounting would sync, so the copy comes first.
        chassis.cuts += 1;
        let image = self.folder().join(format!("disk-{}.img", chassis.cuts));
        let disk = chassis.disk.take().context("the host has no disk")?;
        disk.capture(&image)?;
        mounts::unmount_below(&self.root)?;
        self.forget_network()?;
        let mountpoint = disk.path().to_owned();
        drop(disk);
        let disk = chassis.disk.insert(LossyDisk::open(image, &mountpoint)?);
        self.mount_root(disk)
    }

    /// Gives it power and waits until its sshd answers.
    ///
    /// # Errors
    /// It is on already, or does not answer within 90 s; then the error holds the end of its console.
    pub fn power_on(&self) -> Result<()> {
        let mut chassis = self.chassis();
        if chassis.power.is_some() {
            bail!("{} is on already", self.name);
        }
        let machine = format!("{}-{}", self.run.id(), self.name);
        let cgroups = Cgroups::create(&machine)?;
        self.record(&cgroups)?;
        let console = self.run.log(&self.name);
        let supervisor = Process::spawn(&self.name, &mut self.nspawn(&machine, &cgroups), &console)?;
        let power = chassis.power.insert(Power { supervisor, cgroups });
        eventually(format!("sshd of {}", self.name), BOOT_WITHIN, || {
            power.supervisor.must_run()?;
            self.ssh_from(&self.endpoint, "true")
        })
        .with_context(|| crate::logs::tail(&console, 30))
        .map(drop)
    }

    /// Runs `command` in its shell over SSH, from another place in the network, and returns what it printed.
    ///
    /// # Errors
    /// No connection, another host key, or the command failed.
    pub fn ssh_from(&self, from: &Endpoint, command: &str) -> Result<String> {
        run_to_end(from.namespace().command("ssh").args(self.ssh_arguments()).arg(command))
    }

    /// The arguments with which `ssh` reaches it.
    #[must_use]
    pub fn ssh_arguments(&self) -> Vec<String> {
        self.client.client_arguments(&self.known_hosts, &self.address())
    }

    /// A command inside: in all namespaces of the running host, or, while it is off, in its root file system.
    ///
    /// # Errors
    /// It is just starting or stopping.
    pub fn command(&self, program: &str) -> Result<Command> {
        let mut command = match &self.chassis().power {
            Some(power) => {
                let first = first_process(&power.supervisor)?.to_string();
                let mut command = Command::new("nsenter");
                command.args(["--target", &first, "--mount", "--uts", "--ipc", "--net", "--pid", "--"]);
                command
            }
            None => {
                let mut command = Command::new("chroot");
                command.arg(&self.root);
                command
            }
        };
        command
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .arg(program);
        Ok(command)
    }

    /// Runs a command line inside with `sh -c` and returns what it printed.
    ///
    /// # Errors
    /// It failed; the error holds what it said.
    pub fn sh(&self, line: &str) -> Result<String> {
        run_to_end(self.command("sh")?.args(["-c", line])).with_context(|| format!("on {}", self.name))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// There is none, or it is no text.
    pub fn read(&self, path: &str) -> Result<String> {
        run_to_end(self.command("cat")?.args(["--", path])).with_context(|| format!("on {}", self.name))
    }

    /// Writes a file, with the folders above it, and syncs it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        const WRITE: &str = r#"mkdir -p "$(dirname "$0")" && cat > "$0" && sync "$0" "$(dirname "$0")""#;
        let output = output(self.command("sh")?.args(["-c", WRITE, path]), content.as_ref())?;
        if !output.status.success() {
            bail!("on {}: {}", self.name, String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// The id of the current boot.
    ///
    /// # Errors
    /// It is off.
    pub fn boot_id(&self) -> Result<String> {
        if !self.is_on() {
            bail!("{} is off", self.name);
        }
        Ok(self.read("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
    }

    /// Waits until its systemd has started everything that belongs to the boot.
    ///
    /// # Errors
    /// It is off.
    pub fn settle(&self) -> Result<()> {
        self.sh("systemctl is-system-running --wait || true").map(drop)
    }

    fn chassis(&self) -> MutexGuard<'_, Chassis> {
        self.chassis.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder(&self) -> PathBuf {
        self.run.state().join("hosts").join(&self.name)
    }

    /// Mounts the overlay and writes what makes this host differ from others.
    fn install(&self) -> Result<()> {
        let chassis = self.chassis();
        let disk = chassis.disk.as_ref().context("the host has no disk")?;
        if self.purpose == Purpose::Nodes {
            let mut copy = Command::new("cp");
            copy.args(["--archive", "--"]).arg(self.image.join("var/lib")).arg(disk.path().join(PLAIN));
            run_to_end(&mut copy)?;
        }
        self.mount_root(disk)?;
        if self.purpose == Purpose::Nodes {
            let unit = self.write_in_root("etc/systemd/system/writable-cgroups.service", CGROUPS_UNIT)?;
            let wanted = unit.with_file_name("sysinit.target.wants");
            fs::create_dir_all(&wanted)?;
            symlink("../writable-cgroups.service", wanted.join("writable-cgroups.service"))?;
        }
        let machine_id = fs::read_to_string("/proc/sys/kernel/random/uuid")?.replace('-', "");
        let authorized_keys = format!("{}\n", self.client.public());
        for (path, text, mode) in [
            ("etc/hostname", format!("{}\n", self.name), "644"),
            ("etc/hosts", format!("127.0.0.1 localhost {}\n", self.name), "644"),
            ("etc/machine-id", machine_id, "444"),
            ("etc/ssh/ssh_host_ed25519_key", self.key.private().to_owned(), "600"),
            ("etc/ssh/ssh_host_ed25519_key.pub", format!("{}\n", self.key.public()), "644"),
            ("root/.ssh/authorized_keys", authorized_keys, "600"),
        ] {
            let path = self.write_in_root(path, &text)?;
            run_to_end(Command::new("chmod").arg(mode).arg(&path))?;
        }
        disk.sync()
    }

    fn write_in_root(&self, path: &str, text: &str) -> Result<PathBuf> {
        let path = self.root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    fn mount_root(&self, disk: &LossyDisk) -> Result<()> {
        let (upper, work) = (disk.path().join("upper"), disk.path().join("work"));
        mounts::mount_overlay(&self.image, &upper, &work, &self.root)?;
        if self.purpose == Purpose::Nodes {
            mounts::mount_bind(&disk.path().join(PLAIN), &self.root.join("var/lib"))?;
        }
        Ok(())
    }

    /// A network namespace outlives the host in it; what its kernel held in memory must not.
    fn forget_network(&self) -> Result<()> {
        const EMPTY: &[u8] = b"*nat\nCOMMIT\n*filter\nCOMMIT\n*mangle\nCOMMIT\n*raw\nCOMMIT\n";
        if self.purpose != Purpose::Nodes {
            return Ok(());
        }
        self.endpoint.forget_interfaces()?;
        for program in ["/usr/sbin/iptables-restore", "/usr/sbin/ip6tables-restore"] {
            let mut command = self.endpoint.namespace().command("chroot");
            let output = output(command.arg(&self.image).arg(program), EMPTY)?;
            if !output.status.success() {
                bail!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim());
            }
        }
        Ok(())
    }

    /// Notes the cgroups, so that a later run can remove them if this one is killed.
    fn record(&self, cgroups: &Cgroups) -> Result<()> {
        use std::io::Write as _;
        let path = self.run.state().join(cgroups::RECORD);
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        for folder in cgroups.folders() {
            writeln!(file, "{}", folder.display())?;
        }
        Ok(())
    }

    /// A shell that runs systemd-nspawn, and runs it again when the host reboots itself.
    fn nspawn(&self, machine: &str, cgroups: &Cgroups) -> Command {
        // systemd-nspawn asks for its own restart with status 133 (`--keep-unit` leaves that to whoever started it).
        const REBOOT: &str = r#"while "$@"; [ $? -eq 133 ]; do :; done"#;
        // `$0` is the number of cgroups; they follow, and then the command, which replaces the shell.
        const ENTER: &str = r#"n=$0; while [ "$n" -gt 0 ]; do echo $$ > "$1/cgroup.procs" || exit 1; shift; n=$((n - 1)); done; exec "$@""#;
        let mut command = Command::new("sh");
        command.args(["-c", REBOOT, "sh", "sh", "-c", ENTER, &cgroups.folders().len().to_string()]);
        command
            .args(cgroups.folders())
            .args([
                "systemd-nspawn",
                "--register=no",
                "--keep-unit",
                "--console=read-only",
                "--capability=all",
            ])
            .args(["--resolv-conf=off", "--timezone=off", "--link-journal=no"])
            .arg(format!("--directory={}", self.root.display()))
            .arg(format!("--network-namespace-path={}", self.endpoint.namespace().path().display()))
            .arg(format!("--machine={machine}"))
            .arg(format!("--hostname={}", self.name));
        if self.purpose == Purpose::Nodes {
            command
                // kubelet and kube-proxy set what is below /proc/sys, and make cgroups below /sys/fs/cgroup.
                .env("SYSTEMD_NSPAWN_API_VFS_WRITABLE", "yes")
                // runc makes a keyring per container, and programs that decide about devices.
                .arg("--system-call-filter=@keyring bpf")
                // kubelet reads there that the kernel killed a process for lack of memory.
                .arg("--bind=/dev/kmsg");
        }
        command
            // What follows goes to the host's systemd. Its journal is on the console already.
            .args(["--boot", "systemd.show_status=no", "systemd.log_color=no"]);
        command
    }

    /// Unmounts and removes everything, or leaves everything as it is.
    fn dismantle(&self) -> Result<()> {
        let mut chassis = self.chassis();
        if self.run.keep() {
            if let Some(power) = chassis.power.as_mut() {
                power.supervisor.keep();
                power.cgroups.keep();
            }
            if let Some(disk) = chassis.disk.as_mut() {
                disk.keep();
            }
            return Ok(());
        }
        if let Some(power) = chassis.power.take() {
            stop(power, &self.name)?;
        }
        mounts::unmount_below(&self.root)?;
        chassis.disk = None;
        cache::remove_tree(&self.folder())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Err(error) = self.dismantle() {
            eprintln!("{}: {error:#}", self.name);
        }
    }
}

/// Kills the first process, and with it all others, and waits for systemd-nspawn.
fn stop(mut power: Power, name: &str) -> Result<()> {
    eventually(format!("power cut of {name}"), OFF_WITHIN, || {
        if power.supervisor.exited()?.is_some() {
            return Ok(());
        }
        // Again and again: a host that is just rebooting has no first process now, but soon another one.
        signal("KILL", first_process(&power.supervisor)?)?;
        bail!("systemd-nspawn still runs")
    })
}

/// The process that is number 1 inside; it descends from the supervisor.
fn first_process(supervisor: &Process) -> Result<u32> {
    let mut generation = vec![supervisor.id().to_string()];
    while !generation.is_empty() {
        let children = generation.iter().flat_map(|id| children(id)).collect::<Vec<_>>();
        if let Some(first) = children.iter().find(|id| is_first(id)) {
            return first.parse().context("a process id is a number");
        }
        generation = children;
    }
    bail!("the host has no first process")
}

fn children(id: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Whether a process is number 1 in a namespace of its own: the status lists its ids from the outermost to the innermost
/// (`NSpid: 4711 1`).
fn is_first(id: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    ids.split_whitespace().count() > 1 && ids.split_whitespace().next_back() == Some("1")
}
