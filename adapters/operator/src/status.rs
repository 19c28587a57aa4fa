//! What the loop reports: health, metrics, logs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::names::Names;
use seaworthy_api::render;
use seaworthy_engine::{Engine, Owner, World};
use seaworthy_kube::Projection;
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::Outcome;
use seaworthy_model::id::{NamedId, StoreId};
use seaworthy_model::machine::{ConditionKind, Reason, Truth};
use seaworthy_model::report::Blocker;
use tokio::time::Instant;

use crate::flight::{Flown, Label};
use crate::health::Health;
use crate::labels;
use crate::metrics::{Labels, Metrics, RolloutLabels};
use crate::outage::{News, Outage};

/// How often values that need a look at every machine are taken from the engine.
const SURVEY: Duration = Duration::from_secs(5);
/// How long the operator is not ready after a refused turn.
const REFUSAL_REMEMBERED: Duration = Duration::from_secs(60);

/// Where the loop reports to.
pub(crate) struct Status {
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    surveyed: Option<Instant>,
    refused: Option<Instant>,
    outage: Outage,
    /// The series of the last surveys. A series is never removed, so that no scrape misses one.
    machines: BTreeMap<Labels<2>, i64>,
    blocked: BTreeMap<Labels<1>, i64>,
    /// The machines of the rollouts at the last survey.
    rollouts: BTreeMap<RolloutLabels, i64>,
}

impl Status {
    pub(crate) const fn new(health: Arc<Health>, metrics: Arc<Metrics>) -> Self {
        Self {
            health,
            metrics,
            surveyed: None,
            refused: None,
            outage: Outage { lasts: false },
            machines: BTreeMap::new(),
            blocked: BTreeMap::new(),
            rollouts: BTreeMap::new(),
        }
    }

    /// The loop turns.
    pub(crate) fn beat(&self) {
        self.health.beat();
    }

    /// Records the duration of a turn.
    pub(crate) fn turned(&self, took: Duration) {
        self.metrics.turned(took);
    }

    /// A turn was refused.
    pub(crate) fn guarded(&mut self) {
        self.metrics.guard_refusals.inc();
        self.refused = Some(Instant::now());
    }

    /// An action was refused with its turn.
    pub(crate) fn refused(&self, label: &Label) {
        self.metrics.ended(label.effect, "guarded");
    }

    /// An action has ended.
    pub(crate) fn ended(&mut self, action: ActionId, flown: &Flown, outcome: &Outcome) {
        let Label { effect, object, work, quiet, is_api_write } = &flown.label;
        let (effect, work) = (*effect, work.as_deref());
        let (word, took) = (labels::outcome(outcome), flown.began.elapsed());
        self.metrics.ended(effect, word);
        if let Some(command) = effect.strip_prefix("host_") {
            self.metrics.worked(command, word, took);
        }
        let (cause, detail) = match outcome {
            Outcome::Retryable(cause) | Outcome::Refused(cause) => (cause.kind.name(), cause.detail.as_str()),
            Outcome::Done(_) | Outcome::Stale | Outcome::Unknown => ("", ""),
        };
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let action = action.0;
        let news = self.outage.see(outcome, *is_api_write);
        match news {
            News::Begins => {
                tracing::warn!(detail, "the API server does not take writes now; they are repeated")
            }
            News::Over => tracing::info!("the API server takes writes again"),
            News::Lasts | News::None => {}
        }
        let has_failed = matches!(outcome, Outcome::Retryable(_) | Outcome::Refused(_) | Outcome::Unknown);
        let is_told = matches!(news, News::Begins | News::Lasts);
        if has_failed && !is_told {
            tracing::warn!(action, effect, object, work, outcome = word, cause, detail, ms, "failed");
        } else if !has_failed && !quiet {
            tracing::info!(action, effect, object, work, outcome = word, ms, "ended");
        } else {
            tracing::debug!(action, effect, object, work, outcome = word, cause, detail, ms, "ended");
        }
    }

    /// Takes the present state from the engine.
    pub(crate) fn refresh(&mut self, engine: &Engine, projection: &Projection, in_flight: usize) {
        let (world, metrics) = (engine.world(), &self.metrics);
        let obstacles = self.obstacles(world, projection);
        self.health.set_obstacles(obstacles);
        metrics.ready.set(i64::from(self.health.obstacles().is_empty()));
        self.health.set_standby(standby(world, projection.names()));
        metrics.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
        let leads = world.leadership.epoch.is_some() && world.leadership.in_time;
        metrics.leader.set(i64::from(leads));
        metrics.epoch.set(world.leadership.epoch.map_or(0, |epoch| i64::from(epoch.0)));
        metrics.occupied.set(i64::from(world.occupied()));
        metrics.slots.set(i64::from(world.slots()));
        metrics.unavailable.set(i64::from(world.sick()));
        metrics.queued.set(i64::try_from(engine.queue_depth()).unwrap_or(i64::MAX));
        if self.surveyed.is_none_or(|last| last.elapsed() >= SURVEY) {
            self.survey(world, projection.names());
            self.survey_rollouts(world, projection.names());
            self.surveyed = Some(Instant::now());
        }
    }

    /// Why the operator cannot do its work, for people.
    fn obstacles(&self, world: &World, projection: &Projection) -> BTreeSet<String> {
        let mut obstacles = BTreeSet::new();
        if let Some(gate) = world.gate(StoreId::HOME).filter(|gate| !is_standby(gate)) {
            obstacles.insert(explained(&gate, world, projection.names()));
        }
        for (source, why) in projection.troubles() {
            obstacles.insert(format!("cannot watch {source}: {why}"));
        }
        if self.refused.is_some_and(|last| last.elapsed() < REFUSAL_REMEMBERED) {
            obstacles.insert(
                "orders were refused because they would have broken an invariant: see the log".into(),
            );
        }
        obstacles
    }

    /// Takes the progress of the rollouts. A series whose rollout is gone is removed: versions come without an end.
    fn survey_rollouts(&mut self, world: &World, names: &Names) {
        let mut rollouts = BTreeMap::new();
        for state in &world.fleet.rollouts {
            let counts = &state.counts;
            let text = |version| names.version_text(state.record.component, version).unwrap_or_default();
            let version = state.record.to.version().map_or("", text);
            let component = world.component_name(state.record.component);
            let set = match state.owner {
                Owner::Fleet => String::new(),
                Owner::Set(id) => names.name(NamedId::Set(id)).unwrap_or_default().to_owned(),
                Owner::Canary(id) => {
                    format!("canary/{}", names.name(NamedId::Canary(id)).unwrap_or_default())
                }
            };
            for (word, count) in [
                ("waiting", counts.waiting + counts.eligible),
                ("atWork", counts.at_work() - counts.lost),
                ("lost", counts.lost),
                ("deferred", counts.deferred + counts.held - counts.unsettled),
                ("updated", counts.done + counts.restored),
                ("failed", counts.failed),
            ] {
                let labels = [
                    ("component", component.to_owned()),
                    ("version", version.to_owned()),
                    ("set", set.clone()),
                    ("state", word.to_owned()),
                ];
                rollouts.insert(labels, i64::from(count));
            }
        }
        for gone in self.rollouts.keys().filter(|labels| !rollouts.contains_key(*labels)) {
            self.metrics.rollouts.remove(gone);
        }
        for (labels, count) in &rollouts {
            self.metrics.rollouts.get_or_create(labels).set(*count);
        }
        self.rollouts = rollouts;
    }

    /// Counts what needs a look at every machine.
    fn survey(&mut self, world: &World, names: &Names) {
        let Self { metrics, machines, blocked, .. } = self;
        machines.values_mut().chain(blocked.values_mut()).for_each(|count| *count = 0);
        for object in world.machines().filter_map(|(_, machine)| machine.object.as_ref()) {
            let condition = object.status.condition(ConditionKind::Ready);
            let (truth, reason) =
                condition.map_or((Truth::Unknown, Reason::NotYetKnown), |ready| (ready.truth, ready.reason));
            let labels = [("ready", labels::truth(truth)), ("reason", render::reason(reason))];
            *machines.entry(labels).or_default() += 1;
        }
        for (_, blocker) in world.blockers() {
            let labels = [("blocker", render::blocker(&blocker, names).reason)];
            *blocked.entry(labels).or_default() += 1;
        }
        for (labels, count) in machines {
            metrics.machines.get_or_create(labels).set(*count);
        }
        for (labels, count) in blocked {
            metrics.blocked.get_or_create(labels).set(*count);
        }
    }
}

/// Whether an operator only waits for the leader to leave.
const fn is_standby(gate: &Blocker) -> bool {
    matches!(gate, Blocker::Standby { .. })
}

/// The leader that an operator stands by for, for people.
fn standby(world: &World, names: &Names) -> Option<String> {
    let gate = world.gate(StoreId::HOME).filter(is_standby)?;
    Some(explained(&gate, world, names))
}

/// A gate, for people. The gate is the engine's; the holder's name comes from the Lease.
fn explained(gate: &Blocker, world: &World, names: &Names) -> String {
    let render::Explanation { reason, message } = render::blocker(gate, names);
    let holder = world.leadership.other_holder().map(|record| format!(" ({})", record.holder));
    format!("{reason}: {message}{}", holder.unwrap_or_default())
}

/// An action is carried out.
pub(crate) fn began(action: ActionId, label: &Label) {
    let Label { effect, object, work, quiet, .. } = label;
    let work = work.as_deref();
    if *quiet {
        tracing::debug!(action = action.0, effect, object, work, "begins");
    } else {
        tracing::info!(action = action.0, effect, object, work, "begins");
    }
}
