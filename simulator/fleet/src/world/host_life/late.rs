//! Releases that were found healthy and let the kubelet report later that the Node is not ready.

use std::time::Duration;

use seaworthy_kernel::{Priority, Span, word};

use crate::vocabulary::{HarmForm, Injection, LateHarm, Occasion};
use crate::world::World;
use crate::world::event::Event;
use crate::world::host::{ComponentNumber, Ended, Work};
use crate::world::node::Harm;

/// Between a cause and the next look of the kubelet.
const NOTICES: Span = Span::millis(100, 10_000);
/// The least time for which a Node that flaps keeps its condition.
const LEAST_FLAP: Duration = Duration::from_secs(1);

impl World {
    /// An operation has ended. If its release harms the Node later, the times of that are known now.
    pub(super) fn late_harm_follows(&mut self, number: u32, work: &Work, ended: Ended) {
        let now = self.now();
        let Some(late) = self.late.0.get_mut(&number).filter(|late| !late.is_installed) else { return };
        if late.component != work.component {
            return;
        }
        if ended != Ended::Succeeded {
            self.late.0.remove(&number);
            return;
        }
        late.is_installed = true;
        let LateHarm { after, lasting, flaps, .. } = late.harm;
        let begins = now + after;
        let ends = (begins + lasting).min(self.quiet);
        let length = flaps.map_or(lasting, |flap| flap.max(LEAST_FLAP));
        let mut at = begins;
        while at < ends {
            self.queue.at(at, Priority::WORLD, Event::Fault(Box::new(Injection::FailLate(number))));
            let until = (at + length).min(ends);
            self.queue.at(until, Priority::WORLD, Event::Fault(Box::new(Injection::RecoverLate(number))));
            at = until + length;
        }
        if begins >= ends {
            self.late.0.remove(&number);
        }
    }

    /// The release that harms the Node of a host begins to do so, if it is still there.
    pub(in crate::world) fn fail_late(&mut self, number: u32) {
        let host = &self.hosts[number as usize];
        let Some(late) = self.late.0.get_mut(&number).filter(|late| late.is_installed && !late.acts) else {
            return;
        };
        if host.version_of(late.component) != Some(late.version) {
            return;
        }
        late.acts = true;
        let (component, harm) = (late.component, late.harm);
        self.note_occasion(Occasion::ReleaseFailedLate);
        match harm.form {
            HarmForm::Crashes => self.crash_service(number, component),
            HarmForm::Restarts => self.restart_service(number, component),
            HarmForm::Fills => self.fill(number),
            HarmForm::Unready => self.sicken(number, true),
            HarmForm::Measured => self.gate_checks.ailing += 1,
            HarmForm::Stalls => {
                self.gate_checks.stalled.insert(number);
            }
        }
    }

    /// The release lets the Node be ready again.
    pub(in crate::world) fn recover_late(&mut self, number: u32) {
        let Some(late) = self.late.0.get_mut(&number).filter(|late| late.acts) else { return };
        late.acts = false;
        let harm = late.harm;
        match harm.form {
            HarmForm::Crashes | HarmForm::Restarts => {}
            HarmForm::Fills => self.make_room(number),
            HarmForm::Unready => self.sicken(number, false),
            HarmForm::Measured => self.gate_checks.ailing -= 1,
            HarmForm::Stalls => {
                self.gate_checks.stalled.remove(&number);
            }
        }
    }

    /// A component of a host was changed or restarted: what its release did to the Node is over.
    pub(in crate::world) fn late_harm_ends(&mut self, number: u32, component: ComponentNumber) {
        let of_it = |late: &&Harm| late.component == component && late.is_installed;
        if self.late.0.get(&number).as_ref().is_some_and(of_it) {
            self.recover_late(number);
            self.late.0.remove(&number);
        }
    }

    /// The kubelet of a host has one cause more, or one less, to report that its Node is not ready.
    pub(in crate::world) fn sicken(&mut self, number: u32, is_sick: bool) {
        let delay = self.draws.within(word("sick"), u64::from(number), self.now().millis(), NOTICES);
        let Some(kubelet) = self.kubelets.get_mut(number as usize) else { return };
        let was_unfit = kubelet.is_unfit();
        kubelet.sicken(is_sick);
        if is_sick {
            self.note_occasion(Occasion::NodeSick);
        }
        self.condition_changes(number, was_unfit, delay);
    }
}
