//! The host program is killed while its host runs on, and started by the next order. Steps of a slow host get their usual
//! length back.

use std::time::Duration;

use seaworthy_kernel::{Priority, word};
use seaworthy_model::event::Outcome;

use crate::vocabulary::{Occasion, Step};
use crate::world::World;
use crate::world::event::Event;
use crate::world::host::Progress;

impl World {
    /// The host program is killed. Whoever waits for it learns at once that it has ended, and nothing more.
    pub(in crate::world) fn kill_program(&mut self, number: u32) {
        if !self.hosts[number as usize].kill_program() {
            return;
        }
        self.trace.record(&[word("kill"), u64::from(number), self.now().millis()]);
        self.note_occasion(Occasion::ProgramKilled);
        for sender in self.drop_sessions(number) {
            let delay = self.way_back(sender);
            self.answer(sender, delay, Outcome::Unknown);
        }
    }

    /// An order starts the host program. If that was killed, it undoes or resumes the operation first.
    pub(in crate::world) fn start_program(&mut self, number: u32) {
        let setting = setting!(self, number);
        match self.hosts[number as usize].resume(&setting) {
            None => {}
            Some(Progress::Next(step, length)) => {
                self.note_occasion(Occasion::OperationResumed);
                if let Some(run) = self.hosts[number as usize].running().map(|running| running.run) {
                    self.step_begun(number, run, step, length);
                }
            }
            Some(Progress::Ended { work, ended, sessions }) => {
                self.operation_ended(number, &work, ended, sessions);
            }
        }
    }

    /// How long a step takes on a host that may be slow.
    pub(super) fn slowed_step(&mut self, number: u32, run: u32, length: Duration) -> Duration {
        let slowed = self.disturbance.slowed(number, length);
        let ends = self.now() + slowed;
        self.disturbance.note_step(number, run, ends);
        slowed
    }

    /// A host becomes slow, or as fast as usual. What is left of a step that began while it was slow changes its
    /// length too.
    pub(in crate::world) fn slow(&mut self, host: u32, factor: u16) {
        if factor > 1 {
            self.note_occasion(Occasion::HostSlowed);
        }
        let now = self.now();
        let before = self.disturbance.slow(host, factor);
        let Some((was, step)) = before else { return };
        let Some((run, ends)) = step.filter(|(_, ends)| *ends > now) else { return };
        let running = self.hosts[host as usize].running();
        let goes_on = running.is_some_and(|running| {
            running.run == run && !matches!(running.step, Step::Reboot | Step::Confirm)
        });
        if !goes_on || !self.hosts[host as usize].is_on() {
            return;
        }
        let left = ends.since(now) / u32::from(was.max(1)) * u32::from(factor.max(1));
        if let Some(run) = self.hosts[host as usize].retime() {
            self.disturbance.note_step(host, run, now + left);
            self.queue.after(left, Priority::NORMAL, Event::Step { host, run });
        }
    }
}
