//! The last observed state of the leading operator.

use std::collections::BTreeMap;

use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{ConditionKind, Truth};

use super::machine::{Phase, WaitsFor};
use super::{Millis, Reason};
use crate::vocabulary::Occasion;

/// The state that is needed to detect changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Operator {
    pub(super) epoch: u32,
    pub(super) process: Option<u32>,
    pub(super) phases: Vec<(Phase, WaitsFor)>,
    /// Whether each machine takes a unit of the budget.
    pub(super) claims: Vec<bool>,
    pub(super) conditions: Vec<[Option<(Truth, Reason)>; ConditionKind::ALL.len()]>,
    /// The host of each machine of the leading process.
    pub(super) hosts: Vec<Option<u32>>,
    pub(super) fleet: FleetState,
    /// The time of the last scan of every machine, and whether a new scan is due.
    pub(super) scanned: Millis,
    pub(super) scan_due: bool,
    pub(super) reasons: BTreeMap<&'static str, u16>,
    pub(super) occasions: BTreeMap<Occasion, u64>,
}

/// The parts of the fleet's rollouts whose change moves machines that the operator has not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FleetState {
    pub(super) rollouts: Vec<(ComponentId, u64, bool)>,
    pub(super) granted: Vec<Option<Vec<u32>>>,
    pub(super) paused: bool,
}
