//! Reloads: the service that runs reads its configuration again instead of being started anew.
//!
//! That is all that a change from one release to another may do if both ask for less than a restart. If it would not make the
//! service what the new release says, the change is refused before anything that runs is touched. What does not run as its own
//! release says is started anew in any case, and so is what is repaired: nobody knows what it has read.

use seaworthy_api::host::wire::Release;
use seaworthy_model::cause::{Cause, CauseKind};

use super::{Before, Execution};
use crate::failure::Result;
use crate::journal::Step;
use crate::manifest::{Manifest, ServiceUnit};
use crate::system::{UnitState, running_binary};
use crate::verify;

impl Execution<'_> {
    /// Refuses a release that asks for a reload where only a restart would do, unless the release that goes allows that.
    pub(super) fn check_reload(&self, release: &Release, new: &Manifest, before: &Before) -> Result<()> {
        let old = before.manifest.as_ref().filter(|old| old.less_than_restart.is_some());
        let Some((old, unit)) = old.and_then(|old| Some((old, old.unit.as_ref()?))) else { return Ok(()) };
        if !release.recipe.content.reloads() || old.release == new.release || !self.serves(unit)? {
            return Ok(());
        }
        match self.obstacle(new, unit)? {
            Some(obstacle) => {
                let detail = format!(
                    "a reload would not make {} what {} says: {obstacle}; declare disruption: Restart in a new version",
                    unit.name, new.version_name
                );
                Err(Cause::new(CauseKind::ReloadRefused, detail))
            }
            None => Ok(()),
        }
    }

    /// Whether the unit that runs is told to read its configuration again, and is not restarted.
    pub(super) fn reloads(&self, release: &Release, new: &Manifest, before: &Before) -> Result<bool> {
        let Some(old) = &before.manifest else { return Ok(false) };
        self.can_take_over(release, new, old)
    }

    /// Has the unit of a restored release read its configuration again. False if the unit has to be restarted instead: since
    /// it does not run as it should, or is not healthy after that.
    pub(super) fn reload_back(&mut self, release: &Release, old: &Manifest) -> Result<bool> {
        let Some(unit) = &old.unit else { return Ok(false) };
        let is_enough = if self.has_reloaded_back() {
            self.serves(unit)?
        } else {
            self.swapped_in().map_or(Ok(false), |new| self.can_take_over(release, old, &new))?
        };
        if !is_enough {
            return Ok(false);
        }
        Ok(self.reload_unit(unit).and_then(|()| verify::verify(self.site, old)).is_ok())
    }

    /// Whether the unit of the restored release was reloaded before an interruption: by then the release that failed may be gone,
    /// and with it what there is to compare.
    fn has_reloaded_back(&self) -> bool {
        let steps = self.journal.lines().iter().map(|line| &line.step);
        steps.skip_while(|step| !matches!(step, Step::Restoring { .. })).any(|step| *step == Step::Reloaded)
    }

    /// Tells a unit to read its configuration again.
    pub(super) fn reload_unit(&mut self, unit: &ServiceUnit) -> Result<()> {
        self.site
            .system
            .reload_unit(&unit.name)
            .map_err(|cause| Cause::new(CauseKind::ProbeFailed, cause.detail))?;
        self.note(Step::Reloaded)
    }

    /// Whether a reload makes the unit of `goes`, as it runs, that of `comes`, in a change to `release` or back from it.
    fn can_take_over(&self, release: &Release, comes: &Manifest, goes: &Manifest) -> Result<bool> {
        let Some(unit) = &goes.unit else { return Ok(false) };
        Ok(release.recipe.content.reloads()
            && goes.release != comes.release
            && self.serves(unit)?
            && self.obstacle(comes, unit)?.is_none())
    }

    /// Whether a unit runs, as what its release says.
    fn serves(&self, unit: &ServiceUnit) -> Result<bool> {
        Ok(match self.site.system.unit(&unit.name)? {
            UnitState::Running { pid } => unit.binary.is_none() || running_binary(pid) == unit.binary,
            UnitState::Exited => unit.binary.is_none(),
            UnitState::Waiting | UnitState::Stopped => false,
        })
    }

    /// Why a reload would not make a unit that runs what the release `comes` says. `None` if it would.
    fn obstacle(&self, comes: &Manifest, runs: &ServiceUnit) -> Result<Option<String>> {
        let name = &runs.name;
        let Some(unit) = comes.unit.as_ref().filter(|unit| unit.name == *name) else {
            return Ok(Some("the unit has another name".to_owned()));
        };
        if unit.sha256 != runs.sha256 {
            return Ok(Some("the unit file differs".to_owned()));
        }
        if unit.binary != runs.binary {
            let path = unit.executable.as_ref().or(runs.executable.as_ref());
            return Ok(Some(format!("the executable {} differs", path.map_or("", String::as_str))));
        }
        let is_able = self.site.system.can_reload(name)?;
        Ok((!is_able).then(|| "the unit has no ExecReload".to_owned()))
    }
}
