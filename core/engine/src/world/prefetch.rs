//! Prefetching: reads a word of each row shortly before the row is needed.
//!
//! With a hundred thousand machines most rows are in no CPU cache, and a decision that reads them one by one waits for
//! memory each time. Reads of many rows at once overlap, and take hardly more time than one. Prefetching changes
//! nothing, and no decision depends on it.

use alloc::sync::Arc;
use core::hint::black_box;

use seaworthy_model::id::MachineId;
use seaworthy_model::report::Subject;

use crate::rows::machine::Machine;
use crate::runtime::line::Line;
use crate::world::World;
use crate::world::table::Rows;

/// How many rows are prefetched at once: enough to hide the memory latency, few enough for the nearest cache.
pub(crate) const AT_ONCE: usize = 32;

/// Smaller fleets are in a cache anyway.
const LARGE: usize = 4_096;

/// Something that can be prefetched.
pub(crate) trait Prefetch {
    /// Reads a word of each part that a decision reads. The sum means nothing; only the reads count.
    fn touch(&self) -> u64;
}

impl Prefetch for Machine {
    fn touch(&self) -> u64 {
        let object = self.object.as_ref().map_or(0, |object| {
            let status = &object.status;
            let conditions =
                status.conditions.iter().fold(0, |sum, condition| sum ^ condition.since.millis());
            let components = status.components.iter().fold(0, |sum, status| sum ^ status.component.0);
            let spec = object.spec.as_ref().map_or(0, |spec| {
                // An order to the host clones this reference.
                let connection = Arc::strong_count(&spec.connection);
                (spec.pins.len() ^ usize::from(spec.node.is_some()) ^ connection) as u64
            });
            object.meta.generation ^ conditions ^ u64::from(components) ^ spec
        });
        let facts = self.host.facts.as_ref().map_or(0, |facts| {
            let ends = [facts.components.first(), facts.components.last()];
            let components = ends.into_iter().flatten().fold(0, |sum, installed| sum ^ installed.component.0);
            let operation = facts.operation.as_ref().map_or(0, |operation| operation.id.sequence);
            u64::from(facts.epoch.0) ^ facts.host.0 as u64 ^ u64::from(components) ^ operation
        });
        let node = self.node.as_ref().map_or(0, |node| node.since.millis());
        let contact =
            self.progress.contact.retry.not_before.millis() ^ u64::from(self.progress.contact.stale);
        let standing = self.standing(0) as u64;
        object
            ^ facts
            ^ node
            ^ contact
            ^ standing
            ^ self.yielded.len() as u64
            ^ u64::from(self.derived.claims)
    }
}

impl World {
    /// Prefetches the rows of subjects, in any order.
    pub(crate) fn prefetch(&self, subjects: impl IntoIterator<Item = Subject>) {
        self.prefetch_rows(subjects.into_iter().filter_map(Subject::machine));
    }

    /// Prefetches the rows of machines, in any order.
    pub(crate) fn prefetch_rows(&self, machines: impl IntoIterator<Item = MachineId>) {
        if self.machines.len() < LARGE {
            return;
        }
        let words = machines.into_iter().map(|id| {
            let blocked = self.blockers.get(Subject::Machine(id)).is_some();
            let machine = self.machine(id);
            // The owner of a host is looked up when the host is read for the first time.
            let host = machine.recorded_host().filter(|_| !machine.progress.contact.owned);
            let owner = host.and_then(|host| self.hosts.get(&host)).map_or(0, |owner| owner.0);
            machine.touch() ^ u64::from(blocked) ^ u64::from(owner)
        });
        black_box(words.fold(0, |sum, word| sum ^ word));
    }

    /// Prefetches the machines that come next in a line, a few at a time.
    pub(crate) fn prefetch_line(&self, line: &Line) {
        if line.taken().is_multiple_of(AT_ONCE) {
            self.prefetch_rows(line.ahead(AT_ONCE));
        }
    }

    /// Prefetches the next few rows of a walk over all rows, when it is at `id`.
    pub(crate) fn prefetch_walk(&self, id: MachineId) {
        if id.index().is_multiple_of(AT_ONCE) {
            self.prefetch_rows(self.machines.ids().skip(id.index()).take(AT_ONCE));
        }
    }

    /// Calls `act` for each of these machines, and prefetches a few rows at a time.
    pub(crate) fn with_each(&mut self, machines: &[MachineId], mut act: impl FnMut(&mut Self, MachineId)) {
        for some in machines.chunks(AT_ONCE) {
            self.prefetch_rows(some.iter().copied());
            for id in some {
                act(self, *id);
            }
        }
    }
}

impl Drop for Rows {
    /// Prefetches what the rows of a block refer to before it is freed.
    fn drop(&mut self) {
        if self.len() < LARGE {
            return;
        }
        for block in self.drain_blocks() {
            black_box(block.iter().fold(0, |sum, row| sum ^ row.touch()));
        }
    }
}
