//! The domains, and their registry: the only place that knows them all.
//!
//! A domain observes its objects, decides about its subjects, and settles its actions when they end: all plain
//! functions of the world. What has to happen to every domain at once goes over [`DOMAINS`], so that none is forgotten.

mod api_servers;
mod certificates;
pub(crate) mod draft;
mod leadership;
mod machine;
mod policy;
mod refusals;
mod rollout;
mod version;

use seaworthy_model::config::Config;
use seaworthy_model::effect::{ActionId, Fence};
use seaworthy_model::event::{Observation, Outcome};
use seaworthy_model::id::StoreId;
use seaworthy_model::report::{Subject, WakeReason};
use seaworthy_model::time::Timestamp;

use crate::rows::note::Note;
use crate::rows::set::Owner;
use crate::rows::ticket::{InFlight, Ticket};
use crate::runtime::queue::Priority;
use crate::runtime::retry::Terms;
use crate::world::World;
use draft::{Draft, Order};
use leadership::Reset;

pub(crate) use rollout::{refusal, unconfirmed};

/// What has to happen to every domain at once.
struct Domain {
    /// A new epoch is ours: forgets what was learnt under an older one.
    begin_epoch: fn(&mut World),
    /// A store is listed again: forgets the awaited echoes. The new lists contain every earlier write. A store that was
    /// restored from a backup would never show the awaited versions.
    unsync: fn(&mut World, StoreId),
}

/// Every domain.
const DOMAINS: [Domain; 7] = [
    Domain { begin_epoch: leadership::begin_epoch, unsync: leadership::unsync },
    Domain { begin_epoch: rollout::begin_epoch, unsync: rollout::unsync },
    Domain { begin_epoch: nothing, unsync: version::unsync },
    Domain { begin_epoch: nothing, unsync: policy::unsync },
    Domain { begin_epoch: certificates::begin_epoch, unsync: certificates::unsync },
    Domain { begin_epoch: machine::node::begin_epoch, unsync: nothing_to_list },
    Domain { begin_epoch: machine::begin_epoch, unsync: machine::unsync },
];

/// The domain has nothing to do.
const fn nothing(_: &mut World) {}

/// The domain awaits no echo.
const fn nothing_to_list(_: &mut World, _: StoreId) {}

/// Applies one fact about a store.
pub(crate) fn observe(world: &mut World, store: StoreId, observation: Observation) {
    if store != StoreId::HOME && observation.is_of_home() {
        return;
    }
    match observation {
        Observation::Opened => leadership::open(world, store),
        Observation::Named(named) => world.name(store, named),
        Observation::Machine(id, object) => machine::observe(world, id, object),
        Observation::Node(id, node) => machine::node::observe(world, id, node),
        Observation::Version(id, object) => version::observe(world, id, object),
        Observation::PackageVersion(object) => rollout::observe(world, object),
        Observation::Set(id, object) => rollout::observe_set(world, Owner::Set(id), object),
        Observation::Canary(id, object) => rollout::observe_set(world, Owner::Canary(id), object),
        Observation::CertificateRequest(id, object) => certificates::observe(world, id, object),
        Observation::Policy(id, object) => policy::observe(world, id, object),
        Observation::ApiServers(found) => api_servers::observe(world, found),
        Observation::Lease(lease) => {
            let follows = leadership::observe(world, lease);
            reset(world, follows);
        }
        Observation::Synced(kind) => leadership::synced(world, store, kind),
        Observation::Stopping => leadership::stop(world),
    }
}

/// Begins a turn: sets the time, forgets what is too old, and orders the lists that a decision asked for.
pub(crate) fn begin_turn(world: &mut World, now: Timestamp, config: &Config) {
    leadership::begin_turn(world, now, config);
    world.look_at_calendars(config);
    api_servers::forget(world, config.api_server_memory);
    leadership::take_up_lists(world);
}

/// Decides about one subject.
pub(crate) fn reconcile(world: &World, subject: Subject, draft: &mut Draft<'_>) {
    match subject {
        Subject::Leadership => leadership::reconcile(world, draft),
        Subject::PackageVersion => rollout::reconcile(world, Owner::Fleet, draft),
        Subject::Set(id) => rollout::reconcile(world, Owner::Set(id), draft),
        Subject::Canary(id) => rollout::reconcile(world, Owner::Canary(id), draft),
        Subject::Version(id) => version::reconcile(world, id, draft),
        Subject::Policy(id) => policy::reconcile(world, id, draft),
        Subject::Machine(id) => machine::reconcile(world, id, draft),
        Subject::CertificateRequest(id) => certificates::reconcile(world, id, draft),
    }
}

/// Applies a note of a decision.
pub(crate) fn remember(world: &mut World, note: Note) {
    match note {
        Note::Leadership(note) => {
            let follows = leadership::remember(world, note);
            reset(world, follows);
        }
        Note::Rollout(note) => rollout::remember(world, note),
        Note::Machine(id, note) => machine::remember(world, id, note),
        Note::Certificates(note) => certificates::remember(world, note),
    }
}

/// An action is ordered.
pub(crate) fn start(world: &mut World, subject: Subject, action: ActionId, order: &Order) {
    world.begin(action, in_flight(world, subject, order));
    match subject {
        Subject::Leadership => leadership::start(world, action, &order.effect),
        Subject::PackageVersion => rollout::start(world, Owner::Fleet, action),
        Subject::Set(id) => rollout::start(world, Owner::Set(id), action),
        Subject::Canary(id) => rollout::start(world, Owner::Canary(id), action),
        Subject::Version(id) => version::start(world, id, action, &order.effect),
        Subject::Policy(id) => policy::start(world, id, action),
        Subject::Machine(id) => machine::start(world, id, action, order.ticket),
        Subject::CertificateRequest(id) => certificates::start(world, id, action),
    }
}

fn in_flight(world: &World, subject: Subject, order: &Order) -> InFlight {
    let meta = world.incarnation(subject);
    let resource_version = match order.fence {
        Fence::Unchanged { resource_version, .. } => Some(resource_version),
        Fence::None | Fence::Absent | Fence::Incarnation(_) | Fence::Host(_) => None,
    };
    InFlight {
        subject,
        uid: meta.map(|meta| meta.uid),
        generation: meta.map(|meta| meta.generation),
        resource_version,
        epoch: world.epoch(),
        ticket: order.ticket,
    }
}

/// An action has ended.
pub(crate) fn finish(world: &mut World, action: ActionId, outcome: Outcome, terms: &Terms<'_>) {
    let Some(in_flight) = world.end(action) else { return };
    // A Machine is requeued when the watch shows the write, not before.
    if !matches!((in_flight.subject, in_flight.ticket), (Subject::Machine(_), Ticket::Write)) {
        world.touch(in_flight.subject, Priority::Normal);
    }
    let answer = (in_flight.ticket == Ticket::Write).then(|| refusals::Answer::of(&outcome));
    match in_flight.subject {
        Subject::Leadership => {
            let follows = leadership::finish(world, &in_flight, outcome, terms);
            reset(world, follows);
        }
        Subject::PackageVersion => rollout::finish(world, Owner::Fleet, &in_flight, &outcome, terms),
        Subject::Set(id) => rollout::finish(world, Owner::Set(id), &in_flight, &outcome, terms),
        Subject::Canary(id) => rollout::finish(world, Owner::Canary(id), &in_flight, &outcome, terms),
        Subject::Version(id) => version::finish(world, id, &in_flight, &outcome, terms),
        Subject::Policy(id) => policy::finish(world, id, &in_flight, &outcome, terms),
        Subject::Machine(id) => machine::finish(world, id, &in_flight, outcome, terms),
        Subject::CertificateRequest(id) => certificates::finish(world, id, &in_flight, &outcome, terms),
    }
    if let Some(answer) = answer {
        refusals::settle(world, in_flight.subject, answer);
    }
}

/// What a timer of a subject is for.
pub(crate) const fn wakes_for(subject: Subject) -> WakeReason {
    match subject {
        Subject::PackageVersion | Subject::Set(_) | Subject::Canary(_) | Subject::Policy(_) => {
            WakeReason::Admission
        }
        Subject::Leadership => WakeReason::Lease,
        Subject::Version(_) | Subject::CertificateRequest(_) => WakeReason::BackOff,
        Subject::Machine(_) => WakeReason::Audit,
    }
}

/// Whether an action about a subject ends its turn. An admission does, so that a check can compare it with the state
/// that it was decided on.
pub(crate) const fn ends_turn(subject: Subject) -> bool {
    owns_rollouts(subject)
}

/// Whether rollouts are those of a subject.
const fn owns_rollouts(subject: Subject) -> bool {
    matches!(subject, Subject::PackageVersion | Subject::Set(_) | Subject::Canary(_))
}

/// Lets every domain forget what is outdated.
fn reset(world: &mut World, reset: Option<Reset>) {
    match reset {
        None => {}
        Some(Reset::Lists(store)) => unsync(world, store),
        Some(Reset::Epoch(epoch)) => {
            for store in world.stores.ids() {
                unsync(world, store);
            }
            world.leadership.epoch = Some(epoch);
            for domain in &DOMAINS {
                (domain.begin_epoch)(world);
            }
        }
    }
}

fn unsync(world: &mut World, store: StoreId) {
    for domain in &DOMAINS {
        (domain.unsync)(world, store);
    }
}
