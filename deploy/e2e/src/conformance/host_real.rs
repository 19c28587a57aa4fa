//! A real host: Debian with its systemd, and the host program.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use seaworthy_api::host::wire::{
    self, Answer, CertificateFile, CertificateRequest, Change, Command, Fence, Operation, PROTOCOL, Reply,
    Request,
};
use seaworthy_fleet::vocabulary::FoundState;
use seaworthy_model::certificate::{Certificate, HostIdentity};
use seaworthy_model::component::{
    Architecture, Artefact, ArtefactFormat, ConfigFile, Confirm, Content, Link, Probe, ProbeCheck, Recipe,
    Rollback, Unit,
};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{OperationId, OperationState};
use seaworthy_model::id::Uid;
use seaworthy_model::invocation::Invocation;
use seaworthy_model::lease::Epoch;
use seaworthy_model::removal::Removal;

use super::host::{HostPart, Report, Told, identity, whose};
use super::host_script::{Action, Offer, Order, Spoiled, Verb};
use super::releases::{self, Fault};
use super::signer::Signer;
use crate::artefacts::Pace;
use crate::deadline::eventually;
use crate::host::Host;
use crate::parts::Health;
use crate::process::output;
use crate::programs::Programs;
use crate::world::World;

const PROGRAM: &str = "/opt/seaworthy/bin/seaworthy-host";
/// Where the identity of the node belongs.
const PATH: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
const CLUSTER: &str = "conformance";
/// Any step of an operation; it takes seconds on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits as long as there is this file, so that an operation can be struck where it otherwise only passes.
const UNIT: &str = "[Service]
ExecStartPre=/bin/sh -c 'while test -e /run/hold-start; do sleep 0.1; done'
ExecStart={{ current }}/bin/webd -config {{ current }}/etc/webd.conf
ExecStop=/bin/sh -c 'while test -e /run/hold-stop; do sleep 0.1; done'
Restart=always
RestartSec=200ms
[Install]
WantedBy=multi-user.target
";
/// Leaves a directory behind, with something mounted in it.
const FILLS: &str = "[Service]
ExecStartPre=/bin/sh -c 'mkdir -p /var/lib/webd/tmp && mount -t tmpfs tmpfs /var/lib/webd/tmp && mkdir /var/lib/webd/tmp/x'
";
/// That directory.
const LEFT: &str = "/var/lib/webd";
const PROBE: &str = "test ! -e /run/hold-probe && exec 3<>/dev/tcp/127.0.0.1/8000 && \
                     printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q ' 200 ' <&3";
/// Takes everything away but the program itself.
const RESET: &str = "rm -f /run/hold-*; systemctl stop 'seaworthy-alarm-*' 2>/dev/null; systemctl stop webd.service 2>/dev/null; \
                     while umount /var/lib/webd/tmp 2>/dev/null; do :; done; rm -rf /var/lib/webd /var/lib/kubelet; cd /opt/seaworthy && \
                     rm -rf releases manifests current previous staging state && cd /etc/systemd/system && \
                     rm -f webd.service multi-user.target.wants/webd.service /usr/local/bin/webd \
                     seaworthy-resume.service multi-user.target.wants/seaworthy-resume.service && \
                     systemctl daemon-reload";

/// Makes of what the host program has installed what somebody else would have: files instead of links, and nothing that
/// tells of the host program.
const DISGUISE: &str = "set -e; for file in /usr/local/bin/webd /etc/systemd/system/webd.service; do \
                        cp --remove-destination \"$(readlink -f $file)\" $file; done; \
                        ln -sfn /etc/systemd/system/webd.service /etc/systemd/system/multi-user.target.wants/webd.service; \
                        cd /opt/seaworthy && rm -rf releases manifests current previous staging artefacts state; \
                        cd /etc/systemd/system && rm -f seaworthy-resume.service multi-user.target.wants/seaworthy-resume.service; \
                        systemctl daemon-reload";
const PID: &str = "systemctl show --property=MainPID --value webd.service";

/// A host of the world.
#[derive(Debug)]
pub struct RealHost<'w> {
    world: &'w World,
    host: &'w Host,
    begun: Option<Child>,
    /// What it last reported of its identity.
    known: RefCell<HostIdentity>,
    /// The process that was found running.
    found: String,
    signer: Signer,
}

impl<'w> RealHost<'w> {
    /// Puts the host program on a host.
    ///
    /// # Errors
    /// The program is not built, or the host is off.
    pub fn prepare(world: &'w World, name: &str) -> Result<Self> {
        let host = world.host(name)?;
        host.write(PROGRAM, fs::read(Programs::find()?.host)?)?;
        // Not all disks of the machine: hosts of other runs may be about to lose what they have not synced.
        host.sh(&format!("chmod 755 {PROGRAM} && sync {PROGRAM}"))?;
        let (known, found) = (RefCell::new(nothing()), String::new());
        Ok(Self { world, host, begun: None, known, found, signer: Signer::new()? })
    }

    fn request(&self, order: &Order) -> Result<String> {
        let fence = Fence {
            cluster: CLUSTER.to_owned(),
            machine: Uid(order.machine()),
            machine_name: format!("machine-{}", order.machine()),
            epoch: Epoch(order.epoch),
            sequence: order.sequence,
        };
        let apply = |id: OperationId, change| {
            Command::Apply(Box::new(Operation { id, generation: 1, component: "webd".to_owned(), change }))
        };
        let command = match &order.verb {
            Verb::Facts => Command::Facts,
            Verb::Disown => Command::Disown,
            Verb::Reset(seen) => Command::ResetFences(*seen),
            Verb::Status(id) => Command::Status(*id),
            Verb::Confirm(id) => Command::Confirm(*id),
            Verb::Request(again) => {
                let replaces =
                    self.known.borrow().certificate.as_ref().filter(|_| *again).map(|known| known.key);
                Command::RequestCertificate(CertificateRequest { path: PATH.into(), replaces })
            }
            Verb::Certify(offer) => {
                let certificate = self.offered(*offer)?.into();
                Command::InstallCertificate(CertificateFile { path: PATH.into(), certificate })
            }
            Verb::Remove(id) => apply(*id, Change::Remove),
            Verb::Fetch(version) => {
                let artefact = self.release(version)?.recipe.artefact.context("it has an artefact")?;
                Command::Fetch(Box::new(artefact))
            }
            Verb::Install(id, version) => apply(*id, Change::Install(Box::new(self.release(version)?))),
        };
        Ok(serde_json::to_string(&Request { protocol: PROTOCOL, fence, command })?)
    }

    /// What the signer makes of the key that waits.
    fn offered(&self, offer: Offer) -> Result<String> {
        let known = self.known.borrow();
        let own = known.pending.as_ref().map_or("", |pending| &pending.request);
        match offer {
            Offer::Garbage => Ok("garbage".to_owned()),
            Offer::Wanted if !own.is_empty() => self.signer.sign(own),
            // Without a request there is no key that a certificate could be for.
            Offer::Wanted | Offer::OtherKey => {
                self.signer.issue("machine-1").map(|(certificate, _)| certificate)
            }
            Offer::OtherNode => self.signer.sign_for(own, "another"),
        }
    }

    /// Puts the identity of another node where ours belongs.
    fn identify(&self) -> Result<()> {
        let (certificate, key) = self.signer.issue("another")?;
        self.host.sh("mkdir -p /var/lib/kubelet/pki && chmod 755 /var/lib/kubelet /var/lib/kubelet/pki")?;
        self.host.write(PATH, certificate + &key)
    }

    /// Somebody else has installed a release.
    fn place(&mut self, version: &str, state: FoundState) -> Result<()> {
        let id = OperationId { epoch: Epoch(1), sequence: 1 };
        let verb = Verb::Install(id, version.to_owned());
        let order = Order { is_strange: true, epoch: 1, sequence: 1, verb };
        if releases::find(version)?.1.reboots {
            self.reboots(&order)?;
        } else {
            self.order(&order)?;
        }
        self.host.sh(DISGUISE)?;
        match state {
            FoundState::Running => {}
            FoundState::Stopped => drop(self.host.sh("systemctl stop webd.service")?),
            FoundState::Altered => {
                drop(self.host.sh("echo '# his own' >> /etc/systemd/system/webd.service")?)
            }
        }
        self.found = self.host.sh(PID)?;
        ensure!(
            (self.found.trim() == "0") == (state == FoundState::Stopped),
            "it is not as it was to be found"
        );
        Ok(())
    }

    /// Whether what was found running still does.
    fn runs(&self) -> Result<String> {
        let pid = self.host.sh(PID)?;
        let runs = match pid.trim() {
            "0" => "not at all",
            _ if pid == self.found => "as it did",
            _ => "anew",
        };
        Ok(runs.to_owned())
    }

    fn release(&self, version: &str) -> Result<wire::Release> {
        let (_, release) = releases::find(version)?;
        let health = if release.fault == Fault::Sick { Health::Sick } else { Health::Healthy };
        let published = self.world.artefacts().publish_webd(version, health)?;
        let sha256 = match release.fault {
            Fault::WrongDigest => Digest::of(b"another"),
            Fault::None | Fault::Sick | Fault::Missing | Fault::Unfit | Fault::Sticky => {
                Digest::parse(&published.sha256).context("a digest has 64 digits")?
            }
        };
        let suffix = if release.fault == Fault::Missing { ".absent" } else { "" };
        let recipe = Recipe {
            version: version.to_owned(),
            artefact: Some(Artefact {
                architecture: architecture()?,
                url: published.url + suffix,
                sha256,
                format: ArtefactFormat::TarGz,
            }),
            content: content(release),
            parameters: Arc::default(),
            machine_parameters: BTreeMap::new(),
            facts: BTreeMap::new(),
        };
        Ok(wire::Release { id: recipe.release_id(), version_name: format!("webd-{version}"), recipe })
    }

    fn program(&self) -> Result<Process> {
        let mut command = self.host.command(PROGRAM)?;
        command.args(["apply", "-"]);
        Ok(command)
    }

    fn order(&self, order: &Order) -> Result<String> {
        let output = output(&mut self.program()?, self.request(order)?.as_bytes())?;
        self.told(&output.stdout).with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn told(&self, reply: &[u8]) -> Result<String> {
        let reply: Reply = serde_json::from_slice(reply).context("no reply")?;
        if let Answer::Done(facts) = &reply.answer
            && let Some(OperationState::Failed(cause)) =
                facts.operation.as_ref().map(|operation| &operation.state)
        {
            eprintln!("the operation failed: {:?}: {}", cause.kind, cause.detail);
        }
        let told = match reply.answer {
            Answer::Refused(cause) => Told::Refused(cause.kind),
            Answer::Later(cause) => Told::Later(cause.kind),
            Answer::Pending => Told::Pending,
            Answer::Done(facts) => {
                self.known.replace(facts.identity.clone().unwrap_or_else(nothing));
                Told::Done(report(&facts))
            }
        };
        Ok(told.summary(self.seen()?))
    }

    /// The latest order that the host remembers.
    fn seen(&self) -> Result<(u32, u64)> {
        if self.host.sh("test -e /opt/seaworthy/state/memory.json && echo yes || true")?.is_empty() {
            return Ok((0, 0));
        }
        let memory = self.host.memory()?;
        let mark = &memory["marks"][CLUSTER];
        let epoch = u32::try_from(mark["epoch"].as_u64().unwrap_or_default())?;
        Ok((epoch, mark["sequence"].as_u64().unwrap_or_default()))
    }

    /// Gives an order without waiting for its answer.
    fn give(&self, order: &Order) -> Result<Child> {
        use std::io::Write as _;
        let mut command = self.program()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start the host program")?;
        let mut input = child.stdin.take().context("a pipe")?;
        input.write_all(self.request(order)?.as_bytes())?;
        Ok(child)
    }

    /// Waits until the journal of an operation has come to a step.
    fn comes_to(&self, id: OperationId, step: &str) -> Result<()> {
        eventually(format!("{id} at {step}"), PATIENCE, || {
            let operations = self.host.operations()?;
            let journal = operations.iter().find(|operation| operation.id == id.to_string());
            let last = journal.and_then(|journal| journal.lines.last()).context("no journal")?;
            ensure!(last.step == step, "it is at {}", last.step);
            Ok(())
        })
    }

    fn hold(&self, what: &str) -> Result<()> {
        self.host.sh(&format!("touch /run/hold-{what}")).map(drop)
    }

    /// Brings an operation to a step where it stays.
    fn stop_at(&self, id: OperationId, step: &str, order: &Order) -> Result<Child> {
        match step {
            "started" => self.world.artefacts().set_pace(Pace::Stalled)?,
            "swapped" => self.hold("start")?,
            "restarted" => self.hold("probe")?,
            "removing" => self.hold("stop")?,
            "staged" => self.hold("preflight")?,
            "stopped" => self.hold("clean")?,
            "restoring" | "confirming" => {}
            other => bail!("no step at which the script can strike: {other:?}"),
        }
        let child = self.give(order)?;
        if step == "restoring" {
            self.comes_to(id, "restarted")?;
            self.hold("stop")?;
        }
        self.comes_to(id, step)?;
        Ok(child)
    }

    fn strike(&self, is_power: bool, step: &str, order: &Order) -> Result<()> {
        let id = order.operation()?;
        let mut child = self.stop_at(id, step, order)?;
        if is_power {
            let before = self.host.boot_id()?;
            self.host.power_off()?;
            self.world.artefacts().set_pace(Pace::Full)?;
            self.host.power_on()?;
            ensure!(self.host.boot_id()? != before, "the host was not rebooted");
        } else {
            self.host.sh(&format!("systemctl kill --kill-who=all --signal=KILL seaworthy-{id}.service"))?;
            self.host.sh("rm -f /run/hold-*")?;
            self.world.artefacts().set_pace(Pace::Full)?;
            // Anybody who asks wakes it, also who has nothing to say here.
            let nobody = Order { is_strange: true, epoch: 99, sequence: 99, verb: Verb::Facts };
            eventually("end of the killed program", PATIENCE, || {
                ensure!(child.try_wait()?.is_some(), "the order waits");
                Ok(())
            })?;
            self.order(&nobody)?;
        }
        child.wait()?;
        self.comes_to(id, "ended")
    }

    /// Waits until an operation that starts the host anew has ended, and tells how often it did, by its journal and by the id
    /// of the boot.
    fn reboots(&self, order: &Order) -> Result<String> {
        let (id, before) = (order.operation()?, self.host.boot_id()?);
        self.give(order)?.wait()?;
        self.comes_to(id, "ended")?;
        let operations = self.host.operations()?;
        let journal = operations.iter().find(|operation| operation.id == id.to_string());
        let times = journal.context("no journal")?.count("rebooted");
        ensure!((self.host.boot_id()? != before) == (times > 0), "the id of the boot tells another story");
        Ok(format!("rebooted {times}"))
    }

    fn spoil(&self, spoiled: Spoiled) -> Result<()> {
        let line = match spoiled {
            Spoiled::Files => "echo '# by hand' >> /opt/seaworthy/current/webd/etc/webd.conf",
            Spoiled::Links => "rm /usr/local/bin/webd",
            Spoiled::Unit => "systemctl stop webd.service",
        };
        self.host.sh(line).map(drop)
    }
}

impl HostPart for RealHost<'_> {
    const NAME: &'static str = "real host";

    fn reset(&mut self) -> Result<()> {
        self.world.artefacts().set_pace(Pace::Full)?;
        self.known.replace(nothing());
        self.host.sh(RESET).map(drop)
    }

    #[expect(private_interfaces, reason = "only hosts of this crate play")]
    fn perform(&mut self, action: &Action) -> Result<String> {
        match action {
            Action::Order(order) => return self.order(order),
            Action::Begin(order) => self.begun = Some(self.stop_at(order.operation()?, "started", order)?),
            Action::Finish => {
                self.world.artefacts().set_pace(Pace::Full)?;
                let child = self.begun.take().context("nothing was begun")?;
                return self.told(&child.wait_with_output()?.stdout);
            }
            Action::Reboot(order) => return self.reboots(order),
            Action::Lapse(id) => self.comes_to(*id, "ended")?,
            Action::Left => {
                let line = format!(
                    "if test -e {LEFT} || grep -q {LEFT} /proc/mounts; then echo left; else echo nothing; fi"
                );
                return Ok(self.host.sh(&line)?.trim().to_owned());
            }
            Action::Identify => self.identify()?,
            Action::Found(version, state) => self.place(version, *state)?,
            Action::Runs => return self.runs(),
            Action::Spoil(spoiled) => self.spoil(*spoiled)?,
            Action::Strike { is_power, at, order } => self.strike(*is_power, at, order)?,
        }
        Ok(String::new())
    }
}

fn report(facts: &wire::Facts) -> Report {
    let webd = facts.components.iter().find(|component| component.name == "webd");
    let operation = facts.operation.as_ref().map(|operation| {
        let state = match &operation.state {
            OperationState::Failed(cause) => format!("{:?}", cause.kind),
            state @ (OperationState::Running
            | OperationState::Unconfirmed
            | OperationState::Interrupted
            | OperationState::Succeeded) => format!("{state:?}"),
        };
        (operation.id, state)
    });
    let own = |certificate: &Certificate| certificate.is_of_node("machine-1");
    let told = |known: &HostIdentity| identity(known.certificate.as_ref().map(own), known.pending.is_some());
    Report {
        identity: facts.identity.as_ref().map(told),
        owner: whose(facts.owner.as_ref().map(|owner| owner.machine.0)),
        epoch: facts.epoch.0,
        installed: webd.map(|webd| (webd.version_name.trim_start_matches("webd-").to_owned(), webd.drift)),
        operation,
    }
}

fn nothing() -> HostIdentity {
    HostIdentity { path: PATH.into(), certificate: None, pending: None }
}

fn content(release: &releases::Release) -> Content {
    let shell = |script: &str| Invocation {
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        timeout_seconds: 60,
    };
    let verdict = |fault| if release.fault == fault { "exit 7" } else { "true" };
    let held = |what: &str, fault| {
        shell(&format!("while test -e /run/hold-{what}; do sleep 0.1; done; {}", verdict(fault)))
    };
    let removal = Removal {
        before_stop: vec![shell("systemctl is-active webd.service")],
        after_stop: vec![held("clean", Fault::Sticky), shell("! systemctl is-active webd.service")],
        paths: vec![LEFT.to_owned()],
    };
    let careful = release.is_careful;
    Content {
        files: vec![ConfigFile {
            path: "etc/webd.conf".to_owned(),
            template: "listen = :8000\ngreeting = ahoy\n".to_owned(),
            mode: 0o644,
        }],
        links: vec![Link { path: "/usr/local/bin/webd".to_owned(), target: "bin/webd".to_owned() }],
        unit: Some(Unit {
            name: "webd.service".to_owned(),
            template: if careful { format!("{FILLS}{UNIT}") } else { UNIT.to_owned() },
            executable: Some("bin/webd".to_owned()),
        }),
        probe: Some(Probe {
            check: ProbeCheck::Exec { command: ["/bin/bash", "-c", PROBE].map(str::to_owned).to_vec() },
            period_seconds: 1,
            timeout_seconds: 2,
            success_threshold: 1,
            deadline_seconds: 6,
        }),
        facts: Vec::new(),
        rollback: if release.is_unsafe { Rollback::Unsafe } else { Rollback::Safe },
        reboot: release.reboots,
        less_than_restart: None,
        confirm: (release.confirm > 0).then(|| Confirm { within_seconds: release.confirm.into() }),
        preflight: careful.then(|| held("preflight", Fault::Unfit)),
        removal: careful.then_some(removal),
    }
}

fn architecture() -> Result<Architecture> {
    Ok(match std::env::consts::ARCH {
        "x86_64" => Architecture::Amd64,
        "aarch64" => Architecture::Arm64,
        other => bail!("hosts of architecture {other} are not supported"),
    })
}
