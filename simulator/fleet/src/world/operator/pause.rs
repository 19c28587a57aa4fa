//! Suspended processes: stopped, starved, or in a suspended virtual machine. Messages for them wait. After a pause, a
//! process decides first and receives the messages only then.

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::id::Kind;

use crate::vocabulary::{Occasion, Skew};
use crate::world::World;
use crate::world::event::Event;
use crate::world::happening::Happening;
use crate::world::process::{self, Clock};

/// The time from the end of a pause until the process reads the messages that had come for it.
const CATCH_UP: Span = Span::millis(2, 30);

impl World {
    /// Suspends a process until then: that of a seat, or without one the holder of the Lease.
    pub(in crate::world) fn pause(&mut self, seat: Option<u32>, until: Timestamp) {
        let leader = self.leader();
        let is_meant = |number: u32, of: u32| seat.map_or(Some(number) == leader, |seat| seat == of);
        let processes = self.live.iter().filter_map(|number| self.processes[*number as usize].as_ref());
        let meant = processes.map(|process| (process.number, process.seat));
        let meant: Vec<u32> =
            meant.filter(|(number, of)| is_meant(*number, *of)).map(|(number, _)| number).collect();
        for number in meant {
            self.note_occasion(Occasion::ProcessPaused);
            self.happened(&Happening::ProcessPaused(number, until));
            let paused = self.paused.entry(number).or_insert(until);
            *paused = until.max(*paused);
        }
    }

    /// Sets the clock of the present and later processes of a seat.
    pub(in crate::world) fn skew(&mut self, seat: u32, skew: Skew) {
        let now = self.queue.now();
        self.skews.insert(seat, skew);
        for process in self.processes.iter_mut().flatten().filter(|process| process.seat == seat) {
            process.clock.set(now, skew);
        }
    }

    /// The clock of a process that starts in a seat.
    pub(in crate::world) fn clock_of(&self, seat: u32) -> Clock {
        Clock::new(self.queue.now(), self.skews.get(&seat).copied().unwrap_or_default())
    }

    /// The process that the Lease names, if it lives.
    pub(in crate::world) fn leader(&self) -> Option<u32> {
        let lease = self.api_servers.home().get(Kind::Lease, seaworthy_api::v1alpha1::LEASE)?;
        let holder = lease.lease()?.spec.holder_identity.as_deref()?;
        self.live.iter().copied().find(|number| holder == process::holder(*number))
    }

    /// Delays an event if it is for a suspended process. Returns whether it did.
    pub(in crate::world) fn postpone(&mut self, event: &Event) -> bool {
        if self.paused.is_empty() {
            return false;
        }
        let now = self.queue.now();
        self.paused.retain(|_, until| *until > now);
        let (process, priority, brings) = match *event {
            Event::Deliver { process, .. } | Event::List { process, .. } => (process, Priority::NORMAL, true),
            Event::Versions { process } => (process, Priority::NORMAL, true),
            Event::Turn { process, .. } => (process, Priority::DECISION, false),
            Event::Deadline { process } | Event::Stop { process } => (process, Priority::NORMAL, false),
            Event::Mail(number) => match self.mail.recipient(number) {
                Some(process) => (process, Priority::NORMAL, true),
                None => return false,
            },
            Event::Start { .. }
            | Event::Replace { .. }
            | Event::Kill { .. }
            | Event::Step { .. }
            | Event::Fetched { .. }
            | Event::Boot(_)
            | Event::Renewal { .. }
            | Event::Expiry { .. }
            | Event::People(_)
            | Event::Adoption
            | Event::Override
            | Event::Confirmation
            | Event::Workload { .. }
            | Event::Certificate(_)
            | Event::Pod { .. }
            | Event::Fault(_) => return false,
        };
        let Some(&until) = self.paused.get(&process) else { return false };
        self.queue.discount();
        let delay = self.draws.within(word("catch up"), u64::from(process), now.millis(), CATCH_UP);
        let at = if brings { until + delay } else { until };
        self.queue.at(at, priority, event.clone());
        true
    }
}
