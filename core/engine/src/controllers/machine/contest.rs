//! What somebody else changes as often as it is repaired: see [`Contested`].

use alloc::format;
use alloc::string::String;

use seaworthy_model::id::ComponentId;
use seaworthy_model::time::Timestamp;

use super::Step;
use super::attributes::NODE;
use crate::world::{Contested, Part};

impl Step<'_> {
    /// When a component may be repaired that had to be repaired again and again; `None` if that is not so.
    pub(super) fn repaired_later(self, component: ComponentId) -> Option<Timestamp> {
        self.world.contested(self.machine.id, component).map(|contested| contested.not_before)
    }

    /// What is changed again and again, in words; empty when nothing is.
    pub(super) fn describe_contested(self) -> String {
        let Some((part, contested)) = self.world.most_contested(self.machine.id) else {
            return String::new();
        };
        match part {
            Part::Component(component) => describe(self.world.component_name(component), contested),
            Part::Node => describe(NODE, contested),
        }
    }
}

/// What is changed again and again, in words.
pub(super) fn describe(name: &str, Contested { times, wait, .. }: Contested) -> String {
    let minutes = wait.as_secs() / 60;
    format!(
        "{name} was repaired {times} times in a row; the next repair waits for {minutes} min after the last"
    )
}
