//! Replaces operators by another build, one seat after the other: a process is asked to stop, releases the Lease, waits
//! for its actions in flight, and ends; then another one starts in its place.

use std::collections::BTreeSet;
use std::time::Duration;

use seaworthy_kernel::Priority;
use seaworthy_model::event::Observation;

use crate::scenario::OperatorUpgrade;
use crate::vocabulary::Occasion;
use crate::world::World;
use crate::world::event::Event;

/// How long a stopping process waits for its actions in flight: the operator's default of `--stop-grace`.
const GRACE: Duration = Duration::from_secs(25);

impl World {
    /// Users begin to replace the operators.
    pub(in crate::world) fn upgrade_operators(&mut self, upgrade: OperatorUpgrade) {
        let live = self.live.iter().filter_map(|number| self.processes[*number as usize].as_ref());
        let seats: BTreeSet<u32> =
            live.map(|process| process.seat).chain(0..self.scenario.fleet.operators).collect();
        self.next_build = upgrade.to;
        for (place, seat) in (0..).zip(&seats) {
            let after = upgrade.lasting.0 * place / u32::try_from(seats.len()).unwrap_or(1);
            self.queue.after(after, Priority::WORLD, Event::Replace { seat: *seat });
        }
    }

    /// From now on another build starts in a seat; the process there is asked to stop.
    pub(in crate::world) fn replace(&mut self, seat: u32) {
        self.builds.insert(seat, self.next_build);
        for number in self.live.clone() {
            if self.processes[number as usize].as_ref().is_some_and(|process| process.seat == seat) {
                self.queue.after(Duration::ZERO, Priority::NORMAL, Event::Stop { process: number });
                self.queue.after(GRACE, Priority::NORMAL, Event::Kill { process: number });
            }
        }
    }

    /// A process is asked to stop.
    pub(in crate::world) fn stop_process(&mut self, number: u32) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        process.observed(Observation::Stopping);
        self.turn_soon(&mut process);
        self.put_process(process);
    }

    /// The grace period of a stopping process is over, and it ends.
    pub(in crate::world) fn kill_process(&mut self, number: u32) {
        let Some(process) = self.take_process(number) else { return self.queue.discount() };
        self.note_occasion(Occasion::OperatorStopped);
        self.end_process(&process, true);
    }
}
