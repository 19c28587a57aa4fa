//! What somebody else changes as often as it is repaired: see [`Contested`].

use alloc::format;
use alloc::string::String;

use seaworthy_model::id::ComponentId;
use seaworthy_model::time::Timestamp;

use super::Step;
use crate::sabotage::Sabotage;
use crate::world::Contested;

impl Step<'_> {
    /// When a component may be repaired that had to be repaired again and again; `None` if that is not so.
    pub(super) fn repaired_later(self, component: ComponentId) -> Option<Timestamp> {
        let contested = self.world.contested(self.machine.id, component);
        let contested = contested.filter(|_| !self.world.is_sabotaged(Sabotage::RepairsUnlimited));
        contested.map(|contested| contested.not_before)
    }

    /// What is changed again and again, in words; empty when nothing is.
    pub(super) fn describe_contested(self) -> String {
        let Some((component, Contested { times, wait, .. })) = self.world.most_contested(self.machine.id)
        else {
            return String::new();
        };
        let (name, minutes) = (self.world.component_name(component), wait.as_secs() / 60);
        format!(
            "{name} was repaired {times} times in a row; the next repair waits for {minutes} min after the last"
        )
    }
}
