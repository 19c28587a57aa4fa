//! The modelled host.

use anyhow::{Context, Result, bail, ensure};
use seaworthy_fleet::vocabulary::{FoundState, Pace, Step};
use seaworthy_fleet::world::host::{
    Answer, Change, Command, ComponentNumber, Ended, Found, Host, Install, KeyNumber, NodeCertificate,
    Offered, Order as ModelOrder, Progress, ReleaseNumber, Report as ModelReport, Setting, TextNumber,
    VersionNumber, Wanted, Work,
};
use seaworthy_kernel::{Draws, Seed, Share};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Architecture, Rollback};
use seaworthy_model::host::{Drift, HostFence, OperationId};
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;
use seaworthy_model::time::Timestamp;

use super::host::{HostPart, Report, Told, identity, whose};
use super::host_script::{Action, Offer, Order, Verb};
use super::releases::{self, Fault};

const DRAWS: Draws = Draws::new(Seed(1));
const WEBD: ComponentNumber = ComponentNumber(0);
const PATH: TextNumber = TextNumber(0);
const FOREIGN: TextNumber = TextNumber(9);

/// The model.
#[derive(Debug)]
pub struct HostModel {
    host: Host,
    failures: Vec<Option<(CauseKind, Share)>>,
    pace: Pace,
    begun: Option<Order>,
    /// How often the service was started or stopped.
    starts: u32,
}

impl HostModel {
    /// A host that was never worked on.
    #[must_use]
    pub fn new() -> Self {
        let failures = releases::ALL
            .iter()
            .map(|release| {
                let cause = match release.fault {
                    Fault::None => return None,
                    Fault::Sick => CauseKind::ProbeFailed,
                    Fault::WrongDigest => CauseKind::DigestMismatch,
                    Fault::Missing => CauseKind::DownloadFailed,
                    Fault::Unfit => CauseKind::PreflightFailed,
                    Fault::Sticky => CauseKind::RemovalFailed,
                };
                Some((cause, Share::ALL))
            })
            .collect();
        Self { host: fresh(), failures, pace: Pace::default(), begun: None, starts: 0 }
    }

    fn receive(&mut self, order: &Order) -> Result<Answer> {
        let fence =
            HostFence { machine: Uid(order.machine()), epoch: Epoch(order.epoch), sequence: order.sequence };
        let command = match &order.verb {
            Verb::Facts => Command::Facts,
            Verb::Disown => Command::Disown,
            Verb::Reset(seen) => Command::ResetFences(*seen),
            Verb::Status(id) => Command::Status(*id),
            Verb::Confirm(id) => Command::Confirm(*id),
            Verb::Request(again) => {
                let present = self.host.node().and_then(|node| node.certificate_at(PATH));
                let replaces = present.filter(|_| *again).map(|present| present.key);
                Command::RequestCertificate(Wanted { path: PATH, node: name(order), replaces })
            }
            Verb::Certify(offer) => {
                let certificate = self.offered(*offer, name(order));
                Command::InstallCertificate(Offered { path: PATH, node: name(order), certificate })
            }
            Verb::Remove(id) => {
                Command::Apply(Work { id: *id, generation: 1, component: WEBD, change: Change::Remove })
            }
            Verb::Fetch(version) => Command::Fetch(VersionNumber(u32::try_from(releases::find(version)?.0)?)),
            Verb::Install(id, version) => {
                let (number, release) = releases::find(version)?;
                let number = u32::try_from(number)?;
                let change = Change::Install(Install {
                    version: VersionNumber(number),
                    release: ReleaseNumber(number),
                    has_preflight: release.is_careful,
                    has_removal: release.is_careful,
                    reboots: release.reboots,
                    service: None,
                    less_than_restart: None,
                    confirm: release.confirm,
                    rollback: if release.is_unsafe { Rollback::Unsafe } else { Rollback::Safe },
                    probe: 1,
                    probe_deadline: 60,
                });
                Command::Apply(Work { id: *id, generation: 1, component: WEBD, change })
            }
        };
        let (host, setting) = self.parts();
        Ok(host.receive(&ModelOrder { fence, command }, 0, &setting))
    }

    /// What the signer makes of the key that waits.
    fn offered(&self, offer: Offer, node: TextNumber) -> Option<NodeCertificate> {
        let (_, key) = self.host.node()?.pending()?;
        let right = certificate(node, key);
        match offer {
            Offer::Wanted => Some(right),
            Offer::OtherKey => Some(certificate(node, KeyNumber(1))),
            Offer::OtherNode => Some(certificate(FOREIGN, key)),
            Offer::Garbage => None,
        }
    }

    /// Whether what was found running still does.
    fn runs(&self) -> &'static str {
        let found = self.host.found_of(WEBD).map(|found| found.state);
        let installed = self.host.installed_of(WEBD);
        match (installed, found) {
            (Some(installed), _) if installed.drift.contains(Drift::NOT_RUNNING) => "not at all",
            (Some(_), _) if self.starts > 0 => "anew",
            (Some(_), _) | (None, Some(FoundState::Running | FoundState::Altered)) => "as it did",
            (None, Some(FoundState::Stopped) | None) => "not at all",
        }
    }

    /// One step on.
    fn advance(&mut self) -> Result<()> {
        let (host, setting) = self.parts();
        let (run, step) =
            host.running().map(|running| (running.run, running.step)).context("nothing is done")?;
        host.advance(run, &setting).context("the model does not go on")?;
        self.starts += u32::from(matches!(step, Step::Restart | Step::Recover | Step::Stop));
        Ok(())
    }

    fn parts(&mut self) -> (&mut Host, Setting<'_>) {
        let setting = Setting {
            draws: &DRAWS,
            number: 0,
            pace: &self.pace,
            failures: &self.failures,
            has_room: true,
            downloads: true,
        };
        (&mut self.host, setting)
    }

    /// Goes on until the operation ends, or is about to take this step.
    fn go_on(&mut self, until: Option<Step>) -> Result<()> {
        while let Some(running) = self.host.running() {
            if until == Some(running.step) {
                return Ok(());
            }
            self.advance()?;
        }
        ensure!(until.is_none(), "the operation never comes to {until:?}");
        Ok(())
    }

    /// Runs until the operation ends, and returns how often it rebooted the host.
    fn reboots(&mut self, order: &Order) -> Result<String> {
        ensure!(matches!(self.receive(order)?, Answer::Begun(_)), "it does not begin");
        let before = self.host.reboots();
        loop {
            let (host, setting) = self.parts();
            let Some(running) = host.running() else { break };
            if running.step == Step::Reboot {
                ensure!(host.power_off() && host.power_on(), "it is off");
                host.recover(&setting).context("it forgets the operation")?;
            } else {
                self.advance()?;
            }
        }
        Ok(format!("rebooted {}", self.host.reboots() - before))
    }

    fn ordered(&mut self, order: &Order) -> Result<String> {
        let told = match self.receive(order)? {
            Answer::Facts(report) => Told::Done(self.report(report)),
            Answer::Refused(cause) => Told::Refused(cause),
            Answer::Later(cause) => Told::Later(cause),
            Answer::Begun(_) => {
                self.go_on_alone()?;
                match self.host.latest().filter(|report| report.waits) {
                    Some(report) => Told::Done(self.report(Some(report))),
                    None => self.ended(order.operation()?)?,
                }
            }
            Answer::Confirmed(_) => {
                let id = self.host.running().context("nothing is confirmed")?.work.id;
                self.go_on(None)?;
                self.ended(id)?
            }
            Answer::Attached => bail!("the script attaches to nothing"),
            Answer::Fetching { number, .. } => {
                let (host, setting) = self.parts();
                let fetched = host.end_fetch(number, &setting).context("the fetch is cut short")?;
                match fetched.failed {
                    Some(cause) => Told::Later(cause),
                    None => Told::Done(self.report(self.host.latest())),
                }
            }
        };
        Ok(told.summary((self.host.epoch().0, self.host.sequence())))
    }

    /// Goes on until the operation ends, or waits to be confirmed.
    fn go_on_alone(&mut self) -> Result<()> {
        while self.host.running().is_some_and(|running| running.step != Step::Confirm) {
            self.advance()?;
        }
        Ok(())
    }

    /// What an order is answered whose operation has ended.
    fn ended(&self, id: OperationId) -> Result<Told> {
        Ok(match self.host.ended(id).context("it has not ended")? {
            Ended::Succeeded => Told::Done(self.report(self.host.report(id))),
            Ended::Failed(cause) => Told::Refused(cause),
            Ended::Interrupted => Told::Later(CauseKind::HostFailed),
        })
    }

    fn report(&self, operation: Option<ModelReport>) -> Report {
        let installed = self.host.installed_of(WEBD).map(|installed| {
            let version =
                releases::ALL.get(installed.version.0 as usize).map_or("?", |release| release.version);
            (version.to_owned(), installed.drift)
        });
        let operation = operation.map(|report| {
            let state = match report.ended {
                None if report.waits => "Unconfirmed".to_owned(),
                None => "Running".to_owned(),
                Some(Ended::Succeeded) => "Succeeded".to_owned(),
                Some(Ended::Interrupted) => "Interrupted".to_owned(),
                Some(Ended::Failed(cause)) => format!("{cause:?}"),
            };
            (report.operation.id, state)
        });
        let node = self.host.node().filter(|node| node.path().is_some());
        let identity = node.map(|node| {
            let certificate = node.certificate_at(PATH);
            identity(certificate.map(|found| found.node != FOREIGN), node.pending().is_some())
        });
        Report {
            identity,
            owner: whose(self.host.owner().map(|uid| uid.0)),
            epoch: self.host.epoch().0,
            installed,
            operation,
        }
    }
}

impl Default for HostModel {
    fn default() -> Self {
        Self::new()
    }
}

impl HostPart for HostModel {
    const NAME: &'static str = "model";

    fn reset(&mut self) -> Result<()> {
        self.host = fresh();
        self.begun = None;
        self.starts = 0;
        Ok(())
    }

    #[expect(private_interfaces, reason = "only hosts of this crate play")]
    fn perform(&mut self, action: &Action) -> Result<String> {
        match action {
            Action::Order(order) => return self.ordered(order),
            Action::Begin(order) => {
                ensure!(matches!(self.receive(order)?, Answer::Begun(_)), "it does not begin");
                self.go_on(Some(Step::Download))?;
                self.begun = Some(order.clone());
            }
            Action::Finish => {
                let order = self.begun.take().context("nothing was begun")?;
                self.go_on(None)?;
                return Ok(self
                    .ended(order.operation()?)?
                    .summary((self.host.epoch().0, self.host.sequence())));
            }
            Action::Reboot(order) => return self.reboots(order),
            Action::Lapse(id) => {
                let waits =
                    self.host.latest().is_some_and(|report| report.waits && report.operation.id == *id);
                ensure!(waits, "it does not wait");
                self.go_on(None)?;
            }
            Action::Left => {
                let left = self.host.installed_of(WEBD).is_some_and(|installed| installed.has_removal);
                return Ok(if left { "left" } else { "nothing" }.to_owned());
            }
            Action::Identify => self.host.place_certificate(PATH, certificate(FOREIGN, KeyNumber(2))),
            Action::Found(version, state) => {
                let version = VersionNumber(u32::try_from(releases::find(version)?.0)?);
                self.host.place(Found { component: WEBD, version, state: *state });
            }
            Action::Runs => return Ok(self.runs().to_owned()),
            Action::Spoil(spoiled) => ensure!(self.host.spoil(0, spoiled.drift()), "nothing to spoil"),
            Action::Strike { is_power, at, order } => {
                ensure!(matches!(self.receive(order)?, Answer::Begun(_)), "it does not begin");
                self.go_on(Some(step(at)?))?;
                if *is_power {
                    self.host.power_off();
                    self.host.power_on();
                }
                let (host, setting) = self.parts();
                if let Some(Progress::Next(..)) = host.recover(&setting) {
                    self.go_on(None)?;
                }
            }
        }
        Ok(String::new())
    }
}

/// The name of the node that an order is about.
fn name(order: &Order) -> TextNumber {
    TextNumber(u32::try_from(order.machine()).unwrap_or(u32::MAX))
}

const fn certificate(node: TextNumber, key: KeyNumber) -> NodeCertificate {
    let (not_before, not_after) = (Timestamp::ZERO, Timestamp::MAX);
    NodeCertificate { key, node, authority: KeyNumber(3), not_before, not_after }
}

fn fresh() -> Host {
    Host::new(HostId(7), Architecture::Amd64)
}

/// The step that the model is taking when the last line of the real journal is this one.
fn step(journal: &str) -> Result<Step> {
    Ok(match journal {
        "started" => Step::Download,
        "swapped" => Step::Restart,
        "restarted" => Step::Probe,
        "restoring" => Step::Restore,
        "removing" => Step::Stop,
        "staged" => Step::Preflight,
        "stopped" => Step::Clean,
        "confirming" => Step::Confirm,
        other => bail!("no step at which the script can strike: {other:?}"),
    })
}
