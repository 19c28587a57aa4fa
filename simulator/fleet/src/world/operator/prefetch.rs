//! Bringing near what a process is told next.

use std::hint::black_box;
use std::sync::Arc;

use seaworthy_model::id::{Kind, MachineId};
use seaworthy_model::report::Subject;

use super::Process;
use crate::world::api_server::Stored;

/// Smaller fleets are near as they are.
pub(in crate::world) const LARGE: usize = 4_096;
/// So many changes are brought near at once: enough to hide the way to the memory, few enough for the nearest cache.
pub(super) const WARM_AT_ONCE: usize = 32;

impl Process {
    /// Brings near Machines that are delivered next, of so many in all.
    pub(super) fn warm_objects<'a>(&self, all: usize, objects: impl Iterator<Item = &'a Arc<Stored>>) {
        if all < LARGE {
            return;
        }
        let (engine, names) = self.mind();
        let words = objects.filter(|object| object.kind() == Kind::Machine).map(|object| {
            if let Some(id) = names.find_machine_near(MachineId(object.place()), object.name()) {
                engine.prefetch(Subject::Machine(id));
            }
            object.warm()
        });
        black_box(words.fold(0, |sum, word| sum ^ word));
    }
}
