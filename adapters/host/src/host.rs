//! A host as the program sees it, and the orders that it takes.

use std::path::Path;
use std::time::Duration;

use seaworthy_api::host::wire::{Answer, Change, Command, Facts, Operation, PROTOCOL, Reply, Request};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::{OperationId, OperationState};

use crate::disk::{self, Disk};
use crate::execution::Execution;
use crate::facts;
use crate::failure::{self, Result};
use crate::journal::{self, Journal, Line, Step};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::memory::{Memory, Verdict};
use crate::order;
use crate::resume;
use crate::steps::Steps;
use crate::system::System;

/// How long an order waits for another that is being accepted.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How often the journal of a running operation is looked at.
const POLL: Duration = Duration::from_millis(50);
/// The longest order that was stored: a request, written more generously.
const ORDER_MAX: u64 = 64 << 20;
/// So many operations are remembered. An operator asks for its last one, or for that of its predecessor.
const OPERATIONS_KEPT: usize = 100;

/// A host.
pub struct Host<'a> {
    /// Where everything is.
    pub layout: Layout,
    /// Its running system.
    pub system: &'a dyn System,
    /// Who is told of each step.
    pub steps: &'a dyn Steps,
    /// This program, for what runs in a process of its own.
    pub program: &'a Path,
}

impl Host<'_> {
    pub(crate) fn disk(&self) -> Disk<'_> {
        Disk::new(self.steps)
    }

    /// Carries out an order of an operator.
    #[must_use]
    pub fn handle(&self, request: &Request) -> Reply {
        let answer = self.respond(request).unwrap_or_else(|cause| {
            let for_good = matches!(
                cause.kind,
                CauseKind::OwnedByAnother
                    | CauseKind::FenceRefused
                    | CauseKind::OperationInvalid
                    | CauseKind::CertificateRefused
                    | CauseKind::ProtocolError
            );
            if for_good { Answer::Refused(cause) } else { Answer::Later(cause) }
        });
        Reply::new(answer)
    }

    fn respond(&self, request: &Request) -> Result<Answer> {
        if request.protocol != PROTOCOL {
            let detail = format!("the request is of protocol {}, not {PROTOCOL}", request.protocol);
            return Err(Cause::new(CauseKind::ProtocolError, detail));
        }
        order::check_fence(&request.fence)?;
        match &request.command {
            Command::Apply(operation) => self.apply(request, operation),
            Command::Disown => self.disown(request),
            Command::RequestCertificate(wanted) => self.request_certificate(request, wanted),
            Command::InstallCertificate(file) => self.install_certificate(request, file),
            Command::Facts => self.report(request, None),
            Command::Status(id) => self.report(request, Some(*id)),
            Command::Confirm(id) => self.confirm(request, *id),
        }
    }

    /// What a person is told who asks on the host itself. Moves no fence.
    ///
    /// # Errors
    /// When the host's own files cannot be read.
    pub fn facts(&self) -> Result<Facts> {
        let memory = Memory::read(&self.layout)?;
        facts::gather(self, &memory, "", memory.latest)
    }

    /// The journal of an operation; `None` when the host has never heard of it.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn journal(&self, id: OperationId) -> Result<Option<Vec<Line>>> {
        journal::read(&self.layout.journal(id))
    }

    /// Executes an accepted operation in this process, unless another executes already. Goes on with what was
    /// interrupted.
    ///
    /// # Errors
    /// When the end of the operation could not be recorded.
    pub fn execute(&self, id: OperationId) -> Result<()> {
        let _lock = Lock::take(&self.layout.execution_lock(), PATIENCE, self.system)?;
        let mut journal = Journal::open(self.disk(), self.layout.journal(id), self.system.boot()?)?;
        match self.order(id) {
            Ok(operation) => Execution { host: self, operation: &operation, journal }.run(),
            Err(cause) => journal.write(self.disk(), Step::Ended { state: OperationState::Failed(cause) }),
        }
    }

    /// The order of an accepted operation.
    pub(crate) fn order(&self, id: OperationId) -> Result<Operation> {
        let path = self.layout.order(id);
        let stored = disk::read(&path, ORDER_MAX)?.unwrap_or_default();
        serde_json::from_slice(&stored)
            .map_err(|error| failure::host(format!("{} cannot be read: {error}", path.display())))
    }

    /// Finishes or undoes, in this process, the operation that was interrupted, if there is one; gives its name.
    ///
    /// # Errors
    /// When that cannot be done or found out.
    pub fn resume(&self) -> Result<Option<OperationId>> {
        match self.unfinished(&Memory::read(&self.layout)?)? {
            Some(id) => self.execute(id).map(|()| Some(id)),
            None => Ok(None),
        }
    }

    /// Makes the host forget its owner, whoever that is: for a person who knows that the owner is gone. The fences stay.
    /// Gives what was remembered; `None` when that was damaged.
    ///
    /// # Errors
    /// When the memory cannot be written.
    pub fn disown_by_force(&self) -> Result<Option<Memory>> {
        self.make_places()?;
        let _lock = Lock::take(&self.layout.admission_lock(), PATIENCE, self.system)?;
        let before = Memory::read(&self.layout).ok();
        let after = Memory { owner: None, ..before.clone().unwrap_or_default() };
        after.write(self.disk(), &self.layout)?;
        Ok(before)
    }

    fn report(&self, request: &Request, operation: Option<OperationId>) -> Result<Answer> {
        // Also where nobody ever worked: a late order of an older operator must not claim the host behind the back of the
        // one that looked.
        self.make_places()?;
        let lock = Lock::take(&self.layout.admission_lock(), PATIENCE, self.system)?;
        let memory = self.judge(request)?;
        self.push_on(&memory)?;
        drop(lock);
        self.done(request, &memory, operation.or(memory.latest))
    }

    fn disown(&self, request: &Request) -> Result<Answer> {
        self.make_places()?;
        let _lock = Lock::take(&self.layout.admission_lock(), PATIENCE, self.system)?;
        let mut memory = self.idle_memory()?;
        let verdict = memory.judge(&request.fence, &request.command);
        if let Verdict::Refuse(cause) = verdict {
            return Err(cause);
        }
        // Before the owner is forgotten: nobody comes back for what is left then.
        self.remove_identity()?;
        if verdict == Verdict::Remember {
            memory.write(self.disk(), &self.layout)?;
        }
        resume::disarm(self)?;
        self.done(request, &memory, memory.latest)
    }

    fn apply(&self, request: &Request, operation: &Operation) -> Result<Answer> {
        self.make_places()?;
        let id = operation.id;
        {
            let _lock = Lock::take(&self.layout.admission_lock(), PATIENCE, self.system)?;
            let mut memory = Memory::read(&self.layout)?;
            let verdict = memory.judge(&request.fence, &request.command);
            if let Verdict::Refuse(cause) = verdict {
                return Err(cause);
            }
            let ours = memory.operations_of.as_ref() == Some(&request.fence.cluster);
            if ours && self.journal(id)?.is_some() {
                if self.attach(&memory, &verdict).is_err() {
                    return Ok(Answer::Pending);
                }
            } else {
                if let Some(other) = self.push_on(&memory)? {
                    return Err(busy(other));
                }
                self.forget_operations(if ours { OPERATIONS_KEPT } else { 0 })?;
                memory.operations_of = Some(request.fence.cluster.clone());
                self.accept(memory, operation)?;
            }
        }
        // It was accepted, now or before: whatever goes wrong from here on, nobody may take it for not begun.
        let is_followed = |state: &OperationState| *state == OperationState::Running;
        Ok(self.follow(request, id, is_followed).unwrap_or(Answer::Pending))
    }

    /// Sees to it that an operation that was accepted before goes on.
    fn attach(&self, memory: &Memory, verdict: &Verdict) -> Result<()> {
        if *verdict == Verdict::Remember {
            memory.write(self.disk(), &self.layout)?;
        }
        self.push_on(memory).map(drop)
    }

    /// Records an operation, and starts its execution. An error means that it was not accepted.
    fn accept(&self, mut memory: Memory, operation: &Operation) -> Result<()> {
        let (disk, id) = (self.disk(), operation.id);
        order::check(operation, facts::architecture()?, &self.layout)?;
        let order = serde_json::to_vec(operation).map_err(|error| failure::host(error.to_string()))?;
        resume::arm(self)?;
        // In this order: without its first line of journal an operation was never heard of, and with it, it is complete.
        memory.latest = Some(id);
        memory.write(disk, &self.layout)?;
        disk.replace(&self.layout.order(id), &order, 0o600)?;
        let mut journal = Journal::open(disk, self.layout.journal(id), self.system.boot()?)?;
        journal.write(disk, Step::Accepted)?;
        // What goes wrong now is found out by whoever asks next: the journal says how far it came.
        let _ = match self.system.detach(&self.layout, id, persists(operation)) {
            Ok(()) => self.await_execution(id),
            Err(cause) => self.give_up(id, cause),
        };
        Ok(())
    }

    /// Ends an operation whose execution could not be started; one that was started all the same, by a call whose
    /// answer was lost, goes on.
    fn give_up(&self, id: OperationId, cause: Cause) -> Result<()> {
        let Some(_lock) = Lock::attempt(&self.layout.execution_lock())? else { return Ok(()) };
        let mut journal = Journal::open(self.disk(), self.layout.journal(id), self.system.boot()?)?;
        if journal.lines().len() > 1 {
            return Ok(());
        }
        journal.write(self.disk(), Step::Ended { state: OperationState::Failed(cause) })
    }

    /// Waits until the execution has begun, so that nobody who comes next takes it for dead.
    fn await_execution(&self, id: OperationId) -> Result<()> {
        let deadline = self.system.now() + PATIENCE;
        while self.system.now() < deadline {
            let begun = self.journal(id)?.is_some_and(|lines| lines.len() > 1);
            if begun || self.is_executing()? {
                break;
            }
            self.system.wait(POLL);
        }
        Ok(())
    }

    /// Waits as long as an operation is in a state that `is_followed`, and answers with what it came to.
    pub(crate) fn follow(
        &self,
        request: &Request,
        id: OperationId,
        is_followed: impl Fn(&OperationState) -> bool,
    ) -> Result<Answer> {
        loop {
            match self.state(id)? {
                state if is_followed(&state) => {}
                OperationState::Running | OperationState::Unconfirmed | OperationState::Succeeded => {
                    let memory = Memory::read(&self.layout)?;
                    return self.done(request, &memory, Some(id));
                }
                OperationState::Failed(cause) => return Ok(Answer::Refused(cause)),
                OperationState::Interrupted => {
                    let detail = format!("operation {id} was interrupted, and what it had done was undone");
                    return Ok(Answer::Later(failure::host(detail)));
                }
            }
            if !self.is_executing()? && is_followed(&self.state(id)?) {
                return Ok(Answer::Pending);
            }
            self.system.wait(POLL);
        }
    }

    pub(crate) fn state(&self, id: OperationId) -> Result<OperationState> {
        let Some(lines) = self.journal(id)? else { return Ok(OperationState::Running) };
        Ok(journal::state(&lines, self.system.boot()?))
    }

    /// What is remembered, while no operation is under way.
    pub(crate) fn idle_memory(&self) -> Result<Memory> {
        let memory = Memory::read(&self.layout)?;
        self.push_on(&memory)?.map_or(Ok(memory), |id| Err(busy(id)))
    }

    pub(crate) fn done(
        &self,
        request: &Request,
        memory: &Memory,
        operation: Option<OperationId>,
    ) -> Result<Answer> {
        let facts = facts::gather(self, memory, &request.fence.cluster, operation)?;
        Ok(Answer::Done(Box::new(facts)))
    }

    /// Judges an order by the memory, and remembers it. The admission lock is held.
    pub(crate) fn judge(&self, request: &Request) -> Result<Memory> {
        let mut memory = Memory::read(&self.layout)?;
        match memory.judge(&request.fence, &request.command) {
            Verdict::Answer => Ok(memory),
            Verdict::Remember => memory.write(self.disk(), &self.layout).map(|()| memory),
            Verdict::Refuse(cause) => Err(cause),
        }
    }

    /// The latest operation, if it has not ended. If nobody executes it, its execution is started again, unless there is
    /// nothing to do for it but to wait.
    pub(crate) fn push_on(&self, memory: &Memory) -> Result<Option<OperationId>> {
        let Some(id) = self.unfinished(memory)? else { return Ok(None) };
        if !self.is_executing()? && !self.is_waiting(id)? {
            let persists = self.order(id).is_ok_and(|operation| persists(&operation));
            self.system.detach(&self.layout, id, persists)?;
        }
        Ok(Some(id))
    }

    fn unfinished(&self, memory: &Memory) -> Result<Option<OperationId>> {
        let Some(id) = memory.latest else { return Ok(None) };
        Ok((self.journal(id)?.is_some() && self.state(id)?.is_open()).then_some(id))
    }

    fn is_executing(&self) -> Result<bool> {
        Ok(Lock::attempt(&self.layout.execution_lock())?.is_none())
    }

    /// Forgets all but the last `kept` operations.
    fn forget_operations(&self, kept: usize) -> Result<()> {
        let mut ids: Vec<OperationId> = disk::names(&self.layout.operations())?
            .iter()
            .filter_map(|name| OperationId::parse(name.strip_suffix(".json")?))
            .collect();
        ids.sort_unstable();
        let surplus = ids.len().saturating_sub(kept);
        for id in &ids[..surplus] {
            self.disk().remove(&self.layout.journal(*id))?;
            self.disk().remove(&self.layout.order(*id))?;
        }
        Ok(())
    }

    /// Makes the program's own directories. Refuses to work in one that somebody else may write to.
    pub(crate) fn make_places(&self) -> Result<()> {
        let (disk, layout) = (self.disk(), &self.layout);
        disk.make_dir(layout.root(), 0o755)?;
        disk::check_access(layout.root())?;
        for open in ["releases", "manifests", "current", "previous"] {
            disk.make_dir(&layout.root().join(open), 0o755)?;
        }
        for closed in [layout.state(), layout.operations(), layout.staging()] {
            disk.make_dir(&closed, 0o700)?;
        }
        Ok(())
    }
}

/// Whether nobody may be there to wake an execution that was killed: it may have cut the host off.
fn persists(operation: &Operation) -> bool {
    match &operation.change {
        Change::Install(release) => release.recipe.content.confirm.is_some(),
        Change::Remove => false,
    }
}

fn busy(id: OperationId) -> Cause {
    Cause::new(CauseKind::HostBusy, format!("operation {id} is under way"))
}
