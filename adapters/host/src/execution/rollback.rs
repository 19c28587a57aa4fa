//! The steps back: the new release goes, and what was there before is there again.

use seaworthy_api::host::wire::Release;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::OperationState;

use super::{Before, Direction, Execution, Progress};
use crate::failure::Result;
use crate::journal::Step;
use crate::links;
use crate::manifest::Manifest;
use crate::system::UnitState;
use crate::verify;

impl Execution<'_> {
    /// The new release goes, and what was there before is there again.
    pub(super) fn restore(&mut self, release: &Release, before: &Before, cause: Cause) -> Result<()> {
        self.note(Step::Restoring { cause: cause.clone() })?;
        let cause = match self.go_back(release, before) {
            Ok(Progress::Done) => cause,
            Ok(Progress::Rebooting) => return Ok(()),
            Err(why) => {
                let detail = format!("{}; going back failed: {}", cause.detail, why.detail);
                Cause::new(CauseKind::RollbackFailed, detail)
            }
        };
        self.tidy()?;
        self.end(OperationState::Failed(cause))
    }

    fn go_back(&mut self, release: &Release, before: &Before) -> Result<Progress> {
        match &before.manifest {
            Some(old) => self.put_back(release, old)?,
            None => self.give_back(release)?,
        }
        let has_rebooted = self.journal.lines().iter().any(|line| line.step == Step::Rebooted);
        if has_rebooted && self.reboot(Direction::Back)? == Progress::Rebooting {
            return Ok(Progress::Rebooting);
        }
        let Some(old) = &before.manifest else { return Ok(Progress::Done) };
        match &old.unit {
            Some(_) if before.ran && !has_rebooted && self.reload_back(release, old)? => {}
            Some(unit) if before.ran => {
                self.site.system.restart(&unit.name)?;
                self.site.disk().step("restart the old unit");
                verify::verify_restored(self.site, old)?;
            }
            Some(unit) => self.stop(&unit.name)?,
            None => {}
        }
        Ok(Progress::Done)
    }

    /// Makes the old release the current one again. Its unit is not restarted yet.
    fn put_back(&self, release: &Release, old: &Manifest) -> Result<()> {
        let new = self.links_of(release);
        let unit = release.recipe.content.unit.as_ref();
        let old_unit = old.unit.as_ref();
        if let Some(unit) = unit.filter(|unit| old_unit.is_none_or(|old| old.name != unit.name)) {
            self.stop(&unit.name)?;
        }
        self.point_current(&old.directory)?;
        links::put_right(self.site, &old.links)?;
        links::remove(self.site, &new, &old.links)?;
        if unit.is_some() || old_unit.is_some() {
            self.reload()?;
        }
        Ok(())
    }

    /// There was no release of ours before: adopted files are restored, and the rest goes.
    fn give_back(&self, release: &Release) -> Result<()> {
        let (found, ran) = self.adopted().unwrap_or_default();
        links::give_back(self.site, &self.links_of(release), found)?;
        let unit = release.recipe.content.unit.as_ref();
        if let Some(unit) = unit.filter(|_| !ran) {
            self.stop(&unit.name)?;
        }
        links::remove(self.site, &self.links_made(release), &[])?;
        self.site.disk().remove(&self.site.layout.current(&self.operation.component))?;
        let Some(unit) = unit else { return Ok(()) };
        self.reload()?;
        if ran && self.site.system.unit(&unit.name)? == UnitState::Stopped {
            self.site.system.restart(&unit.name)?;
        }
        Ok(())
    }
}
