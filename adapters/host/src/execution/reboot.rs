//! Reboots that a release needs when it comes or goes.

use super::{Before, Execution, Half, Way};
use crate::failure::Result;
use crate::journal::Step;
use crate::manifest::Manifest;

impl Execution<'_> {
    /// Whether the host has to be started anew before the change is done: not for the repair of what is there, and not for
    /// what somebody else had installed the same.
    pub(super) fn reboots(&self, manifest: &Manifest, before: &Before) -> Result<bool> {
        let old = before.manifest.as_ref();
        if old.is_some_and(|old| old.release == manifest.release)
            || !(manifest.reboot || old.is_some_and(|old| old.reboot))
        {
            return Ok(false);
        }
        let Some((paths, _)) = self.adopted() else { return Ok(true) };
        let is_taken_over = manifest.links.iter().all(|link| paths.contains(&link.path));
        Ok(!is_taken_over
            || match &manifest.unit {
                Some(unit) => !self.runs_already(unit)?,
                None => false,
            })
    }

    /// Starts the host anew, once for each half of the way. That it was is proven by the id of its boot alone.
    pub(super) fn reboot(&mut self, half: Half) -> Result<Way> {
        let boot = self.site.system.boot()?;
        let lines = self.journal.lines();
        let back = lines.iter().position(|line| matches!(line.step, Step::Restoring { .. }));
        let since = match half {
            Half::There => 0,
            Half::Back => back.unwrap_or(lines.len()),
        };
        let mut ordered = lines[since..].iter().filter(|line| line.step == Step::Rebooting);
        if ordered.clone().any(|line| line.boot != boot) {
            if !lines[since..].iter().any(|line| line.step == Step::Rebooted) {
                self.note(Step::Rebooted)?;
            }
            return Ok(Way::Gone);
        }
        if ordered.next().is_none() {
            self.note(Step::Rebooting)?;
        }
        self.site.system.reboot()?;
        self.site.disk().step("reboot");
        Ok(Way::Rebooting)
    }
}
