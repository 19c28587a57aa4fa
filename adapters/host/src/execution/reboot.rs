//! Reboots that a release needs when it comes or goes.

use super::{Before, Direction, Execution, Progress};
use crate::failure::Result;
use crate::journal::Step;
use crate::manifest::Manifest;

impl Execution<'_> {
    /// Whether the change needs a reboot of the host. A repair does not, and neither does a release that is adopted as it is.
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

    /// Reboots the host, once in each direction. Only another boot id proves that it was rebooted.
    pub(super) fn reboot(&mut self, direction: Direction) -> Result<Progress> {
        let boot = self.site.system.boot()?;
        let lines = self.journal.lines();
        let back = lines.iter().position(|line| matches!(line.step, Step::Restoring { .. }));
        let since = match direction {
            Direction::Forward => 0,
            Direction::Back => back.unwrap_or(lines.len()),
        };
        let mut ordered = lines[since..].iter().filter(|line| line.step == Step::Rebooting);
        if ordered.clone().any(|line| line.boot != boot) {
            if !lines[since..].iter().any(|line| line.step == Step::Rebooted) {
                self.note(Step::Rebooted)?;
            }
            return Ok(Progress::Done);
        }
        if ordered.next().is_none() {
            self.note(Step::Rebooting)?;
        }
        self.site.system.reboot()?;
        self.site.disk().step("reboot");
        Ok(Progress::Rebooting)
    }
}
