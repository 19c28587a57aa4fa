//! Hosts lose power, the network and software, and get them back.

use seaworthy_kernel::{Span, word};
use seaworthy_model::event::Outcome;
use seaworthy_model::host::Drift;

use crate::vocabulary::{HostLie, Occasion};
use crate::world::World;
use crate::world::happening::Happening;
use crate::world::host::{ComponentNumber, Progress};
use crate::world::mail::{Letter, Sender};

/// The time until the loss of a connection is noticed through unanswered keep-alives.
const KEEP_ALIVE: Span = Span::millis(15_000, 45_000);
/// The time from power-on to the start of the host program.
const BOOT: Span = Span::millis(8_000, 20_000);

impl World {
    pub(in crate::world) fn power_off(&mut self, number: u32) {
        let sessions = self.drop_sessions(number);
        if !self.hosts[number as usize].power_off() {
            return;
        }
        let now = self.queue.now();
        self.trace.record(&[word("power off"), u64::from(number), now.millis()]);
        self.happened(&Happening::PowerLost(number));
        self.session_lost(sessions);
        if self.hosts[number as usize].running().is_some() {
            self.note_occasion(Occasion::HostLostInOperation);
        }
        self.host_lost(number);
    }

    /// A host goes down for a reboot that its operation needs.
    pub(super) fn shut_down(&mut self, number: u32) {
        let sessions = self.drop_sessions(number);
        if !self.hosts[number as usize].power_off() {
            return;
        }
        let now = self.queue.now();
        self.trace.record(&[word("shut down"), u64::from(number), now.millis()]);
        self.happened(&Happening::ShutDown(number));
        self.session_lost(sessions);
        self.host_lost(number);
    }

    pub(in crate::world) fn power_on(&mut self, number: u32) {
        if self.start(number) {
            self.happened(&Happening::PowerReturned(number));
        }
    }

    /// A host starts, unless another cause keeps it off.
    pub(in crate::world) fn start(&mut self, number: u32) -> bool {
        if !self.hosts[number as usize].power_on() {
            return false;
        }
        let now = self.queue.now();
        self.trace.record(&[word("power on"), u64::from(number), now.millis()]);
        self.happened(&Happening::Started(number));
        let boots = self.hosts[number as usize].boot().0;
        let boot = self.draws.within(word("boot"), u64::from(number), boots as u64, BOOT);
        let setting = setting!(self, number);
        match self.hosts[number as usize].recover(&setting) {
            None => {}
            Some(Progress::Next(step, length)) => {
                self.note_occasion(Occasion::OperationResumed);
                if let Some(run) = self.hosts[number as usize].running().map(|running| running.run) {
                    self.step_begun(number, run, step, boot + length);
                }
            }
            Some(Progress::Ended { work, ended, sessions }) => {
                self.operation_ended(number, &work, ended, sessions)
            }
        }
        self.host_on(number, boot);
        true
    }

    pub(in crate::world) fn cut(&mut self, number: u32) {
        let sessions = self.drop_sessions(number);
        if !self.hosts[number as usize].cut() {
            return;
        }
        self.trace.record(&[word("cut"), u64::from(number), self.queue.now().millis()]);
        self.happened(&Happening::Network(number, false));
        self.session_lost(sessions);
        if self.hosts[number as usize].running().is_some() {
            self.note_occasion(Occasion::HostLostInOperation);
        }
        self.host_lost(number);
    }

    pub(in crate::world) fn mend(&mut self, number: u32) {
        if self.hosts[number as usize].mend() {
            self.trace.record(&[word("mend"), u64::from(number), self.queue.now().millis()]);
            self.happened(&Happening::Network(number, true));
            self.host_connected(number);
        }
    }

    pub(in crate::world) fn spoil(&mut self, number: u32, drift: Drift) {
        let choice = self.draws.bits(word("spoil"), u64::from(number), self.queue.now().millis());
        let host = &mut self.hosts[number as usize];
        if host.is_on() && host.spoil(choice, drift) {
            self.trace.record(&[word("spoil"), u64::from(number), u64::from(drift.0)]);
            self.happened(&Happening::Spoiled(number, drift));
            self.last_operation = self.queue.now();
            self.software_changed(number);
        }
    }

    /// The service of a component ends by itself.
    pub(super) fn crash_service(&mut self, number: u32, component: ComponentNumber) {
        let host = &mut self.hosts[number as usize];
        if host.is_on() && host.spoil_component(component, Drift::NOT_RUNNING) {
            self.trace.record(&[word("crash"), u64::from(number)]);
            self.happened(&Happening::Spoiled(number, Drift::NOT_RUNNING));
            self.last_operation = self.queue.now();
            self.software_changed(number);
        }
    }

    /// The service of a component ends by itself, and its host starts it again.
    pub(super) fn restart_service(&mut self, number: u32, component: ComponentNumber) {
        let host = &mut self.hosts[number as usize];
        if host.is_on() && host.restart_service(component) {
            self.trace.record(&[word("restart"), u64::from(number), self.queue.now().millis()]);
        }
    }

    /// A host reports what is not true from now on, or what is true again.
    pub(in crate::world) fn pretend(&mut self, number: u32, lie: Option<HostLie>) {
        self.hosts[number as usize].pretend(lie);
        if lie.is_some() {
            self.note_occasion(Occasion::HostLied);
        }
    }

    pub(super) fn drop_sessions(&mut self, number: u32) -> Vec<Sender> {
        let sessions = self.hosts[number as usize].take_sessions();
        let senders = sessions.into_iter().filter_map(|session| match self.mail.take(session) {
            Some(Letter::Session { sender }) => Some(sender),
            _ => None,
        });
        senders.collect()
    }

    pub(super) fn session_lost(&mut self, senders: Vec<Sender>) {
        for sender in senders {
            let owner = u64::from(sender.process);
            let delay = self.draws.within(word("keep-alive"), owner, sender.action.0, KEEP_ALIVE);
            self.note_occasion(Occasion::SessionLost);
            self.answer(sender, delay, Outcome::Unknown);
        }
    }
}
