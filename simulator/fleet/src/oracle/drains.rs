//! Drains, in truth: no work that pods would not outlive begins under pods that could have left, or on a Node that takes
//! more; no Node is uncordoned that people have cordoned.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_kernel::Timestamp;

/// What is true of cordons.
#[derive(Clone, Debug, Default)]
pub(super) struct Drains {
    /// Hosts whose Nodes carry our taint, and since when.
    cordoned: BTreeMap<u32, Timestamp>,
    /// Hosts whose Nodes people have cordoned.
    by_people: BTreeSet<u32>,
    /// Hosts on whose Nodes a disruption budget has ever kept a pod, or that people have kept as they were.
    held_up: BTreeSet<u32>,
}

impl Drains {
    pub(super) fn people_cordoned(&mut self, host: u32, unschedulable: bool) {
        if unschedulable {
            self.by_people.insert(host);
        } else {
            self.by_people.remove(&host);
        }
    }

    pub(super) fn is_cordoned_by_people(&self, host: u32) -> bool {
        self.by_people.contains(&host)
    }

    pub(super) fn cordoned(&mut self, host: u32, is: bool, now: Timestamp) {
        if is {
            self.cordoned.entry(host).or_insert(now);
        } else {
            self.cordoned.remove(&host);
        }
    }

    pub(super) fn is_cordoned(&self, host: u32) -> bool {
        self.cordoned.contains_key(&host)
    }

    pub(super) fn holds_up(&mut self, host: u32) {
        self.held_up.insert(host);
    }

    pub(super) fn was_held_up(&self, host: u32) -> bool {
        self.held_up.contains(&host)
    }

    /// Hosts whose Nodes carried our taint already then.
    pub(super) fn cordoned_until(&self, known: Timestamp) -> impl Iterator<Item = u32> {
        self.cordoned.iter().filter(move |(_, since)| **since <= known).map(|(host, _)| *host)
    }
}
