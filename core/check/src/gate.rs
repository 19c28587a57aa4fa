//! Gates: a rollout with a strategy permits the next batch only once the machines of the last one were watched for its bake
//! time, and not after its gate has failed, unless people let it go on. The first batch comes once a sample of the machines has
//! fetched the artefact. It takes a release back only if its strategy says so, and there is something to go back to.

use alloc::borrow::ToOwned;

use seaworthy_engine::{Answers, Inquiry, Owner, RolloutState, Ticket, World};
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Turn;
use seaworthy_model::strategy::{Course, OnFailure};

use crate::invariant::{Findings, Invariant, recorded};

pub(crate) const INVARIANT: Invariant = Invariant { name: "gate", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        if let Some(wrong) = objection_to_question(world, action) {
            findings.against(action, wrong.to_owned());
        }
        if let (Effect::Host(order), Target::Host(id)) = (&action.effect, action.target)
            && matches!(order.command, HostCommand::Fetch { .. })
            && !world.fleet.rollouts.iter().any(|state| state.is_awaiting(id))
        {
            findings.against(action, "it fetches an artefact that no rollout asks for".to_owned());
        }
        let Some((owner, status)) = recorded(action) else { continue };
        for state in world.fleet.rollouts.iter().filter(|state| state.owner == owner) {
            let is_same = |new: &&Rollout| {
                (new.component, new.generation) == (state.record.component, state.record.generation)
            };
            let Some(new) = status.rollouts.iter().find(is_same) else { continue };
            if let Some(wrong) = objection(world, state, new) {
                findings.against(action, wrong.to_owned());
            }
        }
    }
}

/// What is wrong with the new record of a rollout.
fn objection(world: &World, state: &RolloutState, new: &Rollout) -> Option<&'static str> {
    let old = &state.record;
    let course = old.course.as_ref()?;
    let Some(next) = new.course.as_ref() else { return Some("its course is lost") };
    if next.reverted_at.is_some() && course.reverted_at.is_none() {
        let may_revert = course.strategy.on_failure == OnFailure::RollBack
            && next.failure.is_some()
            && course.batches_before == 0;
        return (!may_revert || new.from.is_none())
            .then_some("it is reverted, which its strategy does not say");
    }
    if next.reverted_at != course.reverted_at {
        return Some("it is not reverted any more");
    }
    let is_first = new.admitted_below > 0 && state.is_before_first_batch();
    if is_first && !is_sampled(world, state) && !is_overridden(world, state, course) {
        return Some("the first batch is permitted before a sample of the machines has fetched the artefact");
    }
    let is_next = new.admitted_below > old.admitted_below && old.admitted_below > 0;
    if course.failure.is_some() && next.failure.is_none() && !is_overridden(world, state, course) {
        return Some("its gate has failed, and is forgotten");
    }
    if let Some(wrong) = objection_to_catch_up(state, new) {
        return Some(wrong);
    }
    let is_over = new.completed_at.is_some() && state.is_active() && !old.is_reverted();
    let is_passed = (is_next && course.failure.is_none()) || is_over;
    if !is_passed || changes_nobody(state) || is_overridden(world, state, course) {
        return None;
    }
    if course.failure.is_some() {
        return Some("it is complete, and its gate has failed");
    }
    if !is_baked(world, course) {
        return Some("a batch has passed its gate before its machines were watched");
    }
    (!is_answered(state, course))
        .then_some("a batch has passed its gate before that has the answers that its strategy asks for")
}

/// What is wrong with the grants of a catch-up batch. While its machines are watched, only those join it that are out of service;
/// and it takes no more than one in ten.
fn objection_to_catch_up(state: &RolloutState, new: &Rollout) -> Option<&'static str> {
    let course = state.record.course.as_ref().filter(|course| course.catches_up && state.is_active())?;
    let before = state.record.granted.as_deref().unwrap_or_default();
    let granted = new.granted.iter().flatten().filter(|rank| before.binary_search(rank).is_err()).count();
    let granted = u32::try_from(granted).unwrap_or(u32::MAX).saturating_sub(state.counts.idle);
    if granted > 0 && course.done_at.is_some() {
        return Some("a machine joins a catch-up batch that is watched already");
    }
    (granted > (state.counts.total() / 10).max(1))
        .then_some("a catch-up batch is a large part of the machines")
}

/// Whether at least half of the machines that were asked have fetched the artefact, or nobody can say anything about it.
fn is_sampled(world: &World, state: &RolloutState) -> bool {
    match state.present_sample() {
        Some(sample) => {
            let Answers { fetched, failed, open } = sample.answers();
            let nobody_can_say = fetched + failed + open == 0 && !sample.is_in_trouble();
            nobody_can_say || fetched > 0 && fetched >= failed + open
        }
        None => !state.waiting.iter().any(|(_, id)| world.may_fetch(world.machine(*id), state)),
    }
}

/// Whether people let the rollout go on in spite of this gate.
fn is_overridden(world: &World, state: &RolloutState, course: &Course) -> bool {
    let record = &state.record;
    world.charter(state.owner).and_then(|charter| charter.resume).is_some_and(|resume| {
        (resume.component, resume.generation, resume.batch)
            == (record.component, record.generation, course.batch)
    })
}

/// What is wrong with a question that a gate asks, if the action is one.
fn objection_to_question(world: &World, action: &Action) -> Option<&'static str> {
    if !matches!(action.effect, Effect::Query(_) | Effect::StartProbe(_) | Effect::ListProbes(_)) {
        return None;
    }
    let in_flight = world.in_flight().get(&action.id)?;
    let Ticket::Check(ticket) = in_flight.ticket else { return Some("the engine does not remember it") };
    let owner = Owner::of(in_flight.subject.target())?;
    let index = world.rollout_of(owner, ticket.component())?;
    let state = &world.fleet.rollouts[index];
    let Some(course) = state.record.course.as_ref().filter(|course| course.failure.is_none()) else {
        return Some("no gate asks that");
    };
    if !is_baked(world, course) {
        return Some("a gate asks before the machines of the batch were watched");
    }
    match (&action.effect, action.target) {
        (Effect::StartProbe(_), Target::Node(id)) => (!world.machine(id).standing(index).is_updated())
            .then_some("a probe pod starts on a machine that the rollout has not changed"),
        _ => (action.target != owner.target()).then_some("it is asked for another rollout"),
    }
}

/// Whether a rollout has changed no machine, or none of those that came after it was complete: there is nobody to watch.
fn changes_nobody(state: &RolloutState) -> bool {
    let has_begun = |course: &Course| !course.catches_up || course.batch > course.batches_before;
    let changed = state.counts.updated() + state.counts.failed;
    changed == 0 || !state.record.course.as_ref().is_some_and(has_begun)
}

/// Whether the machines of the batch were watched for long enough.
fn is_baked(world: &World, course: &Course) -> bool {
    let bake = if course.is_first() { course.strategy.first_bake } else { course.strategy.bake };
    course.done_at.is_some_and(|done_at| done_at + bake <= world.now())
}

/// Whether the metrics have said that nothing is wrong, and all probe pods have started, as far as the strategy asks for that.
fn is_answered(state: &RolloutState, course: &Course) -> bool {
    let inquiry = state.inquiry.as_deref().filter(|inquiry| inquiry.is_for(&state.record, course));
    let is_well = course.strategy.query.is_none() || inquiry.and_then(Inquiry::series) == Some(0);
    is_well && (course.strategy.probe_pod.is_none() || inquiry.is_some_and(Inquiry::have_all_started))
}
