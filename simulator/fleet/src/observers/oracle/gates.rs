//! Gates of rollouts, judged on the true state: no further machine is permitted while nearly all that were changed are known
//! not to be ready, unless people let the rollout go on.

use std::collections::BTreeMap;
use std::time::Duration;

use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, RolloutStatus};
use seaworthy_kernel::Timestamp;
use seaworthy_model::node::Health;

use super::budget::count_or_percent;
use crate::world::World;
use crate::world::api_server::Written;

/// Since when Nodes are not ready.
#[derive(Clone, Debug, Default)]
pub(super) struct Gates {
    unready: BTreeMap<u32, Timestamp>,
}

impl Gates {
    /// The Node of a host reports a condition.
    pub(super) fn node_says(&mut self, host: u32, health: Health, now: Timestamp) {
        if health == Health::Healthy {
            self.unready.remove(&host);
        } else {
            self.unready.entry(host).or_insert(now);
        }
    }

    /// Permits that no gate can have given. Operators know what is older than `knowledge`.
    pub(super) fn objections(&self, written: &Written, world: &World, knowledge: Duration) -> Vec<String> {
        let status = |object: &crate::world::api_server::Stored| {
            object.charter().and_then(|(_, status)| status.cloned())
        };
        let before = written.before.as_ref().and_then(|before| status(before));
        let (Some(before), Some(after)) = (before, status(&written.object)) else { return Vec::new() };
        let raised = after.rollouts.iter().filter(|rollout| is_raised(&before, rollout));
        raised.filter_map(|rollout| self.objection(rollout, world, knowledge)).collect()
    }

    fn objection(&self, rollout: &RolloutStatus, world: &World, knowledge: Duration) -> Option<String> {
        let version = format!("{}-{}", rollout.component, rollout.to.version.as_deref()?);
        let component = world.catalogue.find_component(&rollout.component)?;
        let (now, started) = (world.now(), rollout.started_at.get()?);
        let (mut changed, mut unready) = (0_u32, 0_u32);
        for (number, host) in (0..).zip(&world.hosts) {
            let present = host.installed_of(component);
            if present.is_none_or(|present| world.catalogue.version_name(present.version) != version) {
                continue;
            }
            changed += 1;
            let is_known = |since: &Timestamp| *since + knowledge < now && *since > started + knowledge;
            unready += u32::from(self.unready.get(&number).is_some_and(is_known));
        }
        let strategy = rollout.course.as_ref().map(|course| &course.strategy);
        let tolerance = strategy.and_then(|strategy| strategy.tolerance.as_ref()).map(count_or_percent);
        let tolerated = tolerance.map_or(1, |tolerance| tolerance.of(changed));
        let is_clear = unready >= tolerated && unready * 4 > changed * 3;
        is_clear.then(|| {
            format!("more machines get {version}, and {unready} of {changed} that have it are not ready")
        })
    }
}

/// Whether a rollout permits more machines than before, although nothing but its gates can have decided that.
fn is_raised(before: &ClusterPackageVersionStatus, after: &RolloutStatus) -> bool {
    let is_same = |before: &&RolloutStatus| {
        before.component == after.component && before.generation == after.generation
    };
    let Some(before) = before.rollouts.iter().find(is_same) else { return false };
    let (Some(past), Some(course)) = (&before.course, &after.course) else { return false };
    let is_of_people = past.failed_gate.is_some() || course.excused > 0;
    let is_next = before.admitted_below > 0 && after.admitted_below > before.admitted_below;
    is_next && !is_of_people && course.reverted_at.is_none()
}
