//! Settles writes about a certificate request.

use seaworthy_model::event::Outcome;
use seaworthy_model::id::CertificateRequestId;

use crate::rows::ticket::{InFlight, Ticket};
use crate::runtime::retry::{Retry, Terms};
use crate::world::World;

/// A write about a request has ended.
pub(crate) fn finish(
    world: &mut World,
    id: CertificateRequestId,
    in_flight: &InFlight,
    outcome: &Outcome,
    terms: &Terms<'_>,
) {
    let now = world.now;
    let row = world.certificates.row(id);
    let back_off = |retry: &mut Retry| terms.back_off(retry, now, (1 << 40) | u64::from(id.0));
    let Ticket::Tell(refusal) = in_flight.ticket else {
        return row.tracked.settle(outcome, in_flight.resource_version, back_off);
    };
    let writes = &mut row.tracked.writes;
    writes.action = None;
    match outcome {
        // `Stale`: an earlier operator has reported it already.
        Outcome::Done(_) | Outcome::Stale => {
            row.told = Some(refusal);
            writes.retry = Retry::default();
        }
        Outcome::Retryable(_) | Outcome::Refused(_) | Outcome::Unknown => back_off(&mut writes.retry),
    }
}
