//! Tells people by Events, and in the log, what a status that was written says anew.
//!
//! An Event is no record: it is sent once, behind everything else, and never waited for. When more is to be told than the
//! API server should be bothered with, the rest is dropped, and counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::names::{Names, UnknownId};
use seaworthy_api::object::Event;
use seaworthy_api::render::{self, News};
use seaworthy_api::request::Request;
use seaworthy_engine::{Owner, Policy, Set, Version, World};
use seaworthy_kube::{Api, write};
use seaworthy_model::effect::{Action, ActionId, Effect, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::package_version::SINGLETON;
use seaworthy_model::time::Timestamp;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::metrics::Metrics;

/// How many Events may wait to be sent.
const WAITING: usize = 256;

/// The time from one Event to the next.
const PACE: Duration = Duration::from_millis(100);

/// How long an Event may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What will be told once a write has ended.
struct Pending {
    kind: Kind,
    name: String,
    uid: Uid,
    news: Vec<News>,
}

/// Keeps what is to be told until its status was written.
pub(crate) struct Recorder {
    pending: BTreeMap<ActionId, Pending>,
    reporter: String,
    outbox: mpsc::Sender<Box<Event>>,
    metrics: Arc<Metrics>,
}

impl Recorder {
    /// One that speaks as `reporter`. The Events come out of the receiver.
    pub(crate) fn new(reporter: String, metrics: Arc<Metrics>) -> (Self, mpsc::Receiver<Box<Event>>) {
        let (outbox, events) = mpsc::channel(WAITING);
        (Self { pending: BTreeMap::new(), reporter, outbox, metrics }, events)
    }

    /// A write is about to be carried out.
    pub(crate) fn began(&mut self, action: &Action, world: &World, names: &Names) {
        // An id without a name is a bug that the request for this write tells as well.
        if let Ok(Some(pending)) = pending(action, world, names) {
            self.pending.insert(action.id, pending);
        }
    }

    /// An action has ended. A status that may have been written is told too: nobody would write it again.
    pub(crate) fn ended(&mut self, action: ActionId, outcome: &Outcome, now: Timestamp) {
        let Some(Pending { kind, name, uid, news }) = self.pending.remove(&action) else { return };
        if !matches!(outcome, Outcome::Done(_) | Outcome::Unknown) {
            return;
        }
        for news in news {
            let (reason, note) = (&*news.reason, news.note.as_str());
            if news.is_warning {
                tracing::warn!(kind = kind.name(), name, reason, "{note}");
            } else {
                tracing::info!(kind = kind.name(), name, reason, "{note}");
            }
            let event = render::news_event(&news, (kind, &name, uid), (now, &self.reporter));
            if self.outbox.try_send(Box::new(event)).is_err() {
                self.metrics.told("dropped");
            }
        }
    }
}

/// What a write tells, if it writes a status that says something new.
fn pending(action: &Action, world: &World, names: &Names) -> Result<Option<Pending>, UnknownId> {
    let (kind, meta, news) = match (action.target, &action.effect) {
        (Target::Machine(id), Effect::WriteMachineStatus(status)) => {
            let Some(object) = &world.machine(id).object else { return Ok(None) };
            (Kind::Machine, &object.meta, render::machine_news(&object.status, status, names)?)
        }
        (Target::PackageVersion, Effect::WritePackageVersionStatus(status)) => {
            let Some(object) = world.fleet.object() else { return Ok(None) };
            (Kind::ClusterPackageVersion, &object.meta, render::fleet_news(&object.status, status, names)?)
        }
        (Target::Set(id), Effect::WriteSetStatus(status)) => {
            let Some(object) = world.set(Owner::Set(id)).and_then(Set::object) else { return Ok(None) };
            (Kind::MachineComponentSet, &object.meta, render::fleet_news(&object.status, status, names)?)
        }
        (Target::Canary(id), Effect::WriteSetStatus(status)) => {
            let Some(object) = world.set(Owner::Canary(id)).and_then(Set::object) else { return Ok(None) };
            (Kind::CanaryRelease, &object.meta, render::fleet_news(&object.status, status, names)?)
        }
        (Target::Version(id), Effect::WriteVersionStatus(status)) => {
            let Some(object) = world.version(id).and_then(Version::object) else { return Ok(None) };
            (Kind::MachineComponent, &object.meta, render::version_news(&object.status, status))
        }
        (Target::Policy(id), Effect::WritePolicyStatus(status)) => {
            let Some(object) = world.policies.get(id).and_then(Policy::object) else { return Ok(None) };
            (Kind::DisruptionPolicy, &object.meta, render::policy_news(&object.status, status))
        }
        _ => return Ok(None),
    };
    if news.is_empty() {
        return Ok(None);
    }
    let name = match action.target.named() {
        Some(id) => names.name(id)?,
        None => SINGLETON,
    };
    Ok(Some(Pending { kind, name: name.to_owned(), uid: meta.uid, news }))
}

/// Sends Events, one after the other, as long as there may be more.
pub(crate) async fn deliver(api: Api, mut events: mpsc::Receiver<Box<Event>>, metrics: Arc<Metrics>) {
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while let Some(event) = events.recv().await {
        pace.tick().await;
        let outcome = write(&api, &Request::CreateEvent(event), Instant::now() + PATIENCE).await;
        metrics.told(match &outcome {
            Outcome::Done(_) => "created",
            // There is one of that name: it was told a few minutes ago.
            Outcome::Stale => "repeated",
            Outcome::Retryable(_) | Outcome::Refused(_) | Outcome::Unknown => "failed",
        });
        if let Outcome::Refused(cause) = outcome {
            tracing::debug!(detail = cause.detail, "an Event was refused");
        }
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_engine::Engine;
    use seaworthy_model::component::{
        VersionCondition, VersionConditionKind, VersionObject, VersionReason, VersionStatus,
    };
    use seaworthy_model::config::Config;
    use seaworthy_model::draw::Seed;
    use seaworthy_model::effect::Fence;
    use seaworthy_model::event::{Event as Fact, Observation, Receipt};
    use seaworthy_model::id::StoreId;
    use seaworthy_model::machine::Truth;
    use seaworthy_model::meta::Meta;
    use seaworthy_model::package_version::{
        FleetCondition, FleetConditionKind, FleetReason, PackageVersionObject, PackageVersionStatus,
    };

    use super::*;

    const DONE: Outcome = Outcome::Done(Receipt::Nothing);

    fn meta() -> Meta {
        Meta { uid: Uid(7), resource_version: 1, generation: 1, deleted_at: None, finalizers: Arc::default() }
    }

    fn engine() -> Engine {
        let mut engine = Engine::new(Config::default(), Seed(1));
        let (spec, status) = (Err([].into()), PackageVersionStatus::default());
        let object = PackageVersionObject {
            meta: meta(),
            spec,
            status,
            resume: None,
            confirmed: None,
            cause: None,
            by: None,
        };
        let observation = Observation::PackageVersion(Some(Box::new(object)));
        engine.observe(Fact::Observed(StoreId::HOME, observation));
        engine
    }

    /// A write that says that the spec is invalid.
    fn refusal(id: u64) -> Action {
        let condition = FleetCondition {
            kind: FleetConditionKind::Progressing,
            truth: Truth::False,
            reason: FleetReason::InvalidSpec,
            detail: None,
            since: Timestamp::from_millis(0),
            observed_generation: 1,
        };
        let status = PackageVersionStatus { conditions: vec![condition], ..PackageVersionStatus::default() };
        Action {
            id: ActionId(id),
            store: StoreId::HOME,
            target: Target::PackageVersion,
            fence: Fence::None,
            deadline: Timestamp::MAX,
            effect: Effect::WritePackageVersionStatus(Box::new(status)),
        }
    }

    #[test]
    fn what_was_not_written_is_not_told() {
        let (mut recorder, mut events) = Recorder::new("operator-0".into(), Arc::new(Metrics::new()));
        let (engine, names) = (engine(), Names::new());
        for (id, outcome, told) in [(1, Outcome::Stale, false), (2, DONE, true), (3, Outcome::Unknown, true)]
        {
            recorder.began(&refusal(id), engine.world(), &names);
            recorder.ended(ActionId(id), &outcome, Timestamp::from_millis(1_795_162_200_000));
            let event = events.try_recv().ok();
            assert_eq!(event.as_ref().map(|event| event.reason.as_str()), told.then_some("InvalidSpec"));
            assert!(event.is_none_or(|event| event.regarding.name == "default" && event.r#type == "Warning"));
        }
        assert!(recorder.pending.is_empty());
    }

    #[test]
    fn a_version_whose_spec_is_refused_is_told() {
        let (mut recorder, mut events) = Recorder::new("operator-0".into(), Arc::new(Metrics::new()));
        let (mut engine, mut names) = (engine(), Names::new());
        let id = names.version_object("webd-1.0.0");
        let object = VersionObject { meta: meta(), spec: Err([].into()), status: VersionStatus::default() };
        let observation = Observation::Version(id, Some(Box::new(object)));
        engine.observe(Fact::Observed(StoreId::HOME, observation));
        let condition = VersionCondition {
            kind: VersionConditionKind::Accepted,
            truth: Truth::False,
            reason: VersionReason::InvalidSpec,
            detail: None,
            since: Timestamp::from_millis(0),
            observed_generation: 1,
        };
        let status = VersionStatus { observed_generation: 1, conditions: vec![condition] };
        let effect = Effect::WriteVersionStatus(Box::new(status));
        let action = Action { target: Target::Version(id), effect, ..refusal(1) };
        recorder.began(&action, engine.world(), &names);
        recorder.ended(action.id, &DONE, Timestamp::from_millis(1_795_162_200_000));
        let event = events.try_recv().unwrap();
        assert_eq!((event.reason.as_str(), &*event.r#type), ("InvalidSpec", "Warning"));
        assert_eq!(event.regarding.name, "webd-1.0.0");
    }

    #[test]
    fn more_than_can_be_sent_is_dropped_and_counted() {
        let metrics = Arc::new(Metrics::new());
        let (mut recorder, events) = Recorder::new("operator-0".into(), Arc::clone(&metrics));
        let (engine, names) = (engine(), Names::new());
        for id in 0..WAITING as u64 + 3 {
            recorder.began(&refusal(id), engine.world(), &names);
            recorder.ended(ActionId(id), &DONE, Timestamp::from_millis(0));
        }
        assert_eq!(events.len(), WAITING);
        let text = metrics.text().unwrap();
        assert!(text.contains(r#"seaworthy_events_total{outcome="dropped"} 3"#), "{text}");
    }
}
