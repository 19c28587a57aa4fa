//! Disruption policies: which spec counts, and what is told of it. What they allow is in
//! [`index::policies`](crate::world::index::policies).
//!
//! A policy must not stop to count because somebody made a mistake in it. So the last valid spec stays in force. An operator
//! that has not seen a valid one knows neither the machines nor the limits: then it disrupts nothing.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::effect::{ActionId, Effect, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::id::{PolicyId, StoreId};
use seaworthy_model::machine::Truth;
use seaworthy_model::policy::{
    PolicyCondition, PolicyConditionKind, PolicyDetail, PolicyObject, PolicyReason, PolicyStatus, Stop,
};
use seaworthy_model::report::{Subject, WakeReason};
use seaworthy_model::time::Timestamp;

use crate::domains::draft::{Draft, write};
use crate::rows::policy::Policy;
use crate::rows::ticket::InFlight;
use crate::runtime::queue::Priority;
use crate::runtime::retry::{Retry, Terms};
use crate::world::World;

/// A policy as it is now.
pub(super) fn observe(world: &mut World, id: PolicyId, object: Option<Box<PolicyObject>>) {
    let row = world.policies.row(id);
    let meta = object.as_ref().map(|object| &object.meta);
    let newest = row.tracked.meta().map(|seen| seen.resource_version);
    let newest = newest.zip(meta).map(|(newest, meta)| (newest, meta.clone()));
    if newest.is_some_and(|(newest, meta)| world.is_outdated(StoreId::HOME, &meta, newest)) {
        return;
    }
    let row = world.policies.row(id);
    let uid = |object: &PolicyObject| object.meta.uid;
    let is_same = row.object().map(uid) == object.as_deref().map(uid);
    if !is_same {
        row.tracked.writes.written = None;
    }
    let known = (row.in_force.clone(), row.is_unknown());
    let valid = object.as_ref().and_then(|object| object.spec.as_ref().ok()).map(Arc::clone);
    row.in_force = valid.or_else(|| row.in_force.take().filter(|_| is_same && object.is_some()));
    row.tracked.see(object);
    row.tracked.writes.retry = Retry::default();
    if (&row.in_force, row.is_unknown()) != (&known.0, known.1) {
        world.respecify_policies();
    }
    world.touch(Subject::Policy(id), Priority::Normal);
}

/// A write is ordered.
pub(super) fn start(world: &mut World, id: PolicyId, action: ActionId) {
    world.policies.row(id).tracked.writes.action = Some(action);
}

/// A write has ended.
pub(super) fn finish(
    world: &mut World,
    id: PolicyId,
    in_flight: &InFlight,
    outcome: &Outcome,
    terms: &Terms<'_>,
) {
    let now = world.now;
    let back_off = |retry: &mut Retry| terms.back_off(retry, now, 3 + u64::from(id.0));
    world.policies.row(id).tracked.settle(outcome, in_flight.resource_version, back_off);
}

/// Forgets the awaited echoes: a store is listed again.
pub(super) fn unsync(world: &mut World, store: StoreId) {
    if store == StoreId::HOME {
        world.policies.iter_mut().for_each(|(_, policy)| policy.tracked.writes.written = None);
    }
}

/// Writes the status of a policy, if the recorded one says anything else.
pub(super) fn reconcile(world: &World, id: PolicyId, draft: &mut Draft<'_>) {
    let Some(policy) = world.policies.get(id) else { return };
    if world.policies.until < Timestamp::MAX {
        // The next turn looks at the calendars.
        draft.wake_at(world.policies.until.max(draft.now), WakeReason::Admission);
    }
    let Some(object) = draft.ready(&policy.tracked) else { return };
    if let Some(blocker) = world.gate(StoreId::HOME) {
        return draft.wait(blocker);
    }
    let told = told(policy, object, draft.now, world);
    let recorded = &object.status.conditions;
    let is_told = object.status.observed_generation == object.meta.generation
        && recorded
            .iter()
            .map(|told| (told.kind, told.truth, told.reason))
            .eq(told.iter().map(|(kind, truth, reason, _)| (*kind, *truth, *reason)));
    if is_told || object.meta.is_terminating() {
        return;
    }
    let conditions = told.into_iter().map(|(kind, truth, reason, detail)| {
        let before = recorded.iter().find(|before| before.kind == kind && before.truth == truth);
        let since = before.map_or(draft.now.whole_seconds(), |before| before.since);
        let observed_generation = object.meta.generation;
        PolicyCondition { kind, truth, reason, detail, since, observed_generation }
    });
    let conditions: Vec<PolicyCondition> = conditions.collect();
    let status = PolicyStatus { observed_generation: object.meta.generation, conditions };
    write(draft, Target::Policy(id), &object.meta, Effect::WritePolicyStatus(Box::new(status)));
}

/// A condition without its times.
type Told = (PolicyConditionKind, Truth, PolicyReason, Option<PolicyDetail>);

fn told(policy: &Policy, object: &PolicyObject, now: Timestamp, world: &World) -> [Told; 2] {
    let ready = match &object.spec {
        Ok(_) => (Truth::True, PolicyReason::InForce, None),
        Err(faults) => {
            let faults = PolicyDetail::Faults((&faults[..]).into());
            (Truth::False, PolicyReason::InvalidSpec, Some(faults))
        }
    };
    let permitting = match policy.stop {
        None => (Truth::True, PolicyReason::Open, None),
        Some(Stop::Paused) => (Truth::False, PolicyReason::PolicyPaused, None),
        Some(Stop::Invalid) => (Truth::False, PolicyReason::InvalidSpec, None),
        Some(Stop::Frozen(until)) => {
            let spec = policy.in_force.as_ref();
            let why = spec.and_then(|spec| spec.freeze_reason(now, world.policies.longest_operation()));
            let detail = PolicyDetail::Frozen(until, why.cloned().unwrap_or_default());
            (Truth::False, PolicyReason::Frozen, Some(detail))
        }
        Some(Stop::OutsideWindow(until)) => {
            (Truth::False, PolicyReason::OutsideWindow, Some(PolicyDetail::Until(until)))
        }
    };
    let with = |kind, (truth, reason, detail)| (kind, truth, reason, detail);
    [with(PolicyConditionKind::Ready, ready), with(PolicyConditionKind::Permitting, permitting)]
}
