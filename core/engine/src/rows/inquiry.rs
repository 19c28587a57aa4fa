//! What a gate has asked besides the machines, and what was answered.

use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::draw::mix;
use seaworthy_model::gate_check::{GateCheck, ProbeRound, Silence};
use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::strategy::Course;
use seaworthy_model::time::Timestamp;

use crate::rows::rank::RankKey;

/// What was not answered is asked again after this time.
const ASKS_AGAIN: Duration = Duration::from_secs(60);

/// What a gate has asked. It is lost with the engine: a successor asks again. It counts for one gate only.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// The gate: the generation of its rollout, and the number of its batch.
    gate: (u64, u32),
    /// When this round of probe pods began.
    pub(crate) began: Timestamp,
    /// When the last of them was created: the others wait no longer than that one.
    pub(crate) created_at: Timestamp,
    /// The machines on which probe pods were created, in the order of their numbers.
    pub(crate) probed: Vec<MachineId>,
    /// The numbers of those that have started, in order.
    pub(crate) started: Vec<u32>,
    /// When they were last looked at. None starts from then on.
    pub(crate) listed_at: Option<Timestamp>,
    /// An earlier round has left a doubt.
    pub(crate) is_in_doubt: bool,
    /// How many series the query has found, once it was answered.
    pub(crate) series: Option<u32>,
    /// What was not answered, and why.
    pub(crate) trouble: Option<(GateCheck, Silence)>,
    /// Nothing is asked before.
    pub(crate) not_before: Timestamp,
}

impl Inquiry {
    /// An inquiry for the present gate of a rollout.
    pub(crate) const fn new(record: &Rollout, course: &Course, now: Timestamp) -> Self {
        Self {
            gate: (record.generation, course.batch),
            began: now,
            created_at: now,
            probed: Vec::new(),
            started: Vec::new(),
            listed_at: None,
            is_in_doubt: false,
            series: None,
            trouble: None,
            not_before: now,
        }
    }

    /// Whether it is about the present gate of a rollout.
    #[must_use]
    pub fn is_for(&self, record: &Rollout, course: &Course) -> bool {
        self.gate == (record.generation, course.batch)
    }

    /// What its probe pods have in common: no other round has it.
    pub(crate) fn round(&self, key: RankKey) -> ProbeRound {
        ProbeRound(mix(&[key.number(), u64::from(self.gate.1), self.began.millis()]))
    }

    /// How many of its probe pods have not started.
    pub(crate) fn unstarted(&self) -> u32 {
        count(self.probed.len()).saturating_sub(count(self.started.len()))
    }

    /// The machines on which they have not started.
    pub(crate) fn without(&self) -> impl Iterator<Item = MachineId> + '_ {
        let probed = (0..).zip(&self.probed);
        probed.filter(|(number, _)| self.started.binary_search(number).is_err()).map(|(_, machine)| *machine)
    }

    /// How many were to start.
    pub(crate) fn probes(&self) -> u32 {
        count(self.probed.len())
    }

    /// How many series the query has found; `None` if it was not answered.
    #[must_use]
    pub const fn series(&self) -> Option<u32> {
        self.series
    }

    /// Whether every probe pod has started, of at least one.
    #[must_use]
    pub fn have_all_started(&self) -> bool {
        !self.probed.is_empty() && self.unstarted() == 0
    }

    /// Notes that something was not answered.
    pub(crate) fn fails(&mut self, check: GateCheck, why: Silence, now: Timestamp) {
        self.trouble = Some((check, why));
        self.not_before = now + ASKS_AGAIN;
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
