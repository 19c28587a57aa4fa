//! Gates of rollouts, judged on the true state: no further machine is permitted while nearly all that were changed are known
//! not to be ready, unless people let the rollout go on, nor before those of a batch were watched for as long as they are to be.

use std::collections::BTreeMap;
use std::time::Duration;

use seaworthy_api::parse;
use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, CourseStatus, RolloutStatus};
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Uid;
use seaworthy_model::node::Health;

use super::budget::count_or_percent;
use crate::world::World;
use crate::world::api_server::Written;

/// A batch: who owns the rollout, the component, the generation of the rollout, and its number.
type Batch = (Uid, String, i64, i64);

/// What gates go by, by a true clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Gates {
    /// Since when Nodes are not ready.
    unready: BTreeMap<u32, Timestamp>,
    /// Since when batches are watched, and how many epochs there were by then.
    watched: BTreeMap<Batch, (Timestamp, usize)>,
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

    /// Permits that no gate can have given. Operators know what is older than `knowledge`, and the present one is that of this
    /// epoch.
    pub(super) fn objections(
        &mut self,
        written: &Written,
        world: &World,
        (knowledge, epoch): (Duration, usize),
    ) -> Vec<String> {
        let status = |object: &crate::world::api_server::Stored| {
            object.charter().and_then(|(_, status)| status.cloned())
        };
        let before = written.before.as_ref().and_then(|before| status(before));
        let (Some(before), Some(after)) = (before, status(&written.object)) else { return Vec::new() };
        let (owner, now) = (written.object.uid(), world.now());
        let mut objections = Vec::new();
        for rollout in &after.rollouts {
            if let Some(past) = raised(&before, rollout) {
                objections.extend(self.objection(rollout, world, knowledge));
                objections.extend(self.too_early(owner, (rollout, past), (now, epoch), knowledge));
            }
            if let Some(course) = rollout.course.as_ref().filter(|course| course.done_at.is_some()) {
                self.watched.entry(batch(owner, rollout, course)).or_insert((now, epoch));
            }
        }
        objections
    }

    /// Whether a batch with changed machines was watched for less than three quarters of its time. The write that said that it was
    /// done may have come late, and a clock runs fast. Each operator has a clock of its own, so only the deeds of one are compared.
    fn too_early(
        &self,
        owner: Uid,
        (rollout, course): (&RolloutStatus, &CourseStatus),
        (now, epoch): (Timestamp, usize),
        knowledge: Duration,
    ) -> Option<String> {
        if rollout.updated + rollout.failed == 0 {
            return None;
        }
        let watched = self.watched.get(&batch(owner, rollout, course));
        let (since, _) = watched.filter(|(_, began_in)| *began_in == epoch)?;
        let strategy = &course.strategy;
        let text = if course.batch <= course.batches_before + 1 {
            &strategy.first_bake_time
        } else {
            &strategy.bake_time
        };
        let lasted = now.since(*since);
        let (component, number) = (&rollout.component, course.batch);
        (lasted + knowledge < parse::duration(text)? * 3 / 4)
            .then(|| format!("batch {number} of {component} is watched for {lasted:?} instead of {text}"))
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

fn batch(owner: Uid, rollout: &RolloutStatus, course: &CourseStatus) -> Batch {
    (owner, rollout.component.clone(), rollout.generation, course.batch)
}

/// The course so far of a rollout that permits more machines than before, although nothing but its gates can have decided that.
fn raised<'s>(before: &'s ClusterPackageVersionStatus, after: &RolloutStatus) -> Option<&'s CourseStatus> {
    let is_same = |before: &&RolloutStatus| {
        before.component == after.component && before.generation == after.generation
    };
    let before = before.rollouts.iter().find(is_same)?;
    let (past, course) = (before.course.as_ref()?, after.course.as_ref()?);
    let is_of_people = past.failed_gate.is_some() || course.excused > 0;
    let is_next = before.admitted_below > 0 && after.admitted_below > before.admitted_below;
    (is_next && !is_of_people && course.reverted_at.is_none()).then_some(past)
}
