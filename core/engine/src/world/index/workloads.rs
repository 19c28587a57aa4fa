//! What a change does to the workloads of a machine, and what the strategy of its rollout allows.

use core::time::Duration;

use seaworthy_model::component::Disruption;
use seaworthy_model::id::VersionId;
use seaworthy_model::report::Blocker;
use seaworthy_model::strategy::{Strategy, Undrainable};

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::standing::Standing;
use crate::world::World;

impl World {
    /// Whether pods have to leave a Node before one version of a component gives way to another: if either requires it, or
    /// if the component goes that runs pods.
    pub(crate) fn needs_drain(&self, goes: Option<VersionId>, comes: Option<VersionId>) -> bool {
        self.disruption(goes, comes).drains()
    }

    /// What it does to the workloads of a machine that one version of a component gives way to another: the more disruptive
    /// of the two counts.
    fn disruption(&self, goes: Option<VersionId>, comes: Option<VersionId>) -> Disruption {
        let class = |version| self.version_spec(version).map_or(Disruption::None, |spec| spec.disruption);
        let runs_pods = |version| self.version_spec(version).is_some_and(|spec| spec.node_identity.is_some());
        let stops_pods = comes.is_none() && goes.is_some_and(runs_pods);
        let least = if stops_pods { Disruption::Drain } else { Disruption::None };
        goes.into_iter().chain(comes).map(class).fold(least, Ord::max)
    }

    /// What a rollout may do to workloads is part of the present strategy of its owner: people tighten or loosen it while the
    /// rollout is under way. Without one, that with which it started counts. `None`: a rollout without a strategy.
    pub(crate) fn strategy_of<'w>(&'w self, rollout: &'w RolloutState) -> Option<&'w Strategy> {
        let recorded = || rollout.record.course.as_ref().map(|course| &course.strategy);
        self.charter(rollout.owner).and_then(|charter| charter.strategy).or_else(recorded)
    }

    /// Why a rollout must not change a machine that serves: its strategy allows less than that does to the workloads there.
    pub(crate) fn too_disruptive(&self, rollout: &RolloutState, machine: &Machine) -> Option<Blocker> {
        let limit = self.strategy_of(rollout)?.at_most?;
        let serves = machine.was_set_up() && !machine.is_spared();
        let goes = machine.installed(rollout.record.component).map(|installed| installed.version);
        let exceeds = || self.disruption(goes, rollout.record.target().version()) > limit;
        (serves && exceeds()).then_some(Blocker::TooDisruptive { limit })
    }

    /// How long after its cordon pods of a machine's Node are deleted that have not left, if a rollout that needs the drain says
    /// so.
    pub fn force_after(&self, machine: &Machine) -> Option<Duration> {
        let rollouts = self.fleet.rollouts.iter().enumerate();
        let forced = rollouts.filter_map(|(index, rollout)| {
            let standing = machine.standing(index);
            let is_permitted = standing.is_unfinished() && standing != Standing::Waiting;
            let Undrainable::Force { after } = self.strategy_of(rollout)?.undrainable else { return None };
            (is_permitted && self.is_drained_for(rollout, machine)).then_some(after)
        });
        forced.min()
    }

    /// Whether a machine is next in line to be drained: a rollout permits it, and has not changed it. Pods that have to leave
    /// another Node are steered away from it, if the fleet's defaults say so.
    #[must_use]
    pub fn is_next(&self, machine: &Machine) -> bool {
        if !self.drain_policy().steer || !machine.is_live() {
            return false;
        }
        let mut rollouts = self.fleet.rollouts.iter().enumerate();
        rollouts.any(|(index, rollout)| {
            let standing = machine.standing(index);
            let is_permitted = matches!(standing, Standing::Eligible | Standing::Granted | Standing::Held);
            is_permitted && rollout.is_active() && self.is_drained_for(rollout, machine)
        })
    }

    /// Whether a machine has a Node that is drained before it gets what a rollout brings.
    pub(crate) fn is_drained_for(&self, rollout: &RolloutState, machine: &Machine) -> bool {
        let goes = || machine.installed(rollout.record.component).map(|installed| installed.version);
        self.may_drain(rollout)
            && machine.node.is_some()
            && self.needs_drain(goes(), rollout.record.target().version())
    }

    /// Whether a rollout may drain Nodes at all: most do not, and then no machine has to be looked at.
    pub(crate) fn may_drain(&self, rollout: &RolloutState) -> bool {
        self.draining.contains(&rollout.record.component)
    }
}
