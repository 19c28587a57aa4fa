//! The driver: starts and ends processes, and gives them their turns, in which they call `reconcile`.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, word};
use seaworthy_model::id::Kind;
use seaworthy_model::report::{Blocker, Turn};

use super::dispatch::Dispatched;
use super::renewal::is_renewal;
use crate::vocabulary::Occasion;
use crate::world::World;
use crate::world::event::Event;
use crate::world::happening::{Happening, Turned};
use crate::world::process::Process;

/// The time of one `reconcile` with its bookkeeping.
const TURN: Duration = Duration::from_millis(1);
/// The time after which an ended process is started again.
const RESTART: Span = Span::millis(2_000, 30_000);

impl World {
    /// Starts a process in `seat`.
    pub(in crate::world) fn start_process(&mut self, seat: u32) {
        let number = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        let build = self.builds.get(&seat).copied().unwrap_or(self.scenario.fleet.operator_build);
        let process = Process::new((number, seat, build), self.seed, self.clock_of(seat));
        let mut process = Box::new(process.followed(self.interests.machines));
        self.happened(&Happening::ProcessStarted(seat));
        self.trace.record(&[word("start"), u64::from(number), self.queue.now().millis()]);
        self.processes.push(None);
        self.live.push(number);
        self.want_list(&mut process, Kind::Lease);
        self.put_process(process);
    }

    /// Ends a process. Messages that it had sent stay in flight.
    pub(in crate::world) fn end_process(&mut self, process: &Process, restarts: bool) {
        self.live.retain(|live| *live != process.number);
        self.happened(&Happening::ProcessEnded(process.number, process.end()));
        self.trace.record(&[word("end"), u64::from(process.number), self.queue.now().millis()]);
        if restarts {
            let delay = self.draws.within(word("restart"), u64::from(process.number), 0, RESTART);
            self.queue.after(delay, Priority::NORMAL, Event::Start { seat: process.seat });
        }
    }

    /// Crashes the process in `seat`.
    pub(in crate::world) fn crash_seat(&mut self, seat: u32) {
        for number in self.live.clone() {
            let Some(process) = self.take_process(number) else { continue };
            if process.seat == seat {
                self.note_occasion(Occasion::OperatorCrashed);
                self.end_process(&process, true);
            } else {
                self.put_process(process);
            }
        }
    }

    pub(in crate::world) fn take_process(&mut self, number: u32) -> Option<Box<Process>> {
        self.processes.get_mut(number as usize)?.take()
    }

    pub(in crate::world) fn put_process(&mut self, process: Box<Process>) {
        let number = process.number as usize;
        self.processes[number] = Some(process);
    }

    /// A process has received news. It gets a turn soon, if it has anything to decide.
    pub(in crate::world) fn turn_soon(&mut self, process: &mut Process) {
        if !process.engine.has_work() {
            return;
        }
        let at = self.queue.now() + TURN;
        process.want_turn(at, &mut self.queue);
    }

    /// A process has its turn: it calls `reconcile`.
    pub(in crate::world) fn turn(&mut self, number: u32) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        if !process.takes_turn(self.queue.now()) {
            self.queue.discount();
            return self.put_process(process);
        }
        let mut turn = process.engine.reconcile(process.clock.read(self.queue.now()));
        self.warm_actions(&process, &turn.actions);
        self.note_turn(&mut process, &turn);
        if process.has_stopped(&turn) {
            self.note_occasion(Occasion::OperatorStopped);
            return self.end_process(&process, true);
        }
        if let Some(wake) = turn.wake {
            let at = process.clock.when(wake.at);
            process.want_turn(at.max(self.queue.now() + TURN), &mut self.queue);
        }
        for action in turn.actions.drain(..) {
            if self.dispatch(&mut process, action) == Dispatched::Crashed {
                self.note_occasion(Occasion::OperatorCrashed);
                return self.end_process(&process, true);
            }
        }
        if turn.report.blocked.iter().any(|blocked| matches!(blocked.blocker, Blocker::SteppedDown { .. })) {
            self.note_occasion(Occasion::OperatorSteppedDown);
            return self.end_process(&process, true);
        }
        process.engine.reuse(turn);
        self.put_process(process);
    }

    fn note_turn(&mut self, process: &mut Process, turn: &Turn) {
        let now = self.queue.now();
        let mut acts = turn.actions.iter().filter(|action| !is_renewal(action));
        if let Some(first) = acts.next() {
            let actions = 1 + acts.count() as u64;
            self.trace.record(&[word("turn"), u64::from(process.number), now.millis(), actions, first.id.0]);
        }
        if turn.report.blocked.iter().any(|b| matches!(b.blocker, Blocker::RenewalOverdue { .. })) {
            self.note_occasion(Occasion::RenewalOverdue);
        }
        // Machines and their versions, also those that are gone, the fleet's defaults, and the operator itself.
        let subjects = process.names.subjects() + 2;
        let touched = &process.take_touched();
        let (process, engine) = (process.number, &process.engine);
        self.happened(&Happening::Turned(Turned { process, engine, subjects, turn, touched }));
    }
}
