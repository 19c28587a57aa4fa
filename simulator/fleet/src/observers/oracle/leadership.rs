//! One leader at a time: each epoch of a Lease has one holder, and no host begins an operation of an epoch older than
//! one that it has seen.

use std::collections::BTreeMap;

use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;

use super::recount::{Miscounts, Truth};
use crate::world::api_server::Written;

/// The leaders so far, and the epochs that hosts have seen.
#[derive(Clone, Debug)]
pub(super) struct Leadership {
    /// The holder, by incarnation of the Lease and epoch.
    holders: BTreeMap<(Uid, i64), String>,
    /// The highest epoch that each host has seen.
    heard: Vec<Epoch>,
}

impl Leadership {
    pub(super) fn new(hosts: u32) -> Self {
        Self { holders: BTreeMap::new(), heard: vec![Epoch::VACANT; hosts as usize] }
    }

    /// The Lease was written. Returns the breach, if any.
    pub(super) fn written(&mut self, written: &Written) -> Option<String> {
        let spec = &written.object.lease()?.spec;
        let (epoch, holder) =
            (spec.lease_transitions.filter(|epoch| *epoch > 0)?, spec.holder_identity.as_ref()?);
        let first = self.holders.entry((written.object.uid(), epoch)).or_insert_with(|| holder.clone());
        (first != holder).then(|| format!("epoch {epoch} is that of {first} and of {holder}"))
    }

    /// The number of epochs that the Leases have had.
    pub(super) fn epochs(&self) -> usize {
        self.holders.len()
    }

    /// The highest epoch that a host has seen.
    pub(super) fn epoch_heard(&self, host: u32) -> Epoch {
        self.heard[host as usize]
    }

    /// A host has accepted an order, and has now seen this epoch.
    pub(super) fn heard(&mut self, host: u32, epoch: Epoch) {
        let heard = &mut self.heard[host as usize];
        *heard = epoch.max(*heard);
    }

    /// A host has forgotten what it had seen, and has now seen this epoch.
    pub(super) fn reset(&mut self, host: u32, epoch: Epoch) {
        self.heard[host as usize] = epoch;
    }

    /// Compares the recorded epochs with those in the fences of hosts.
    pub(super) fn recount(&self, truth: &Truth<'_>, found: &mut Miscounts) {
        for (number, (heard, host)) in self.heard.iter().zip(truth.hosts).enumerate() {
            found.compare_at(number, "epoch", *heard, host.epoch());
        }
    }

    /// A host begins an operation of an epoch. Returns the breach, if any.
    pub(super) fn began(&mut self, host: u32, epoch: Epoch) -> Option<String> {
        let heard = self.heard[host as usize];
        self.heard(host, epoch);
        (epoch < heard).then(|| {
            format!("host {host} began an operation of epoch {} and had heard of epoch {}", epoch.0, heard.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_obeys_an_older_leader_is_found() {
        let mut leadership = Leadership::new(2);
        assert_eq!(leadership.began(0, Epoch(3)), None);
        leadership.heard(0, Epoch(4));
        assert_eq!(leadership.began(1, Epoch(3)), None);
        assert!(leadership.began(0, Epoch(3)).is_some());
        assert_eq!(leadership.began(0, Epoch(4)), None);
    }
}
