//! Prefetches the objects that a process receives next.

use std::hint::black_box;
use std::sync::Arc;

use seaworthy_model::id::{Kind, MachineId};
use seaworthy_model::report::Subject;

use super::Process;
use crate::world::api_server::Stored;

/// Smaller fleets fit into the processor's cache and need no prefetching.
pub(in crate::world) const LARGE: usize = 4_096;
/// The number of changes to prefetch at once: enough to hide the memory latency, few enough for the first-level cache.
pub(in crate::world) const WARM_AT_ONCE: usize = 32;

impl Process {
    /// Prefetches the Machines that are delivered next, of so many in all.
    pub(in crate::world) fn warm_objects<'a>(
        &self,
        all: usize,
        objects: impl Iterator<Item = &'a Arc<Stored>>,
    ) {
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
