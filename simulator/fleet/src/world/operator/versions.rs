//! Operators ask the API servers for their versions now and then.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, word};
use seaworthy_model::event::Observation;
use seaworthy_model::requirement::ApiServers as Found;

use crate::world::World;
use crate::world::event::Event;
use crate::world::process::Process;

/// How long it takes to ask every API server.
const ROUND: Span = Span::millis(150, 2_000);

impl World {
    /// A process begins to ask the API servers for their version.
    pub(in crate::world) fn want_versions(&mut self, process: &mut Process) {
        if self.replicas.have_versions() && !process.asks_versions {
            process.asks_versions = true;
            self.ask_versions_after(process.number, Duration::ZERO);
        }
    }

    fn ask_versions_after(&mut self, process: u32, pause: Duration) {
        let occurrence = self.queue.now().millis();
        let round = self.draws.within(word("ask versions"), u64::from(process), occurrence, ROUND);
        self.queue.after(pause + round, Priority::NORMAL, Event::Versions { process });
    }

    /// The API servers have reported their versions to a process.
    pub(in crate::world) fn versions_told(&mut self, number: u32) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        let now = self.queue.now();
        if now >= self.disturbance.api_down
            && let Some(found) = Found::of(self.replicas.there(now, now))
        {
            process.observed(Observation::ApiServers(found));
            self.turn_soon(&mut process);
        }
        self.ask_versions_after(number, Found::INTERVAL);
        self.put_process(process);
    }
}
