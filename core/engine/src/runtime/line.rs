//! A line of machines that wait for the same thing: first come, first served, each machine at most once.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use seaworthy_model::id::MachineId;

/// A line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    order: VecDeque<MachineId>,
    /// How many machines have ever left the line.
    taken: usize,
    /// By id: whether the machine is in the line.
    stands: Vec<bool>,
}

impl Line {
    /// Puts a machine at the end, unless it is in the line already. True if it was added.
    pub(crate) fn join(&mut self, id: MachineId) -> bool {
        if self.stands.len() <= id.index() {
            self.stands.resize(id.index() + 1, false);
        }
        let joins = !core::mem::replace(&mut self.stands[id.index()], true);
        if joins {
            self.order.push_back(id);
        }
        joins
    }

    /// Removes the first machine.
    pub(crate) fn pop(&mut self) -> Option<MachineId> {
        let id = self.order.pop_front()?;
        self.stands[id.index()] = false;
        self.taken += 1;
        Some(id)
    }

    /// How many machines have ever left the line.
    pub(crate) const fn taken(&self) -> usize {
        self.taken
    }

    /// The machines that come next.
    pub(crate) fn ahead(&self, few: usize) -> impl Iterator<Item = MachineId> {
        self.order.iter().take(few).copied()
    }

    /// Whether the line is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many machines are in the line.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.order.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_come_first_served_and_each_once() {
        let mut line = Line::default();
        assert!(line.join(MachineId(7)));
        assert!(line.join(MachineId(3)));
        assert!(!line.join(MachineId(7)));
        assert_eq!(line.len(), 2);
        assert_eq!(line.pop(), Some(MachineId(7)));
        assert!(line.join(MachineId(7)));
        assert_eq!([line.pop(), line.pop(), line.pop()], [Some(MachineId(3)), Some(MachineId(7)), None]);
    }
}
