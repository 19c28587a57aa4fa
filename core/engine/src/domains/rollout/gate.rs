//! The gate after each batch of a rollout with a strategy: the machines that were changed are compared with those that the
//! rollout has not touched.
//!
//! A machine counts as gone wrong if the release failed there, if it has become unavailable since the rollout started, if its
//! Node has reported a problem since, or if the service of the release does not run, had to be repaired, or was started again
//! by itself more than once.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::detail::{FleetDetail, GateName};
use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::{FleetReason, Rollout};
use seaworthy_model::report::{Blocker, WakeReason};
use seaworthy_model::strategy::{Course, Evidence, GateFailure, OnFailure};
use seaworthy_model::time::Timestamp;

use super::inquiry::{Found, with_answers};
use super::standstill::{Gate, Standstill};
use super::suspects::{Suspects, changed_at, onset};
use super::verdict::{Verdict, is_silent, verdict};
use super::{Plan, Step, has_gates, is_done};
use crate::domains::draft::Draft;
use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::note::{MachineNote, Note};
use crate::rows::set::Owner;
use crate::rows::standing::Standing;

/// A gate that knows too little, or that finds more machines unavailable than usual, looks again after this time.
const LOOKS_AGAIN: Duration = Duration::from_secs(60);

/// Of so many of the machines that were changed last, the host is read at a gate: enough to find what befalls one in fifty.
const INSPECTED: usize = 256;
/// Those that were not read within this time are silent.
const READ_WITHIN: Duration = Duration::from_secs(180);
/// How often a gate looks whether they were read.
const INSPECTS_AGAIN: Duration = Duration::from_secs(15);

impl Step<'_> {
    /// Takes the course of a rollout one step on.
    pub(super) fn judge(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) -> Gate {
        let Some(course) = state.record.course.as_ref().filter(|course| course.reverted_at.is_none()) else {
            return Gate::Open;
        };
        if course.failure.is_some() {
            return self.stay_failed(draft, (index, state, course), record, plan);
        }
        let bakes_until = course.done_at.map(|at| self.bakes_until(course, at));
        let is_baked = is_done(self.world, state) && bakes_until.is_some_and(|until| until <= draft.now);
        // The counters show cheaply whether there is anything to find.
        let may_differ = state.counts.failed > 0
            || self.world.fallen() > 0
            || !self.world.repairs.is_empty()
            || self.world.restarts.may_tell();
        if state.awaits_catch_up() || (!is_baked && !may_differ) {
            return self.wait_for_batch(draft, (state, course), record, plan);
        }
        if let Some(until) = bakes_until.filter(|_| is_baked)
            && self.inspects(draft, (index, state), until)
        {
            plan.standstill.bakes();
            return Gate::Closed;
        }
        let evidence = self.whole_evidence((index, state), course);
        match verdict(course, &evidence) {
            Verdict::Fail => self.fail(draft, evidence, record, plan),
            Verdict::Pass if is_baked => self.ask(draft, (index, state, evidence), record, plan),
            Verdict::Inconclusive if is_baked => {
                let until = bakes_until.unwrap_or(draft.now) + course.bake_time();
                if !is_silent(&evidence) && until <= draft.now {
                    return self.ask(draft, (index, state, evidence), record, plan);
                }
                draft.wake_at(draft.now + LOOKS_AGAIN, WakeReason::Gate);
                self.stay_in_doubt(draft, evidence, record, plan)
            }
            Verdict::Pass | Verdict::Inconclusive => {
                self.wait_for_batch(draft, (state, course), record, plan)
            }
        }
    }

    /// The machines have passed: asks what the strategy says besides.
    fn ask(
        self,
        draft: &mut Draft<'_>,
        (index, state, evidence): (usize, &RolloutState, Evidence),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) -> Gate {
        let Some(course) = state.record.course.as_ref() else { return Gate::Passed };
        match self.inquire(draft, (index, state), course) {
            Found::Nothing => Gate::Passed,
            Found::Wrong => self.fail(draft, with_answers(evidence, state, course), record, plan),
            Found::TooLittle => self.stay_in_doubt(draft, evidence, record, plan),
            Found::Open => {
                plan.standstill.bakes();
                draft.wait(Blocker::Baking { until: draft.now });
                Gate::Closed
            }
        }
    }

    /// Too little is known. People may let the rollout go on all the same.
    fn stay_in_doubt(
        self,
        draft: &mut Draft<'_>,
        evidence: Evidence,
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) -> Gate {
        if self.is_overridden(record) {
            override_gate(record, evidence.wrong());
            return Gate::Passed;
        }
        plan.standstill = Standstill::Stopped(FleetReason::GateInconclusive);
        draft.wait(Blocker::GateInconclusive);
        Gate::Closed
    }

    /// Whether people let a rollout go on in spite of its present gate.
    pub(super) fn is_overridden(self, record: &Rollout) -> bool {
        let batch = record.course.as_ref().map(|course| course.batch);
        self.object.resume.is_some_and(|resume| {
            (resume.component, resume.generation, Some(resume.batch))
                == (record.component, record.generation, batch)
        })
    }

    /// Until when a batch is watched that was done at this time. An operator that was paused, or whose clock was set forward, has
    /// not watched it meanwhile, and begins anew.
    fn bakes_until(self, course: &Course, done_at: Timestamp) -> Timestamp {
        self.world.seen_since(done_at).whole_seconds() + course.bake_time()
    }

    /// The batch is under way, or its machines are being watched.
    fn wait_for_batch(
        self,
        draft: &mut Draft<'_>,
        (state, course): (&RolloutState, &Course),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) -> Gate {
        let is_done = is_done(self.world, state);
        let has_changed_any = state.counts.updated() + state.counts.failed > 0 && !state.awaits_catch_up();
        if state.record.admitted_below == 0 || (is_done && !has_changed_any) {
            return Gate::Passed;
        }
        if !is_done {
            return Gate::Open;
        }
        let done_at = course.done_at.unwrap_or_else(|| draft.now.whole_seconds());
        if course.done_at.is_none() {
            on_course(record, |course| course.done_at = Some(done_at));
        }
        let until = self.bakes_until(course, done_at);
        plan.standstill.bakes();
        draft.wake_at(until, WakeReason::Gate);
        draft.wait(Blocker::Baking { until });
        Gate::Closed
    }

    /// The gate has failed before: only a person can let the rollout go on.
    fn stay_failed(
        self,
        draft: &mut Draft<'_>,
        (index, state, course): (usize, &RolloutState, &Course),
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) -> Gate {
        if let (true, Some(failure)) = (self.is_overridden(record), course.failure) {
            // More may have gone wrong since, which people have seen as well.
            let now = self.evidence(index, state, course.done_at);
            override_gate(record, failure.evidence.wrong().max(now.wrong()));
            return Gate::Passed;
        }
        plan.standstill = Standstill::Stopped(FleetReason::GateFailed);
        draft.wait(Blocker::GateFailed { batch: course.batch });
        Gate::Closed
    }

    /// The gate fails: it is recorded, and what the strategy says follows.
    fn fail(
        self,
        draft: &mut Draft<'_>,
        evidence: Evidence,
        record: &mut Cow<'_, Rollout>,
        plan: &mut Plan,
    ) -> Gate {
        let now = draft.now.whole_seconds();
        let may_revert = self.world.may_revert(record);
        on_course(record, |course| {
            course.failure = Some(GateFailure { at: now, evidence });
            let reverts = may_revert && course.strategy.on_failure == OnFailure::RollBack;
            course.reverted_at = reverts.then_some(now);
        });
        let course = record.course.as_ref();
        let (batch, reverts) = course.map_or((0, false), |it| (it.batch, it.reverted_at.is_some()));
        if reverts {
            record.to_mut().admitted_below = Rollout::EVERYBODY;
            plan.standstill = Standstill::Stopped(FleetReason::RolledBack);
        } else {
            plan.standstill = Standstill::Stopped(FleetReason::GateFailed);
            draft.wait(Blocker::GateFailed { batch });
        }
        Gate::Closed
    }

    /// The evidence of a gate. Once its batch was watched, it includes the hosts that did not say whether their services run.
    fn whole_evidence(self, (index, state): (usize, &RolloutState), course: &Course) -> Evidence {
        let mut evidence = self.evidence(index, state, course.done_at);
        let until = course.done_at.map(|at| self.bakes_until(course, at));
        if let Some(until) = until.filter(|until| *until <= self.world.now) {
            evidence.silent += self.unheard((index, state), until, evidence.changed);
        }
        evidence
    }

    /// Counts the machines of a rollout. Of those that are at work, also for another rollout, little is known.
    pub(super) fn evidence(self, index: usize, state: &RolloutState, done_at: Option<Timestamp>) -> Evidence {
        let (began, component) = (state.record.started_at, state.record.component);
        let is_of_set = state.owner != Owner::Fleet;
        let had_it_before = self.had_it_before(&state.record);
        let mut evidence = Evidence::default();
        let mut suspects = Suspects::new(self.world, index);
        for (id, machine) in self.world.machines() {
            let fell = |since: &dyn Fn() -> Timestamp| self.has_fallen((id, machine), &state.record, since);
            match machine.standing(index) {
                Standing::Failed => {
                    evidence.changed += 1;
                    evidence.failed += 1;
                }
                Standing::Done if had_it_before(id) => {
                    evidence.untouched += 1;
                    evidence.untouched_unavailable += u32::from(fell(&|| began));
                }
                Standing::Done | Standing::Restored => {
                    evidence.changed += 1;
                    let is_unavailable = fell(&|| changed_at(self.world, (component, id), began));
                    let is_silent = machine.is_unresolved() || says_nothing(machine, done_at);
                    evidence.unavailable += u32::from(is_unavailable);
                    suspects.note(id, machine, is_unavailable);
                    evidence.silent += u32::from(!is_unavailable && is_silent);
                }
                Standing::Held if machine.is_lost() => {
                    evidence.changed += 1;
                    evidence.silent += 1;
                }
                Standing::Waiting => {
                    evidence.untouched += 1;
                    evidence.untouched_unavailable += u32::from(fell(&|| began));
                }
                // What befalls others says as much of chance as what befalls the rest of a set.
                Standing::Outside if is_of_set && machine.is_live() && !machine.derived.touched => {
                    evidence.untouched += 1;
                    evidence.untouched_unavailable += u32::from(fell(&|| began));
                }
                Standing::Outside
                | Standing::Eligible
                | Standing::Granted
                | Standing::Held
                | Standing::Deferred => {}
            }
        }
        evidence.unavailable -= suspects.charged_to_others(began);
        evidence
    }

    /// Tells the machines that had what a rollout brings when it began anew. An engine that has taken over since does not know
    /// which these are. It judges all that have it together: what few of them show is lost in what chance does to the others.
    fn had_it_before(self, record: &Rollout) -> impl Fn(MachineId) -> bool {
        let (component, began, changes) = (record.component, record.started_at, &self.world.changes);
        let any_had_it = record.course.as_ref().is_some_and(|course| course.judged_before > 0);
        let is_known = any_had_it && self.world.leadership.began_at <= began;
        move |id| is_known && changes.began(component, id).is_none_or(|changed| changed < began)
    }

    /// Whether a machine has gone wrong since this time. What had gone wrong before it was changed says nothing of the release.
    fn has_fallen(
        self,
        (id, machine): (MachineId, &Machine),
        record: &Rollout,
        since: impl Fn() -> Timestamp,
    ) -> bool {
        let component = record.component;
        // Work on a machine may be why it is not available; it is no reason why a service does not run.
        // Most machines that catch up come late because they come and go, with this release or another one.
        let catches_up = record.course.as_ref().is_some_and(|course| course.catches_up);
        let comes_and_goes = catches_up && self.world.changes.was_unsteady(component, id);
        let is_away =
            !machine.is_unresolved() && !comes_and_goes && onset(machine).is_some_and(|at| at > since());
        let installed = || machine.installed(component).map(|installed| installed.release);
        is_away
            || machine.is_service_wrong(component)
            || self.world.repairs.last(id, component, installed).is_some_and(|last| last > record.started_at)
            || self.world.restarts.tell(component, id, installed, &since)
    }

    /// Reads the hosts of the machines that were changed last, once the time in which they are watched is over: a service that
    /// does not run shows in no Node. True while that goes on.
    fn inspects(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        until: Timestamp,
    ) -> bool {
        let last = self.inspected((index, state)).into_iter();
        let unread: Vec<MachineId> = last.filter(|id| is_unread(self.world.machine(*id), until)).collect();
        for id in &unread {
            if self.world.machine(*id).progress.contact.audit_at.is_none_or(|at| at > draft.now) {
                draft.note(Note::Machine(*id, MachineNote::Inspect));
            }
        }
        if unread.is_empty() {
            return false;
        }
        draft.wake_at(draft.now + INSPECTS_AGAIN, WakeReason::Gate);
        if until + READ_WITHIN <= draft.now {
            return false;
        }
        draft.wait(Blocker::Baking { until });
        true
    }

    /// The machines that were changed last, as many as are read.
    fn inspected(self, (index, state): (usize, &RolloutState)) -> Vec<MachineId> {
        let had_it_before = self.had_it_before(&state.record);
        let changed = self.world.machines().filter(|(_, machine)| machine.standing(index).is_updated());
        let changed = changed.filter(|(id, _)| !had_it_before(*id));
        let mut changed: Vec<(u32, MachineId)> =
            changed.filter_map(|(id, machine)| Some((state.key.rank(machine.uid()?), id))).collect();
        changed.sort_unstable();
        changed.into_iter().rev().take(INSPECTED).map(|(_, id)| id).collect()
    }

    /// How many of the machines that were changed have not said since then whether their services run, although their Nodes
    /// are ready: as many as among those that are read. Machines that people have paused are not asked.
    fn unheard(self, rollout: (usize, &RolloutState), since: Timestamp, changed: u32) -> u32 {
        let inspected = self.inspected(rollout);
        let is_unheard = |id: &&MachineId| {
            let machine = self.world.machine(**id);
            let is_told = machine.node.is_none() || machine.unavailable_since().is_some();
            !is_told && !machine.is_paused() && !machine.is_unresolved() && !was_read(machine, since)
        };
        let (unheard, all) = (inspected.iter().filter(is_unheard).count() as u64, inspected.len() as u64);
        u32::try_from(u64::from(changed) * unheard / all.max(1)).unwrap_or(u32::MAX)
    }

    /// The batch that is watched, or the gate that has failed, if the course of a record is what the reason is about.
    pub(super) fn course_detail(self, reason: FleetReason, record: &Rollout) -> Option<FleetDetail> {
        let course =
            record.course.as_ref().filter(|_| record.completed_at.is_none() || record.is_reverted())?;
        let name = || self.gate_name(record, course);
        match (course.failure, course.done_at) {
            (Some(failure), _) if reason != FleetReason::Baking => {
                Some(FleetDetail::Gate(name(), failure.evidence))
            }
            (None, Some(done_at)) if reason == FleetReason::Baking => {
                let is_last = record.admitted_below == Rollout::EVERYBODY;
                Some(FleetDetail::Bake { gate: name(), until: self.bakes_until(course, done_at), is_last })
            }
            _ => None,
        }
    }

    /// What the gates know that wait for evidence.
    pub(super) fn doubt(self) -> Option<FleetDetail> {
        self.rollouts().find_map(|(index, state)| {
            let course = state.record.course.as_ref().filter(|_| state.is_active() && has_gates(state))?;
            course.done_at?;
            let evidence = self.whole_evidence((index, state), course);
            if verdict(course, &evidence) == Verdict::Inconclusive {
                return Some(FleetDetail::Gate(self.gate_name(&state.record, course), evidence));
            }
            self.doubt_of_inquiry(state, course, evidence)
        })
    }

    /// The gate that a rollout is at.
    pub(super) fn gate_name(self, record: &Rollout, course: &Course) -> GateName {
        GateName {
            component: self.world.name_of_component(record.component),
            generation: record.generation,
            batch: course.batch,
        }
    }
}

/// People let a rollout go on in spite of its gate. The gate has another number from now on: it is overridden once.
fn override_gate(record: &mut Cow<'_, Rollout>, wrong: u32) {
    on_course(record, |course| {
        course.failure = None;
        course.excused = wrong;
        course.batch = course.batch.saturating_add(1);
    });
}

/// Changes the course in a record that has one.
fn on_course(record: &mut Cow<'_, Rollout>, change: impl FnOnce(&mut Course)) {
    if let Some(course) = record.to_mut().course.as_mut() {
        change(course);
    }
}

/// Notes that the next batch is permitted. A batch in which no machine could be changed leaves no trace: the next one takes
/// its number, and is watched as long.
pub(super) fn begin_batch(record: &mut Rollout, state: &RolloutState) {
    let Some(course) = record.course.as_mut() else { return };
    let is_overridden = state.record.course.as_ref().is_some_and(|before| before.batch != course.batch);
    let has_begun = state.record.admitted_below > 0;
    let changed_any = state.counts.updated() + state.counts.failed > 0;
    if !has_begun || (changed_any && !is_overridden) {
        course.batch = course.batch.saturating_add(1);
    }
    course.done_at = None;
}

/// Notes that the first machines of a catch-up batch are granted.
pub(super) fn begin_catch_up(record: &mut Cow<'_, Rollout>) {
    on_course(record, |course| course.batch = course.batch.saturating_add(1));
}

/// Whether the host of a machine that could be read was not read since then.
fn is_unread(machine: &Machine, since: Timestamp) -> bool {
    let can_be_read = !machine.is_unreachable() && !machine.is_paused() && !machine.is_unresolved();
    can_be_read && !was_read(machine, since)
}

/// Whether the host of a machine was read since then.
fn was_read(machine: &Machine, since: Timestamp) -> bool {
    machine.progress.contact.read_at >= since
}

/// Whether nothing is known of the health of a machine without a Node since then: only a read of its host shows it.
fn says_nothing(machine: &Machine, since: Option<Timestamp>) -> bool {
    machine.node.is_none() && since.is_some_and(|since| !was_read(machine, since))
}
