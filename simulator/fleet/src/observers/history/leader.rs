//! What was seen last of the operator that leads.

use std::collections::BTreeMap;

use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{ConditionKind, Truth};

use super::machine::{Phase, WaitsFor};
use super::{Millis, Reason};
use crate::vocabulary::Occasion;

/// What is needed to see that something is different.
#[derive(Clone, Debug, Default)]
pub(super) struct Operator {
    pub(super) epoch: u32,
    pub(super) process: Option<u32>,
    pub(super) phases: Vec<(Phase, WaitsFor)>,
    pub(super) conditions: Vec<[Option<(Truth, Reason)>; ConditionKind::ALL.len()]>,
    /// Which machine of the process that leads is which host.
    pub(super) hosts: Vec<Option<u32>>,
    pub(super) fleet: FleetState,
    /// When every machine was last looked at, and whether that is due again.
    pub(super) scanned: Millis,
    pub(super) scan_due: bool,
    pub(super) reasons: BTreeMap<&'static str, u16>,
    pub(super) occasions: BTreeMap<Occasion, u64>,
}

/// What of the fleet's rollouts moves machines that nobody has looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FleetState {
    pub(super) rollouts: Vec<(ComponentId, u64, bool)>,
    pub(super) admitted: Vec<u32>,
    pub(super) paused: bool,
}
