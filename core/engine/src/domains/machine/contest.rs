//! Parts that another agent changes as often as they are repaired: see [`Contested`].

use alloc::sync::Arc;

use seaworthy_model::detail::Detail;
use seaworthy_model::id::ComponentId;
use seaworthy_model::time::Timestamp;

use super::step::Step;
use crate::rows::repairs::{Contested, Part};

impl Step<'_> {
    /// When a contested component may be repaired; `None` if it is not contested.
    pub(super) fn repaired_later(self, component: ComponentId) -> Option<Timestamp> {
        self.world.contested(self.machine.id, component).map(|contested| contested.not_before)
    }

    /// The most contested part, if any is contested.
    pub(super) fn contested_detail(self) -> Option<Detail> {
        let (part, contested) = self.world.most_contested(self.machine.id)?;
        let component = match part {
            Part::Component(component) => Some(self.world.name_of_component(component)),
            Part::Node => None,
        };
        Some(detail(component, contested))
    }
}

/// The detail of a contested component, or of contested labels and taints of the Node.
pub(super) const fn detail(component: Option<Arc<str>>, Contested { times, wait, .. }: Contested) -> Detail {
    Detail::Contested { component, times, minutes: wait.as_secs() / 60 }
}
