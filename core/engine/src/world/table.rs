//! The rows of the machines, in blocks. A large fleet is listed machine by machine; a plain vector would copy all rows
//! again and again while it grows.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use seaworthy_model::id::MachineId;

use crate::rows::machine::Machine;

/// Rows per block: as many as fit 64 KiB. Allocators round the size of a larger block up, to a power of two or by up to a
/// quarter.
const BLOCK: usize = {
    let rows = (64 << 10) / size_of::<Machine>();
    if rows == 0 { 1 } else { rows }
};

/// Rows by id, without gaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// All but the last are full.
    blocks: Vec<Vec<Machine>>,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        let full = self.blocks.len().saturating_sub(1);
        full * BLOCK + self.blocks.last().map_or(0, Vec::len)
    }

    pub(crate) fn get(&self, id: MachineId) -> Option<&Machine> {
        self.blocks.get(id.index() / BLOCK)?.get(id.index() % BLOCK)
    }

    /// Creates the row of `id`, and the rows of all ids before it.
    pub(crate) fn ensure(&mut self, id: MachineId) {
        if self.get(id).is_none() {
            self.extend(id);
        }
    }

    fn extend(&mut self, id: MachineId) {
        for missing in self.len()..=id.index() {
            let row = Machine::new(MachineId(u32::try_from(missing).unwrap_or(u32::MAX)));
            match self.blocks.last_mut().filter(|block| block.len() < BLOCK) {
                Some(block) => block.push(row),
                None => {
                    // The first block grows as needed: most fleets are small.
                    let mut block = Vec::with_capacity(if missing == 0 { 1 } else { BLOCK });
                    block.push(row);
                    self.blocks.push(block);
                }
            }
        }
    }

    /// The ids of all rows.
    pub(crate) fn ids(&self) -> impl Iterator<Item = MachineId> + use<> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(MachineId)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Machine> + Clone {
        self.blocks.iter().flatten()
    }

    /// Removes the blocks one after the other.
    pub(crate) fn drain_blocks(&mut self) -> impl Iterator<Item = Vec<Machine>> + '_ {
        self.blocks.drain(..)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Machine> {
        self.blocks.iter_mut().flatten()
    }
}

impl Index<MachineId> for Rows {
    type Output = Machine;

    fn index(&self, id: MachineId) -> &Machine {
        &self.blocks[id.index() / BLOCK][id.index() % BLOCK]
    }
}

impl IndexMut<MachineId> for Rows {
    fn index_mut(&mut self, id: MachineId) -> &mut Machine {
        &mut self.blocks[id.index() / BLOCK][id.index() % BLOCK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_no_gap_and_keep_their_ids() {
        let mut rows = Rows::default();
        assert_eq!((rows.len(), rows.get(MachineId(0)).is_none()), (0, true));
        let block = u32::try_from(BLOCK).unwrap();
        for last in [0, block - 1, block, 700, 3] {
            rows.ensure(MachineId(last));
        }
        assert_eq!(rows.len(), 701);
        assert!(rows.iter().map(|row| row.id).eq((0..=700).map(MachineId)));
        rows[MachineId(256)].given_up = true;
        assert!(rows.get(MachineId(256)).is_some_and(|row| row.given_up));
        assert_eq!(rows.iter_mut().filter(|row| row.given_up).count(), 1);
    }
}
