//! What an operator does without need: again and again, or to no effect. The end of a run does not show it.

use std::collections::BTreeMap;

use seaworthy_kernel::Timestamp;
use seaworthy_model::component::ReleaseId;
use seaworthy_model::effect::Target;
use seaworthy_model::meta::FINALIZER;

use super::recount::{Miscounts, Truth};
use crate::world::api_server::Written;

/// A process orders so much of one target within a minute at most. The whole life of a machine takes a dozen orders, and
/// what fails is tried again after seconds.
const ORDERS_MAX: u32 = 60;
const MINUTE_MILLISECONDS: u64 = 60_000;

/// An attempt to install a release: on which host, and since when people want of it what they want.
type Try = (u32, ReleaseId, Timestamp);

#[derive(Clone, Debug)]
pub(super) struct Restraint {
    /// What was ordered in this minute, by process and target.
    minute: u64,
    ordered: BTreeMap<(u32, Target), u32>,
    /// Operator processes that were started.
    processes: u32,
    /// How often a release failed, and how many processes had been started when it first did.
    failed: BTreeMap<Try, (u32, u32)>,
    /// By host: since when people want what it has begun last, unless that may be what was wanted before.
    begun: Vec<Option<Timestamp>>,
    /// By host: when people changed what they want of its Machine.
    asked: Vec<Timestamp>,
    /// When they changed what they want of all.
    all_asked: Timestamp,
}

impl Restraint {
    pub(super) fn new(hosts: u32) -> Self {
        Self {
            minute: 0,
            ordered: BTreeMap::new(),
            processes: 0,
            failed: BTreeMap::new(),
            begun: vec![None; hosts as usize],
            asked: vec![Timestamp::ZERO; hosts as usize],
            all_asked: Timestamp::ZERO,
        }
    }

    pub(super) const fn process_started(&mut self) {
        self.processes += 1;
    }

    /// Counts again the processes that may have forgotten what they knew.
    pub(super) fn recount(&self, truth: &Truth<'_>, found: &mut Miscounts) {
        found.compare("operator processes", self.processes, truth.processes);
    }

    /// A process orders something. The answer says what is wrong with that.
    pub(super) fn ordered(&mut self, process: u32, target: Target, now: Timestamp) -> Option<String> {
        let minute = now.0 / MINUTE_MILLISECONDS;
        if minute != self.minute {
            self.minute = minute;
            self.ordered.clear();
        }
        let count = self.ordered.entry((process, target)).or_default();
        *count += 1;
        (*count > ORDERS_MAX)
            .then(|| format!("process {process} has ordered {count} times within a minute of {target:?}"))
    }

    /// Reads what there is of a host, to have it near.
    pub(super) fn warm(&self, host: u32) -> u64 {
        self.asked[host as usize].0 ^ self.begun[host as usize].map_or(0, |asked| asked.0)
    }

    /// People have changed what they want of a machine.
    pub(super) fn asked(&mut self, host: u32, now: Timestamp) {
        if let Some(asked) = self.asked.get_mut(host as usize) {
            *asked = now;
        }
    }

    /// People have changed what they want of all.
    pub(super) const fn all_asked(&mut self, now: Timestamp) {
        self.all_asked = now;
    }

    /// A host begins to install a release, as was ordered by somebody who knew what people wanted until `known`.
    pub(super) fn begun(&mut self, host: u32, known: Timestamp) {
        let asked = self.asked[host as usize].max(self.all_asked);
        self.begun[host as usize] = (asked < known).then_some(asked);
    }

    /// A release has failed. Once is what it takes to know, and once more for each process that may have taken with it
    /// what it knew. What was ordered while people changed their minds does not count.
    pub(super) fn failed(&mut self, host: u32, release: ReleaseId) -> Option<String> {
        let attempt: Try = (host, release, self.begun[host as usize].take()?);
        let (count, began) = self.failed.entry(attempt).or_insert((0, self.processes));
        *count += 1;
        let restarts = self.processes - *began;
        (*count > 1 + restarts).then(|| {
            format!(
                "release {release:?} has failed on host {host} {count} times, and nobody has asked for it again; \
                 operators were started {restarts} times meanwhile"
            )
        })
    }
}

/// What is wrong with a write of an operator: that it changes nothing, or finalizers of others.
pub(super) fn misuse(written: &Written) -> Option<(&'static str, String)> {
    let (kind, name) = (written.object.kind().name(), written.object.name());
    if !written.committed {
        return Some(("emptyWrite", format!("{kind} {name} was written as it is")));
    }
    let before = written.before.as_ref()?.finalizers();
    let after = written.object.finalizers();
    let others = |list: &[String]| list.iter().filter(|one| **one != *FINALIZER).cloned().collect::<Vec<_>>();
    let changed = others(before) != others(after);
    changed.then(|| ("finalizerOrder", format!("{kind} {name} lost or got finalizers that are not ours")))
}
