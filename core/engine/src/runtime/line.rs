//! A line of machines that wait for the same thing: first come, first served, and each stands in it once.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use seaworthy_model::id::MachineId;

/// A line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    order: VecDeque<MachineId>,
    /// How many were taken out, ever.
    taken: usize,
    /// By id: whether the machine stands in it.
    stands: Vec<bool>,
}

impl Line {
    /// Puts a machine at the end, unless it stands in the line already. True if it was put there.
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

    /// Takes the first one out.
    pub(crate) fn pop(&mut self) -> Option<MachineId> {
        let id = self.order.pop_front()?;
        self.stands[id.index()] = false;
        self.taken += 1;
        Some(id)
    }

    /// How many were taken out since there is a line.
    pub(crate) const fn taken(&self) -> usize {
        self.taken
    }

    /// Those who come next.
    pub(crate) fn ahead(&self, few: usize) -> impl Iterator<Item = MachineId> {
        self.order.iter().take(few).copied()
    }

    /// Whether nobody stands in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many stand in it.
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
