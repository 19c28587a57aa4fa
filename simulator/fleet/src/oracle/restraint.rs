//! What an operator does without need: again and again, or to no effect. The end of a run does not show it.

use std::collections::BTreeMap;

use seaworthy_kernel::Timestamp;
use seaworthy_model::component::ReleaseId;
use seaworthy_model::effect::Target;
use seaworthy_model::id::Uid;
use seaworthy_model::meta::FINALIZER;

use crate::world::api_server::Written;

/// A process orders so much of one target within a minute at most. The whole life of a machine takes a dozen orders, and
/// what fails is tried again after seconds.
const ORDERS_MAX: u32 = 60;
const MINUTE_MILLISECONDS: u64 = 60_000;

/// An attempt to install a release: on which host, for which Machine and generation of it, and for which generation of the
/// fleet's defaults.
pub(super) type Try = (u32, ReleaseId, Uid, i64, i64);

#[derive(Clone, Debug, Default)]
pub(super) struct Restraint {
    /// What was ordered in this minute, by process and target.
    minute: u64,
    ordered: BTreeMap<(u32, Target), u32>,
    /// Operator processes that were started.
    processes: u32,
    /// How often a release failed, and how many processes had been started when it first did.
    failed: BTreeMap<Try, (u32, u32)>,
    /// What each host has begun last, unless it may be what was wanted before.
    begun: BTreeMap<u32, Option<Try>>,
    /// When people changed what they want of a host's Machine, and of all.
    asked: BTreeMap<u32, Timestamp>,
    all_asked: Option<Timestamp>,
}

impl Restraint {
    pub(super) const fn process_started(&mut self) {
        self.processes += 1;
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

    /// People have changed what they want of a machine, or of all.
    pub(super) fn asked(&mut self, host: Option<u32>, now: Timestamp) {
        match host {
            Some(host) => self.asked.insert(host, now),
            None => self.all_asked.replace(now).and(None),
        };
    }

    /// A host begins to install a release, as was ordered by somebody who knew what people wanted until `known`.
    pub(super) fn begun(&mut self, attempt: Try, known: Timestamp) {
        let host = attempt.0;
        let asked = self.asked.get(&host).copied().max(self.all_asked);
        let is_known = asked.is_none_or(|asked| asked < known);
        self.begun.insert(host, is_known.then_some(attempt));
    }

    /// A release has failed. Once is what it takes to know, and once more for each process that may have taken with it
    /// what it knew. What was ordered while people changed their minds does not count.
    pub(super) fn failed(&mut self, host: u32) -> Option<String> {
        let attempt = self.begun.remove(&host)??;
        let (count, began) = self.failed.entry(attempt).or_insert((0, self.processes));
        *count += 1;
        let restarts = self.processes - *began;
        (*count > 1 + restarts).then(|| {
            format!(
                "release {:?} has failed on host {host} {count} times, and nobody has asked for it again; operators \
                 were started {restarts} times meanwhile",
                attempt.1
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
