//! The dead-man switch: a release that could cut the host off is taken back unless the operator confirms in time, over a
//! new connection, that the host can be reached.
//!
//! No process waits for that; a timer of the system does. It is set before the journal says that the operation waits: a
//! process that is killed in between leaves a timer that finds nothing to do, and never a wait without an end.

use std::time::Duration;

use seaworthy_api::host::wire::Release;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Confirm;

use super::{Before, Execution};
use crate::failure::Result;
use crate::journal::{self, Step};

impl Execution<'_> {
    /// Whether the operation waits to be confirmed in this boot.
    pub(super) fn is_waiting(&self) -> Result<bool> {
        Ok(journal::confirming(self.journal.lines(), self.site.system.boot()?).is_some())
    }

    /// Leaves the operation waiting, once in each boot; restores what was there before when its time is over.
    pub(super) fn await_confirmation(&mut self, release: &Release, before: &Before) -> Result<()> {
        let window = release.recipe.content.confirm.map_or(Duration::ZERO, Confirm::window);
        let now = self.site.system.uptime();
        let left = match journal::confirming(self.journal.lines(), self.site.system.boot()?) {
            Some(until) if now >= until => {
                let seconds = window.as_secs();
                let detail = format!("nobody has confirmed within {seconds} s that the host can be reached");
                return self.restore(release, before, Cause::new(CauseKind::NotConfirmed, detail));
            }
            // Its alarm may be gone, and that cannot be asked. A second one does no harm.
            Some(until) => return self.set_alarm(until.saturating_sub(now)),
            None => window,
        };
        if let Err(cause) = self.set_alarm(left) {
            // Without an alarm nothing would take the release back, so it must not stay.
            return self.restore(release, before, cause);
        }
        let until = u64::try_from((now + left).as_millis()).unwrap_or(u64::MAX);
        self.note(Step::Confirming { until })
    }

    fn set_alarm(&self, after: Duration) -> Result<()> {
        self.site.system.alarm(&self.site.layout, self.operation.id, after)?;
        self.site.disk().step("set the alarm");
        Ok(())
    }
}
