//! Renewals of the Lease. There are 17,280 a day, and nearly none is of interest. They are committed, counted and seen
//! by standby processes. A renewal without obstacles takes no time and no messages. Renewals are not in the trace hash,
//! and they are not writes that keep a run from being stable.

use seaworthy_api::request;
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::event::Event as Input;
use seaworthy_model::id::Kind;

use crate::vocabulary::RequestFate;
use crate::world::World;
use crate::world::api_server::outcome;
use crate::world::happening::Happening;
use crate::world::mail::Sender;
use crate::world::process::Process;
use crate::world::strikes::Encounter;
use crate::world::writer::Writer;

/// Whether an action renews the Lease and does nothing else.
pub(in crate::world) fn is_renewal(action: &Action) -> bool {
    matches!(&action.effect, Effect::WriteLease(record) if record.is_renewal())
}

impl World {
    /// Sends a renewal. If no fault touches it, and nothing delays the process, the API server and the watches, it
    /// takes effect at once.
    pub(in crate::world) fn renew(&mut self, process: &mut Process, sender: Sender, action: &Action) {
        let request = match request::request(action, &mut process.names) {
            Ok(request) => request,
            Err(error) => {
                self.happened(&Happening::Unsound(&format!("{:?}: {error}", action.target)));
                return;
            }
        };
        self.message_sent(&Happening::Requests(process.number, action, &request));
        let fate = self.request_fate(Encounter::message(sender, true), process.seat, &request);
        let now = self.queue.now();
        let disturbed = fate != RequestFate::default()
            || !self.paused.is_empty()
            || self.disturbance.held_until(Kind::Lease) > now
            || self.disturbance.delays(Kind::Lease, now);
        if disturbed {
            process.track(action.id, process.clock.when(action.deadline), &mut self.queue);
            return self.send_by_fate((sender, action.store), request, 0, fate);
        }
        let result = self.api_servers[action.store].execute(request, now);
        if let Ok(written) = &result {
            self.committed(written, Writer::Operator);
        }
        self.see_own_renewal(process);
        process.observe(Input::Finished { action: action.id, outcome: outcome(result) });
        self.turn_soon(process);
    }

    /// Its own watch shows the renewal as well, unless a delivery is due there, which then includes it.
    fn see_own_renewal(&mut self, process: &mut Process) {
        let watch = process.watch(Kind::Lease);
        if let (Some(cursor), false) = (watch.cursor, watch.due)
            && self.show(process, Kind::Lease, cursor).is_err()
        {
            self.want_list(process, Kind::Lease);
        }
    }
}
