//! Lets subjects try again whose write an API server has refused for now, once it takes others.

use seaworthy_model::cause::CauseKind;
use seaworthy_model::event::Outcome;
use seaworthy_model::report::Subject;

use super::owns_rollouts;
use crate::rows::refusals::RELEASED;
use crate::runtime::queue::Priority;
use crate::world::World;

/// What the outcome of a write tells about the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It takes writes.
    Taken,
    /// It takes none for now, or not this one.
    Refused,
    /// Nothing.
    Unclear,
}

impl Answer {
    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done(_) => Self::Taken,
            Outcome::Retryable(cause) if cause.kind == CauseKind::ApiUnavailable => Self::Refused,
            Outcome::Stale | Outcome::Retryable(_) | Outcome::Refused(_) | Outcome::Unknown => Self::Unclear,
        }
    }
}

/// A write of a subject has been settled. The Lease and the owners of rollouts have rules of their own for a refusal.
pub(super) fn settle(world: &mut World, subject: Subject, answer: Answer) {
    if subject == Subject::Leadership {
        return;
    }
    let (now, id) = (world.now, world.stores.of(subject));
    let refusals = &mut world.stores.open(id).refusals;
    match answer {
        Answer::Refused if owns_rollouts(subject) => {}
        Answer::Refused => refusals.add(subject, now),
        Answer::Unclear => refusals.remove(subject),
        // Fast path: nearly always nothing is refused.
        Answer::Taken if refusals.is_empty() => {}
        Answer::Taken => {
            refusals.remove(subject);
            for _ in 0..RELEASED {
                let Some(subject) = world.stores.open(id).refusals.pop(now) else { return };
                look_again(world, subject);
            }
        }
    }
}

/// Ends the back-off of a subject's writes.
fn look_again(world: &mut World, subject: Subject) {
    match subject {
        Subject::Leadership | Subject::PackageVersion | Subject::Set(_) | Subject::Canary(_) => return,
        Subject::Machine(id) => {
            world.note(id, |progress| progress.writes.retry.look_again());
        }
        Subject::Version(id) => {
            let version = world.version_mut(id);
            version.tracked.writes.retry.look_again();
            version.telling.retry.look_again();
        }
        Subject::CertificateRequest(id) => {
            world.certificates.row(id).tracked.writes.retry.look_again();
        }
        Subject::Policy(id) => {
            world.policies.row(id).tracked.writes.retry.look_again();
        }
    }
    world.touch(subject, Priority::Normal);
}
