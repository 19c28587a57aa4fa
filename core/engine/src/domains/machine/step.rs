//! One step in the life of a machine, and what it reads.

use seaworthy_model::cause::CauseKind;
use seaworthy_model::config::Config;
use seaworthy_model::machine::MachineObject;

use crate::domains::draft::Draft;
use crate::rows::machine::Machine;
use crate::rows::note::{self, MachineNote};
use crate::rows::trouble::Trouble;
use crate::world::World;

/// What one step of a machine reads.
#[derive(Clone, Copy)]
pub(in crate::domains::machine) struct Step<'w> {
    pub(in crate::domains::machine) world: &'w World,
    pub(in crate::domains::machine) machine: &'w Machine,
    pub(in crate::domains::machine) object: &'w MachineObject,
}

impl<'w> Step<'w> {
    /// Why the host is unreachable or fails to carry out orders, once that is certain.
    pub(in crate::domains::machine) fn certain_trouble(self, config: &Config) -> Option<&'w Trouble> {
        let repeated = self.machine.progress.contact.retry.failures >= config.unreachable_after;
        let trouble = self.machine.progress.contact.trouble.as_ref()?;
        let is_definite = trouble.kind.is_definite() || self.machine.host.ahead.is_some();
        ((is_definite || repeated) && trouble.kind != CauseKind::HostBusy).then_some(trouble)
    }

    /// Leaves a note about the machine.
    pub(in crate::domains::machine) fn note(self, draft: &mut Draft<'_>, note: MachineNote) {
        draft.note(note::Note::Machine(self.machine.id, note));
    }
}
