//! One operation on a host, from the lock to the journal.

use std::time::Duration;

use seaworthy_kernel::{Draws, Share, word};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::host::Drift;

use super::running::{Met, Running, Sessions};
use super::work::{Change, Install, Work};
use super::{ComponentNumber, Ended, Host, Installed, VersionNumber};
use crate::vocabulary::{Pace, Step};

/// The setting of a host: what the world decides about its speed and failures.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The draws of the run.
    pub draws: &'a Draws,
    /// The host's number.
    pub number: u32,
    /// How long steps take.
    pub pace: &'a Pace,
    /// For each version by its number: why it fails, and on what share of the hosts.
    pub failures: &'a [Option<(CauseKind, Share)>],
    /// Whether there is room on its disk.
    pub has_room: bool,
    /// Whether artefacts can be downloaded.
    pub downloads: bool,
}

impl Setting<'_> {
    /// Why a version fails on this host, if it does.
    pub fn failure(&self, version: VersionNumber) -> Option<CauseKind> {
        let (cause, share) = (*self.failures.get(version.0 as usize)?)?;
        let owner = u64::from(self.number);
        self.draws.chance(word("release fails"), owner, u64::from(version.0), share).then_some(cause)
    }
}

/// What follows a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The next step, which ends after so long.
    Next(Step, Duration),
    /// The operation has ended.
    Ended {
        /// Which.
        work: Work,
        /// How.
        ended: Ended,
        /// The sessions that wait for it.
        sessions: Vec<u32>,
    },
}

impl Host {
    /// Begins `work`. The first step ends after the returned time.
    pub(super) fn begin(&mut self, work: Work, session: u32, setting: &Setting<'_>) -> Duration {
        self.runs += 1;
        let previous = self.installed_of(work.component).copied();
        let untouched = match work.change {
            Change::Install(install) => {
                previous.is_some_and(|present| present.release == install.release && present.drift.is_none())
            }
            Change::Remove => previous.is_none(),
        };
        let is_fetched = match work.change {
            Change::Install(install) if !untouched => self.fetched.take() == Some(install.version),
            Change::Install(_) | Change::Remove => false,
        };
        self.running = Some(Box::new(Running {
            work,
            step: Step::Lock,
            run: self.runs,
            resumed: false,
            is_orphaned: false,
            untouched,
            is_fetched,
            previous,
            met: if previous.is_some() { Met::Nothing } else { self.meets(&work) },
            failed: None,
            sessions: Sessions { first: Some(session), others: None },
        }));
        setting.pace.length(setting.draws, u64::from(setting.number), self.runs, Step::Lock)
    }

    /// Whether it carries out an order: also while it is down for a reboot of the operation, but not when it resumes by
    /// itself after a loss of power.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        let is_up = |running: &Running| self.is_on() || running.step == Step::Reboot;
        self.running().is_some_and(|running| !running.resumed && is_up(running))
    }

    /// The operation in flight, and the present version of its component.
    pub fn at_work_on(&self) -> Option<(Work, Option<VersionNumber>)> {
        let work = self.running.as_ref()?.work;
        Some((work, self.version_of(work.component)))
    }

    /// The installed version of a component.
    pub fn version_of(&self, component: ComponentNumber) -> Option<VersionNumber> {
        self.installed_of(component).map(|installed| installed.version)
    }

    /// The step of run number `run` has ended: takes its effect, and says what follows. `None` when that run is over.
    pub fn advance(&mut self, run: u32, setting: &Setting<'_>) -> Option<Progress> {
        if !self.is_on() || self.running.as_ref().is_none_or(|running| running.run != run) {
            return None;
        }
        let mut running = self.running.take()?;
        self.take_effect(&running, setting);
        match next(&mut running, setting) {
            Some(step) => {
                running.step = step;
                let length = length(&running, setting);
                self.running = Some(running);
                Some(Progress::Next(step, length))
            }
            None => {
                let ended = running.failed.map_or(Ended::Succeeded, Ended::Failed);
                self.record(running.work.operation(), ended);
                Some(Progress::Ended { work: running.work, ended, sessions: running.take_sessions() })
            }
        }
    }

    /// The host program is killed: what is under way stands still. False when nothing is under way that it could leave
    /// behind.
    pub fn kill_program(&mut self) -> bool {
        let is_on = self.is_on();
        let Some(running) = self.running.as_mut().filter(|running| is_on && !running.is_orphaned) else {
            return false;
        };
        if running.step == Step::Reboot {
            return false;
        }
        // This voids the event at the end of the step.
        self.runs += 1;
        running.run = self.runs;
        running.is_orphaned = true;
        true
    }

    /// What the host program does when an order starts it after it was killed: as after a start of the host, except
    /// that the operation still counts as ordered.
    pub fn resume(&mut self, setting: &Setting<'_>) -> Option<Progress> {
        let was_resumed = self.running.as_ref().filter(|running| running.is_orphaned)?.resumed;
        let progress = self.recover(setting);
        if let Some(running) = &mut self.running {
            running.resumed = was_resumed;
        }
        progress
    }

    /// What the host program does when the host has started: undoes or resumes what was cut short. The returned
    /// progress is that of the operation that it found.
    pub fn recover(&mut self, setting: &Setting<'_>) -> Option<Progress> {
        let mut running = self.running.take()?;
        running.is_orphaned = false;
        if !running.is_past_the_swap() {
            self.record(running.work.operation(), Ended::Interrupted);
            return Some(Progress::Ended {
                work: running.work,
                ended: Ended::Interrupted,
                sessions: Vec::new(),
            });
        }
        self.runs += 1;
        running.run = self.runs;
        // After a reboot by the operation itself, the operation counts as ordered, not as resumed.
        running.resumed |= running.step != Step::Reboot;
        if matches!(running.step, Step::Probe | Step::Confirm) {
            running.step = match running.reloads() {
                true => Step::Reload,
                false if running.takes_over() => Step::Probe,
                false => Step::Restart,
            };
        }
        if running.step == Step::Reboot {
            running.step = running.after_reboot();
        }
        let progress = Progress::Next(running.step, length(&running, setting));
        self.running = Some(running);
        Some(progress)
    }

    /// The present step of the operation under way takes another time. Returns its run, under which its end is due.
    pub fn retime(&mut self) -> Option<u32> {
        let running = self.running.as_mut()?;
        self.runs += 1;
        running.run = self.runs;
        Some(running.run)
    }

    /// The operation under way, if it waits for that, is confirmed in `session`. Its last step ends after the returned time.
    pub(super) fn confirm(&mut self, session: u32, setting: &Setting<'_>) -> Option<Duration> {
        let running = self.running.as_mut().filter(|running| running.step == Step::Confirm)?;
        // This voids the event at the end of the waiting time.
        self.runs += 1;
        running.run = self.runs;
        running.step = Step::Commit;
        running.attach(session);
        Some(length(running, setting))
    }

    fn take_effect(&mut self, running: &Running, setting: &Setting<'_>) {
        let component = running.work.component;
        // A service that is started by an operation is counted anew.
        let restarts = running.previous.filter(|_| running.reloads()).map_or(0, |previous| previous.restarts);
        match (running.step, running.work.change) {
            (Step::Swap, Change::Install(install)) => {
                let drift = if running.takes_over() || running.reloads() {
                    Drift::NONE
                } else {
                    Drift::NOT_RUNNING.with(Drift::WRONG_BINARY)
                };
                self.put(Installed { restarts, ..installed(component, &install, drift, setting) });
            }
            (Step::Restart | Step::Reload, Change::Install(install)) if !running.is_on_the_way_back() => {
                self.put(Installed { restarts, ..installed(component, &install, Drift::NONE, setting) });
            }
            (Step::Restore, _) => match running.previous {
                Some(previous) => {
                    let stops = if running.reloads() { Drift::NONE } else { Drift::NOT_RUNNING };
                    self.put(Installed { drift: restored(previous.drift).with(stops), ..previous });
                }
                None => self.take(component),
            },
            (Step::Recover | Step::Reload, _) => {
                if let Some(previous) = running.previous {
                    self.put(Installed { drift: restored(previous.drift), restarts, ..previous });
                }
            }
            (Step::Stop, _) => {
                if let Some(previous) = running.previous {
                    self.put(Installed { drift: previous.drift.with(Drift::NOT_RUNNING), ..previous });
                }
            }
            (Step::Clean, _) => {
                if let Some(previous) = running.previous {
                    let drift = previous.drift.with(Drift::NOT_RUNNING).with(Drift::LINKS);
                    self.put(Installed { drift, ..previous });
                }
            }
            (Step::Delete, _) => self.take(component),
            (Step::Commit, Change::Install(_)) if running.failed.is_none() => {
                self.take_over(component);
            }
            _ => {}
        }
    }
}

/// A release as it is on the host.
fn installed(
    component: ComponentNumber,
    install: &Install,
    drift: Drift,
    setting: &Setting<'_>,
) -> Installed {
    let Install { version, release, has_removal, reboots, service, less_than_restart, .. } = *install;
    let shuts = setting.failure(version) == Some(CauseKind::NotConfirmed);
    Installed {
        component,
        version,
        release,
        drift,
        has_removal,
        reboots,
        service,
        restarts: 0,
        less_than_restart,
        shuts,
    }
}

/// The drift after a rollback: links are right and the process is new, files stay as they were found, and a service
/// that did not run before is not started.
const fn restored(drift: Drift) -> Drift {
    Drift(drift.0 & (Drift::FILES.0 | Drift::NOT_RUNNING.0))
}

/// The step after the present one; `None` when the operation has ended.
fn next(running: &mut Running, setting: &Setting<'_>) -> Option<Step> {
    let Change::Install(install) = running.work.change else {
        return match running.step {
            Step::Lock => Some(Step::Journal),
            Step::Journal if running.untouched => Some(Step::Commit),
            Step::Journal => Some(Step::Stop),
            Step::Stop if running.previous.is_some_and(|previous| previous.has_removal) => Some(Step::Clean),
            Step::Stop => Some(Step::Delete),
            Step::Clean => {
                let present = running.previous.map(|previous| setting.failure(previous.version));
                running.failed = present.flatten().filter(|cause| *cause == CauseKind::RemovalFailed);
                Some(if running.failed.is_some() { Step::Commit } else { Step::Delete })
            }
            Step::Delete => Some(Step::Commit),
            Step::Commit
            | Step::Download
            | Step::Verify
            | Step::Stage
            | Step::Render
            | Step::Preflight
            | Step::Swap
            | Step::Reboot
            | Step::Restart
            | Step::Reload
            | Step::Probe
            | Step::Confirm
            | Step::Restore
            | Step::Recover => None,
        };
    };
    let failure = setting.failure(install.version);
    match running.step {
        Step::Lock => Some(Step::Journal),
        Step::Journal if running.untouched => Some(Step::Commit),
        Step::Journal => Some(Step::Download),
        Step::Download if !setting.downloads && !running.is_fetched => {
            running.failed = Some(CauseKind::DownloadFailed);
            Some(Step::Commit)
        }
        Step::Download | Step::Stage if !setting.has_room => {
            running.failed = Some(CauseKind::NoSpace);
            Some(Step::Commit)
        }
        Step::Download => Some(Step::Verify),
        Step::Verify => {
            running.failed = failure.filter(|cause| !is_found_out_later(*cause));
            Some(if running.failed.is_some() { Step::Commit } else { Step::Stage })
        }
        Step::Stage => Some(Step::Render),
        Step::Render if install.has_preflight => Some(Step::Preflight),
        Step::Render => Some(running.prepared()),
        Step::Preflight => {
            running.failed = failure.filter(|cause| *cause == CauseKind::PreflightFailed);
            Some(if running.failed.is_some() { Step::Commit } else { running.prepared() })
        }
        Step::Swap | Step::Restore if running.reboots() => Some(Step::Reboot),
        Step::Swap | Step::Restore if running.reloads() => Some(Step::Reload),
        Step::Reload if running.is_on_the_way_back() => Some(Step::Commit),
        Step::Swap if running.takes_over() => Some(running.started(failure, &install)),
        Step::Swap => Some(Step::Restart),
        Step::Reboot => Some(running.after_reboot()),
        Step::Restart | Step::Reload => Some(running.started(failure, &install)),
        Step::Probe => Some(after_probe(running.failed, &install)),
        Step::Confirm => {
            running.failed = Some(CauseKind::NotConfirmed);
            Some(Step::Restore)
        }
        Step::Recover => Some(Step::Commit),
        Step::Restore => Some(Step::Recover),
        Step::Stop | Step::Clean | Step::Delete | Step::Commit => None,
    }
}

/// What follows the probe of a release that fails for this cause, or does not.
fn after_probe(failed: Option<CauseKind>, install: &Install) -> Step {
    match failed {
        Some(CauseKind::ProbeFailed) => Step::Restore,
        None if install.confirm > 0 => Step::Confirm,
        Some(_) | None => Step::Commit,
    }
}

/// Whether a release with this fault can be staged.
const fn is_found_out_later(cause: CauseKind) -> bool {
    matches!(
        cause,
        CauseKind::ProbeFailed
            | CauseKind::PreflightFailed
            | CauseKind::RemovalFailed
            | CauseKind::NotConfirmed
    )
}

/// How long the present step takes.
fn length(running: &Running, setting: &Setting<'_>) -> Duration {
    let drawn = setting.pace.length(setting.draws, u64::from(setting.number), running.run, running.step);
    match (running.step, running.work.change) {
        (Step::Probe, Change::Install(install)) if running.failed.is_some() => {
            Duration::from_secs(install.probe_deadline.into())
        }
        (Step::Probe, Change::Install(install)) => Duration::from_secs(install.probe.into()) + drawn,
        (Step::Confirm, Change::Install(install)) => Duration::from_secs(install.confirm.into()),
        _ => drawn,
    }
}
