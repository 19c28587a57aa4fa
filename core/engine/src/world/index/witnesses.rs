//! What hosts report about newer operators, counted over the fleet.
//!
//! A host that reports a higher epoch than ours may be right: the Lease was deleted, or etcd restored from a backup. Or
//! its own state is damaged or forged. One host is no proof, since whoever is root there can write any number. So one
//! host is left alone, and the fleet goes on. Several hosts are a proof.
//!
//! Nothing depends on a quick verdict: a host that has seen a newer operator refuses our orders anyway.

use alloc::collections::BTreeMap;

use seaworthy_model::id::MachineId;
use seaworthy_model::lease::Epoch;
use seaworthy_model::report::Subject;

use crate::rows::machine::Machine;
use crate::runtime::queue::Priority;
use crate::world::World;

/// At least so many hosts have to report a newer operator, or all of a smaller fleet.
const FEWEST: u32 = 3;

/// One more for each of so many hosts that were read, or are being read: three hosts that answer before all others
/// prove nothing.
const OUT_OF: u32 = 10;

/// Hosts may have seen different operators, the last of them only a few. An epoch so far above the one that enough
/// hosts vouch for is none that an operator had.
const SPREAD: u32 = 1 << 16;

/// What a host says about the newest operator that it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Testimony {
    /// It was not read in this epoch, or could not be read lately.
    None,
    /// None newer than us.
    Ours,
    /// One of this higher epoch.
    Newer(Epoch),
}

impl Testimony {
    fn of(machine: &Machine) -> Self {
        match (&machine.object, machine.host.ahead, &machine.host.facts) {
            (None, _, _) | (Some(_), None, None) => Self::None,
            (Some(_), Some(seen), _) => Self::Newer(seen),
            (Some(_), None, Some(_)) => Self::Ours,
        }
    }
}

/// What hosts say about newer operators. Kept up to date as rows change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// How many hosts were read in this epoch.
    read: u32,
    /// By epoch: how many of them report it, if it is higher than ours.
    ahead: BTreeMap<Epoch, u32>,
}

impl Witnesses {
    /// A count over all rows.
    #[must_use]
    pub fn recount(world: &World) -> Self {
        let mut all = Self::default();
        world.machines().for_each(|(_, machine)| all.count(Testimony::of(machine)));
        all
    }

    fn count(&mut self, testimony: Testimony) {
        self.read += u32::from(testimony != Testimony::None);
        if let Testimony::Newer(seen) = testimony {
            *self.ahead.entry(seen).or_default() += 1;
        }
    }

    fn uncount(&mut self, testimony: Testimony) {
        self.read -= u32::from(testimony != Testimony::None);
        if let Testimony::Newer(seen) = testimony
            && let Some(count) = self.ahead.get_mut(&seen)
        {
            *count -= 1;
            if *count == 0 {
                self.ahead.remove(&seen);
            }
        }
    }

    /// The epoch of the newest operator, if enough hosts report one that is newer than us. `machines` are in the fleet,
    /// and `asked` hosts are being read.
    fn verdict(&self, machines: u32, asked: u32) -> Option<Epoch> {
        // What nobody may adopt is no testimony.
        let credible = || self.ahead.range(..=Epoch::ADOPTABLE);
        let fewest = FEWEST.min(machines).max(1);
        if credible().map(|(_, count)| count).sum::<u32>() < fewest + (self.read + asked) / OUT_OF {
            return None;
        }
        let mut vouching = 0;
        let (vouched, _) = credible().rev().find(|(_, count)| {
            vouching += **count;
            vouching >= fewest
        })?;
        let limit = Epoch(vouched.0.saturating_add(SPREAD)).min(Epoch::ADOPTABLE);
        self.ahead.range(..=limit).next_back().map(|(seen, _)| *seen)
    }
}

impl World {
    /// Changes the counts after a change of a row, given the row before it.
    pub(crate) fn recount_witness(&mut self, id: MachineId, change: impl FnOnce(&mut Machine)) {
        let row = &mut self.machines[id];
        let before = Testimony::of(row);
        change(row);
        let after = Testimony::of(row);
        if before != after {
            self.witnesses.uncount(before);
            self.witnesses.count(after);
        }
    }

    /// Judges, after a host has reported a newer operator, whether the store must have lost operators.
    pub(crate) fn judge_witnesses(&mut self) {
        let Some(seen) = self.witnesses.verdict(self.live(), self.sessions) else { return };
        if self.leadership.ahead < Some(seen) {
            self.leadership.ahead = Some(seen);
            self.touch(Subject::Leadership, Priority::Urgent);
            self.touch_owners(Priority::Urgent);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Some hosts that report nothing newer, and epochs that others report.
    fn heard(ours: u32, newer: &[u32]) -> Witnesses {
        let mut all = Witnesses::default();
        (0..ours).for_each(|_| all.count(Testimony::Ours));
        newer.iter().for_each(|seen| all.count(Testimony::Newer(Epoch(*seen))));
        all
    }

    #[test]
    fn three_hosts_and_one_of_ten_are_enough_and_fewer_are_not() {
        for (ours, newer, asked, verdict) in [
            (0, 1, 0, None),
            (0, 2, 0, None),
            (0, 3, 0, Some(Epoch(9))),
            (0, 3, 7, None),
            (6, 3, 0, Some(Epoch(9))),
            (7, 3, 0, None),
            (1_000, 113, 0, None),
            (1_000, 114, 0, Some(Epoch(9))),
        ] {
            let all = heard(ours, &vec![9; newer]);
            assert_eq!(all.verdict(10_000, asked), verdict, "{ours} {newer} {asked}");
        }
    }

    #[test]
    fn a_fleet_of_one_or_two_is_believed_if_all_say_so() {
        assert_eq!(heard(0, &[9]).verdict(1, 0), Some(Epoch(9)));
        assert_eq!(heard(0, &[9]).verdict(2, 1), None);
        assert_eq!(heard(0, &[9, 8]).verdict(2, 0), Some(Epoch(9)));
    }

    #[test]
    fn the_newest_operator_is_told_even_if_only_one_host_has_seen_it() {
        assert_eq!(heard(0, &[7, 7, 8, 9]).verdict(4, 0), Some(Epoch(9)));
    }

    #[test]
    fn an_invented_epoch_among_true_ones_is_not_told() {
        let invented = Epoch::ADOPTABLE.0;
        assert_eq!(heard(0, &[7, 7, 8, 9, invented]).verdict(5, 0), Some(Epoch(9)));
        assert_eq!(heard(0, &[7, 7, invented]).verdict(3, 0), Some(Epoch(7)));
    }

    #[test]
    fn what_nobody_may_adopt_is_no_testimony() {
        let never = Epoch::ADOPTABLE.0 + 1;
        assert_eq!(heard(0, &[never, never, u32::MAX]).verdict(3, 0), None);
        assert_eq!(heard(0, &[never, 7, 7]).verdict(3, 0), None);
    }

    #[test]
    fn what_was_counted_is_uncounted() {
        let mut all = heard(1, &[7, 7, 9]);
        for testimony in [Testimony::Ours, Testimony::Newer(Epoch(9)), Testimony::Newer(Epoch(7))] {
            all.uncount(testimony);
        }
        assert_eq!(all, heard(0, &[7]));
    }
}
