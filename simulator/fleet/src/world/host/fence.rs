//! The fence: which orders a host accepts, by owner, epoch and sequence.

use std::time::Duration;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::host::{HostFence, OperationId};
use seaworthy_model::lease::Epoch;

use super::{Ended, Host, Offered, Operation, Running, Setting, VersionNumber, Wanted, Work};
use crate::vocabulary::Step;

/// An order as it reaches a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The owner, the epoch and the sequence number of the order.
    pub fence: HostFence,
    /// What to do.
    pub command: Command,
}

/// The commands of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Report.
    Facts,
    /// Report, with the status of an operation.
    Status(OperationId),
    /// Perform an operation.
    Apply(Work),
    /// Forget the owner.
    Disown,
    /// Make a key for the node's certificate, unless one is pending.
    RequestCertificate(Wanted),
    /// Install a certificate.
    InstallCertificate(Offered),
    /// Confirm an operation.
    Confirm(OperationId),
    /// Forget the fences, if this is their epoch.
    ResetFences(Epoch),
    /// Fetch the artefact of a version.
    Fetch(VersionNumber),
}

/// The report of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which.
    pub operation: Operation,
    /// How it ended; `None` while it is under way.
    pub ended: Option<Ended>,
    /// Whether it waits for a confirmation.
    pub waits: bool,
}

/// The answer of a host to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done: facts with this operation in them.
    Facts(Option<Report>),
    /// The operation has begun; its first step ends after this time. The host reports its end later.
    Begun(Duration),
    /// The operation is already in flight. The host reports its end later.
    Attached,
    /// The operation is confirmed; its last step ends after this time. The host reports its end later.
    Confirmed(Duration),
    /// It fetches an artefact, and is done after this time. The host reports the end later.
    Fetching {
        /// Which fetch of the host this is.
        number: u32,
        /// How long it takes.
        length: Duration,
    },
    /// Refused.
    Refused(CauseKind),
    /// Refused for now; a retry may succeed.
    Later(CauseKind),
}

/// The decision of the fence about an order.
enum Standing {
    /// The order is accepted and remembered.
    Accepted,
    /// The order may be answered, but the fence does not move.
    ReadOnly,
    Refused(CauseKind),
}

impl Host {
    /// Receives an order that came in `session`.
    pub fn receive(&mut self, order: &Order, session: u32, setting: &Setting<'_>) -> Answer {
        // First of all, as the real host program completes an unfinished operation before it forgets its owner.
        if is_alone(&order.command) && self.running.is_some() {
            return Answer::Later(CauseKind::HostBusy);
        }
        let reads = self.is_read(&order.command);
        let is_new = match self.standing(order, reads) {
            Standing::Refused(cause) => return Answer::Refused(cause),
            Standing::Accepted => true,
            Standing::ReadOnly => false,
        };
        // Of orders that read as well, also before anybody owned it: a late order of an older operator must not claim
        // it behind the back of the one that read.
        if is_new && reads {
            self.remember(order.fence, None);
        }
        match order.command {
            Command::Facts => Answer::Facts(self.latest()),
            Command::Status(id) => Answer::Facts(self.report(id)),
            Command::Disown => {
                self.disown(order.fence, is_new);
                Answer::Facts(self.latest())
            }
            Command::ResetFences(_) => {
                self.remember(order.fence, None);
                self.forget_operations();
                Answer::Facts(None)
            }
            Command::RequestCertificate(wanted) => {
                if is_new && !reads {
                    self.claim(order.fence);
                }
                if is_new {
                    self.want_certificate(&wanted);
                }
                Answer::Facts(self.latest())
            }
            Command::InstallCertificate(Offered { path, node, certificate }) => {
                match self.takes_certificate((path, node), certificate) {
                    Err(cause) => Answer::Refused(cause),
                    Ok(certificate) => {
                        self.claim(order.fence);
                        self.put_certificate(path, certificate);
                        Answer::Facts(self.latest())
                    }
                }
            }
            Command::Confirm(id) => {
                if is_new {
                    self.remember(order.fence, Some(id));
                }
                self.take_confirmation(id, session, setting)
            }
            Command::Fetch(version) => {
                if is_new {
                    self.remember(order.fence, None);
                }
                self.fetch(version, session, setting)
            }
            Command::Apply(work) => {
                if self.running.is_some() && !self.knows(work.id) {
                    // A refused order is not remembered either.
                    return Answer::Later(CauseKind::HostBusy);
                }
                let number = OperationId { epoch: order.fence.epoch, sequence: order.fence.sequence };
                if work.id != number && !self.knows(work.id) {
                    return Answer::Refused(CauseKind::OperationInvalid);
                }
                if is_new {
                    self.remember(order.fence, Some(work.id));
                }
                self.owner = Some(order.fence.machine);
                self.apply(work, session, setting)
            }
        }
    }

    /// It belongs to nobody from now on.
    fn disown(&mut self, fence: HostFence, is_new: bool) {
        if is_new {
            self.remember(fence, None);
        }
        self.remove_identity();
        self.fetched = None;
        self.owner = None;
    }

    fn remember(&mut self, fence: HostFence, operation: Option<OperationId>) {
        self.epoch = fence.epoch;
        self.sequence = fence.sequence;
        self.operation = operation;
    }

    fn claim(&mut self, fence: HostFence) {
        self.remember(fence, None);
        self.owner = Some(fence.machine);
    }

    /// Whether an order changes nothing but the fence.
    fn is_read(&self, command: &Command) -> bool {
        match command {
            Command::Facts | Command::Status(_) => true,
            Command::RequestCertificate(wanted) => self.is_identified(wanted),
            Command::Apply(_)
            | Command::Disown
            | Command::InstallCertificate(_)
            | Command::Confirm(_)
            | Command::Fetch(_)
            | Command::ResetFences(_) => false,
        }
    }

    fn take_confirmation(&mut self, id: OperationId, session: u32, setting: &Setting<'_>) -> Answer {
        if let Some(running) = self.running.as_mut().filter(|running| running.work.id == id) {
            if running.is_decided() {
                running.attach(session);
                return Answer::Attached;
            }
            return self
                .confirm(session, setting)
                .map_or(Answer::Later(CauseKind::HostBusy), Answer::Confirmed);
        }
        match self.ended(id) {
            Some(Ended::Succeeded) => Answer::Facts(self.report(id)),
            Some(Ended::Failed(cause)) => Answer::Refused(cause),
            Some(Ended::Interrupted) => Answer::Later(CauseKind::HostFailed),
            None => Answer::Refused(CauseKind::FenceRefused),
        }
    }

    fn apply(&mut self, work: Work, session: u32, setting: &Setting<'_>) -> Answer {
        if let Some(running) = self.running.as_mut().filter(|running| running.work.id == work.id) {
            if running.step == Step::Confirm {
                return Answer::Facts(self.report(work.id));
            }
            running.attach(session);
            return Answer::Attached;
        }
        match self.ended(work.id) {
            Some(Ended::Succeeded) => Answer::Facts(self.report(work.id)),
            Some(Ended::Failed(cause)) => Answer::Refused(cause),
            Some(Ended::Interrupted) => Answer::Later(CauseKind::HostFailed),
            None => Answer::Begun(self.begin(work, session, setting)),
        }
    }

    /// A host answers every reader. It obeys only its owner (or any operator while it has none), and never an operator
    /// with an older epoch than it has seen.
    fn standing(&self, order: &Order, reads: bool) -> Standing {
        let fence = order.fence;
        if self.owner.is_some_and(|owner| owner != fence.machine) {
            return if reads { Standing::ReadOnly } else { Standing::Refused(CauseKind::OwnedByAnother) };
        }
        if let Command::ResetFences(named) = order.command {
            let is_meant = named == self.epoch && fence.epoch < named;
            return if is_meant { Standing::Accepted } else { Standing::Refused(CauseKind::FenceRefused) };
        }
        if fence.epoch < self.epoch {
            return match order.command {
                Command::Facts => Standing::ReadOnly,
                Command::RequestCertificate(_) if reads => Standing::ReadOnly,
                Command::Status(_)
                | Command::Confirm(_)
                | Command::Apply(_)
                | Command::Disown
                | Command::ResetFences(_)
                | Command::Fetch(_)
                | Command::RequestCertificate(_)
                | Command::InstallCertificate(_) => Standing::Refused(CauseKind::FenceRefused),
            };
        }
        if matches!(order.command, Command::Confirm(_) | Command::Fetch(_)) && self.owner.is_none() {
            return Standing::Refused(CauseKind::FenceRefused);
        }
        let present = (self.epoch, self.sequence);
        let asked = (fence.epoch, fence.sequence);
        if asked > present {
            return Standing::Accepted;
        }
        if asked < present {
            return Standing::Refused(CauseKind::FenceRefused);
        }
        match order.command {
            Command::Facts | Command::Status(_) | Command::Fetch(_) => Standing::ReadOnly,
            // A repetition of the last order.
            Command::Apply(work) if self.operation == Some(work.id) => Standing::ReadOnly,
            Command::Confirm(id) if self.operation == Some(id) => Standing::ReadOnly,
            Command::Disown if self.owner.is_none() => Standing::ReadOnly,
            Command::RequestCertificate(_) if reads => Standing::ReadOnly,
            Command::Apply(_)
            | Command::Confirm(_)
            | Command::Disown
            | Command::ResetFences(_)
            | Command::RequestCertificate(_)
            | Command::InstallCertificate(_) => Standing::Refused(CauseKind::FenceRefused),
        }
    }

    fn knows(&self, id: OperationId) -> bool {
        self.report(id).is_some()
    }

    /// The end of the operation `id`, if the journal has it.
    #[must_use]
    pub fn ended(&self, id: OperationId) -> Option<Ended> {
        self.report(id)?.ended
    }

    /// The report of the operation `id`.
    #[must_use]
    pub fn report(&self, id: OperationId) -> Option<Report> {
        if let Some(running) = self.running.as_ref().filter(|running| running.work.id == id) {
            return Some(running.report());
        }
        let (operation, ended) = self.journal.iter().rev().find(|(operation, _)| operation.id == id)?;
        Some(Report { operation: *operation, ended: Some(*ended), waits: false })
    }

    /// The report of the latest operation.
    #[must_use]
    pub fn latest(&self) -> Option<Report> {
        if let Some(running) = &self.running {
            return Some(running.report());
        }
        let (operation, ended) = self.journal.last()?;
        Some(Report { operation: *operation, ended: Some(*ended), waits: false })
    }
}

/// Whether a command is not accepted beside an operation, whoever sends it.
const fn is_alone(command: &Command) -> bool {
    match command {
        Command::Disown
        | Command::RequestCertificate(_)
        | Command::InstallCertificate(_)
        | Command::Fetch(_)
        | Command::ResetFences(_) => true,
        Command::Facts | Command::Status(_) | Command::Apply(_) | Command::Confirm(_) => false,
    }
}

impl Running {
    /// The report of the running operation.
    const fn report(&self) -> Report {
        let waits = matches!(self.step, Step::Confirm);
        Report { operation: self.work.operation(), ended: None, waits }
    }

    /// Whether nothing that comes changes any more how it ends.
    fn is_decided(&self) -> bool {
        match self.step {
            Step::Restore | Step::Recover | Step::Commit => true,
            Step::Reboot | Step::Reload => self.is_on_the_way_back(),
            Step::Lock
            | Step::Journal
            | Step::Download
            | Step::Verify
            | Step::Stage
            | Step::Render
            | Step::Preflight
            | Step::Swap
            | Step::Restart
            | Step::Probe
            | Step::Confirm
            | Step::Stop
            | Step::Clean
            | Step::Delete => false,
        }
    }
}
