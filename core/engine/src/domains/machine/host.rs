//! Orders to a machine's host.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::host::{Change, Connection, HostFence, Operation, OperationId};
use seaworthy_model::host_order::{HostCommand, HostOrder};
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::HostKeyPolicy;
use seaworthy_model::report::Blocker;

use super::step::Step;
use crate::domains::draft::Draft;
use crate::rows::machine::Machine;
use crate::rows::note::MachineNote as Note;
use crate::rows::ticket::{HostTicket, Ticket};

impl Step<'_> {
    /// Orders a command of the host, if a session is free.
    pub(super) fn order_host(self, draft: &mut Draft<'_>, command: HostCommand) {
        let allowance = allowance(&command, draft.config);
        self.order_host_within(draft, command, allowance);
    }

    /// Orders a change of a component, under a unique operation id.
    pub(super) fn order_change(self, draft: &mut Draft<'_>, component: ComponentId, change: Change) {
        let sequence = self.world.leadership.sequence + 1;
        let id = OperationId { epoch: self.world.epoch(), sequence };
        let generation = self.object.meta.generation;
        let operation = Operation { id, generation, component, change };
        self.order_host(draft, HostCommand::Apply(Box::new(operation)));
    }

    /// Orders a command of the host with a deadline of its own, if a session is free.
    pub(super) fn order_host_within(self, draft: &mut Draft<'_>, command: HostCommand, allowance: Duration) {
        let (world, machine) = (self.world, self.machine);
        let (Some(epoch), Some(uid)) = (world.leadership.epoch, machine.uid()) else {
            return draft.wait(Blocker::NotLeading);
        };
        let Some(connection) = connection(machine) else { return draft.wait(Blocker::InvalidSpec) };
        if world.sessions() >= draft.config.host_sessions_max {
            self.note(draft, Note::WaitForSession);
            return draft.wait(Blocker::SessionLimit);
        }
        let sequence = world.leadership.sequence + 1;
        let fence = Fence::Host(HostFence { machine: uid, epoch, sequence });
        let ticket = Ticket::Host(HostTicket::from(&command));
        let effect = Effect::Host(HostOrder { connection, command });
        draft.order_within(allowance, (Target::Host(machine.id), fence), effect, ticket);
    }
}

/// How long a command may take.
fn allowance(command: &HostCommand, config: &Config) -> Duration {
    if matches!(command, HostCommand::Fetch { .. }) {
        return config.apply_deadline;
    }
    let HostCommand::Apply(operation) = command else { return config.read_deadline };
    match &operation.change {
        Change::Remove => config.apply_deadline,
        Change::Install(release) => {
            let probe = release.recipe.content.probe.as_ref();
            let seconds = probe.map_or(0, |probe| u64::from(probe.deadline_seconds));
            // Twice: the previous release is probed as well when it has to be restored.
            config.apply_deadline + Duration::from_secs(2 * seconds)
        }
    }
}

/// How to reach a machine: as its spec says, with the key that was trusted on first use.
fn connection(machine: &Machine) -> Option<Arc<Connection>> {
    let wanted = &machine.spec()?.connection;
    // Fast path: most machines have no key that was trusted on first use, and the spec's keys need no check.
    let recorded =
        machine.object.as_ref()?.status.identity.as_ref().and_then(|known| known.host_key.as_ref());
    let trusted = recorded
        .filter(|_| wanted.host_keys.is_empty() && wanted.host_key_policy == HostKeyPolicy::TrustOnFirstUse);
    let Some(trusted) = trusted else { return Some(Arc::clone(wanted)) };
    Some(Arc::new(Connection { host_keys: [Arc::clone(trusted)].into(), ..Connection::clone(wanted) }))
}
