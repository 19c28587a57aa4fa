//! Version rules among the fleet's defaults: versions that must not run together are not rolled out, and what has to
//! change first is rolled out first.

use core::time::Duration;

use alloc::vec::Vec;

use seaworthy_model::detail::FleetDetail;
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{ComponentSetting, Want};
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::report::WakeReason;

use super::Step;
use super::standstill::Standstill;
use crate::domains::draft::Draft;
use crate::rows::set::Owner;
use crate::world::World;
use crate::world::index::skew::{self, Conflict, Plan};

/// For this long after a list, no condition reports that the versions of the API servers are unknown: a new process
/// learns them in a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why nothing is rolled out of what an owner wants of a component, as far as that shows before a rollout begins.
pub(crate) fn refusal(
    world: &World,
    owner: Owner,
    component: ComponentId,
) -> Option<(FleetReason, Option<FleetDetail>)> {
    let object = world.charter(owner)?;
    let step = Step { world, owner, object };
    let unusable = step.unusable(object.want(component)?);
    let broken = || Some((FleetReason::VersionSkew, Some(step.skew_detail()?)));
    unusable.map(|reason| (reason, None)).or_else(broken)
}

impl Step<'_> {
    /// The order in which the defaults can be reached from what the fleet had before.
    ///
    /// # Errors
    /// A rule that prevents that.
    pub(super) fn order(self) -> Result<Plan, Conflict> {
        if !self.world.is_ruled() {
            return Ok(Plan::default());
        }
        let (mut steps, mut fixed) = (Vec::new(), Vec::new());
        for setting in self.settings().filter(|setting| self.unusable(&setting.want).is_none()) {
            match self.step_of(setting) {
                Some(step) => steps.push(step),
                None => fixed.extend(setting.want.version()),
            }
        }
        Plan::new(self.world, steps, &fixed)
    }

    /// What has to change for a default; `None` when every reachable machine has it.
    fn step_of(self, setting: &ComponentSetting) -> Option<skew::Step> {
        let state = self.rollout(setting.component);
        let after = setting.want.version();
        let Some(state) = state else {
            return Some(skew::Step { component: setting.component, before: Vec::new(), after });
        };
        let record = &state.record;
        if !state.superseded && record.was_complete() {
            return None;
        }
        let overtaken = state.superseded.then_some(&record.to);
        if record.is_reverted() && !state.superseded {
            let before = record.to.version().into_iter().collect();
            let after = record.target().version();
            return Some(skew::Step { component: setting.component, before, after });
        }
        let before = record.from.iter().chain(overtaken).filter_map(Want::version);
        let before = before.filter(|before| Some(*before) != after).collect();
        Some(skew::Step { component: setting.component, before, after })
    }

    /// Reports defaults that break a rule. None of them is rolled out.
    pub(super) fn tell_skew(self, draft: &mut Draft<'_>, conflict: Conflict) {
        draft.wait(conflict.blocker());
        let told_at = self.world.stores.home.listed_at + PATIENCE;
        if conflict.is_unknown() && draft.now < told_at {
            return draft.wake_at(told_at, WakeReason::BackOff);
        }
        self.write(draft, self.recorded(), Standstill::Stopped(FleetReason::VersionSkew));
    }

    /// The rule that the defaults break.
    pub(super) fn skew_detail(self) -> Option<FleetDetail> {
        self.order().err().map(|conflict| FleetDetail::Skew(self.world.detail_of(conflict)))
    }
}
