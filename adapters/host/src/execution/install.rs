//! The steps forward: the new release is made, swapped in, started and probed, and stays.

use seaworthy_api::host::wire::Release;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Rollback;
use seaworthy_model::host::{Drift, OperationState};

use super::{Before, Direction, Execution, Progress};
use crate::failure::Result;
use crate::journal::Step;
use crate::links;
use crate::manifest::{Manifest, ServiceUnit};
use crate::stage::{self, Stage};
use crate::system::{UnitState, running_binary};
use crate::verify;

impl Execution<'_> {
    pub(super) fn install(&mut self, release: &Release, before: &Before) -> Result<()> {
        if let Some(manifest) = before.manifest.as_ref().filter(|manifest| manifest.release == release.id) {
            let drift = manifest.inspect(&self.site.layout, self.site.system)?.drift;
            if drift == Drift::NONE {
                return self.end(OperationState::Succeeded);
            }
        }
        match self.prepare(release, before) {
            Ok(manifest) => {
                self.note(Step::Swapping { directory: manifest.directory.clone() })?;
                self.point_current(&manifest.directory)?;
                self.note(Step::Swapped)?;
                self.activate(release, &manifest, before)
            }
            Err(cause) => {
                self.undo(release, before)?;
                self.end(OperationState::Failed(cause))
            }
        }
    }

    /// Does everything that touches nothing that runs.
    fn prepare(&mut self, release: &Release, before: &Before) -> Result<Manifest> {
        let component = &self.operation.component;
        let manifest = match stage::find_intact(self.site, component, release)? {
            Some(manifest) => manifest,
            None => Stage { site: self.site, operation: self.operation.id, component, release }
                .make(&mut self.journal)?,
        };
        if let Some(preflight) = &release.recipe.content.preflight {
            let directory = self.site.layout.releases(component).join(&manifest.directory);
            self.invoke(preflight, &directory)
                .map_err(|complaint| Cause::new(CauseKind::PreflightFailed, complaint))?;
        }
        self.check_reload(release, &manifest, before)?;
        let paths = links::add_missing(self.site, &manifest, before.manifest.as_ref())?;
        if !paths.is_empty() {
            let ran = match &manifest.unit {
                Some(unit) => self.site.system.unit(&unit.name)? != UnitState::Stopped,
                None => false,
            };
            self.note(Step::Adopting { paths, ran })?;
        }
        self.note(Step::Linked)?;
        Ok(manifest)
    }

    /// Undoes [`Self::prepare`]. The current release is still the old one.
    pub(super) fn undo(&self, release: &Release, before: &Before) -> Result<()> {
        let kept = before.manifest.as_ref().map_or(&[][..], |manifest| &manifest.links);
        self.site.disk().remove_temporary(&self.site.layout.current(&self.operation.component))?;
        links::remove(self.site, &self.links_made(release), kept)?;
        self.tidy()
    }

    /// The new release is the current one: makes it run, and decides whether it stays.
    pub(super) fn activate(&mut self, release: &Release, manifest: &Manifest, before: &Before) -> Result<()> {
        match self.bring_up(release, manifest, before) {
            Ok(Progress::Done) if release.recipe.content.confirm.is_some() => {
                self.await_confirmation(release, before)
            }
            Ok(Progress::Done) => {
                self.note(Step::Healthy)?;
                self.finish(manifest, before)
            }
            Ok(Progress::Rebooting) => Ok(()),
            Err(cause) if manifest.rollback == Rollback::Unsafe && before.manifest.is_some() => {
                let detail = format!("{}; it was left in place, since its rollback is Unsafe", cause.detail);
                self.tidy()?;
                self.end(OperationState::Failed(Cause::new(CauseKind::RollbackFailed, detail)))
            }
            Err(cause) => self.restore(release, before, cause),
        }
    }

    fn bring_up(&mut self, release: &Release, manifest: &Manifest, before: &Before) -> Result<Progress> {
        links::put_right(self.site, &manifest.links)?;
        let old = before.manifest.as_ref().and_then(|manifest| manifest.unit.as_ref());
        if let Some(old) = old.filter(|old| manifest.unit.as_ref().is_none_or(|unit| unit.name != old.name)) {
            self.stop(&old.name)?;
        }
        if manifest.unit.is_some() {
            // Also when the text of the unit is the same: systemd may have loaded one that was edited by hand.
            self.reload()?;
        }
        let reboots = self.reboots(manifest, before)?;
        if reboots && self.reboot(Direction::Forward)? == Progress::Rebooting {
            return Ok(Progress::Rebooting);
        }
        if let Some(unit) = &manifest.unit {
            let runs = if reboots { self.runs(unit)? } else { self.runs_already(unit)? };
            if !runs && !reboots && self.reloads(release, manifest, before)? {
                self.reload_unit(unit)?;
            } else if !runs {
                self.site
                    .system
                    .restart(&unit.name)
                    .map_err(|cause| Cause::new(CauseKind::ProbeFailed, cause.detail))?;
                self.note(Step::Restarted)?;
            }
        }
        verify::verify(self.site, manifest)?;
        Ok(Progress::Done)
    }

    /// Whether the unit of an adopted release runs already: the files that it was started from have the contents of the
    /// release, so it need not be restarted.
    pub(super) fn runs_already(&self, unit: &ServiceUnit) -> Result<bool> {
        let Some((paths, true)) = self.adopted() else { return Ok(false) };
        if !paths.contains(&links::unit_path(&unit.name)) {
            return Ok(false);
        }
        self.runs(unit)
    }

    /// Whether a unit runs as its release would have it.
    pub(super) fn runs(&self, unit: &ServiceUnit) -> Result<bool> {
        Ok(match self.site.system.unit(&unit.name)? {
            UnitState::Running { pid } => unit.binary.is_some() && running_binary(pid) == unit.binary,
            UnitState::Exited => unit.binary.is_none(),
            UnitState::Waiting | UnitState::Stopped => false,
        })
    }

    /// The new release stays.
    pub(super) fn finish(&mut self, manifest: &Manifest, before: &Before) -> Result<()> {
        if let Some(old) = &before.manifest {
            links::remove(self.site, &old.links, &manifest.links)?;
            if old.unit.is_some() && manifest.unit.is_none() {
                self.reload()?;
            }
            if old.release != manifest.release {
                let link = self.site.layout.previous(&self.operation.component);
                let target = stage::link_target(&self.operation.component, &old.directory);
                self.site.disk().point_own(&link, &target)?;
            }
        }
        self.tidy()?;
        self.end(OperationState::Succeeded)
    }
}
