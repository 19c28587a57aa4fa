//! The execution of one operation, from the beginning or from wherever a crash left it.
//!
//! What a crash leaves is decided by the journal and one link:
//!
//! | the journal says | and | then |
//! |---|---|---|
//! | accepted | the same boot | it is begun |
//! | accepted | another boot | nothing was done: `Interrupted` |
//! | started ... linked | | undone: `Interrupted` |
//! | swapping | `current/` is still the old release | undone: `Interrupted` |
//! | swapping, swapped, restarted | `current/` is the new release | finished: brought up, probed, kept or restored |
//! | rebooting | the same boot | the host is started anew |
//! | rebooting | another boot | that was done: finished as above |
//! | confirming | the same boot, its time is not over | it goes on waiting |
//! | confirming | the same boot, its time is over | the old release is restored: `Failed` |
//! | confirming | another boot | finished as after the swap, and waits anew |
//! | confirmed, healthy | | tidied: `Succeeded` |
//! | restoring | | the old release is restored: `Failed` |
//! | removing, stopped | | removed to the end, with its commands from the first on: `Succeeded` |
//! | cleaned | | removed to the end: `Succeeded` |
//!
//! Every part of it may be repeated any number of times with the same result.

use std::path::Path;

use seaworthy_api::host::wire::{Change, Operation, Release};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Rollback;
use seaworthy_model::host::{Drift, OperationState};
use seaworthy_model::invocation::Invocation;

use crate::Host;
use crate::clearing;
use crate::disk;
use crate::failure::{self, Result};
use crate::invocation;
use crate::journal::{Journal, Step};
use crate::links;
use crate::manifest::{HostLink, Manifest, ServiceUnit, linked_directory};
use crate::stage::{self, Stage};
use crate::system::{UnitState, running_binary};
use crate::verify;

/// An operation under way.
pub(crate) struct Execution<'a> {
    pub(crate) host: &'a Host<'a>,
    pub(crate) operation: &'a Operation,
    pub(crate) journal: Journal,
}

/// What was there when the execution began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before {
    /// The manifest of the release that was current.
    manifest: Option<Manifest>,
    /// Whether its unit ran.
    ran: bool,
}

/// How far a half of the way has been gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To its end.
    Gone,
    /// The host is about to be started anew; the next execution goes on from here.
    Rebooting,
}

/// A half of the way: to the new release, or back from it to the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    There,
    Back,
}

impl Execution<'_> {
    /// Takes the operation to its end.
    ///
    /// # Errors
    /// When not even the end could be recorded. The next execution goes on from here.
    pub(crate) fn run(mut self) -> Result<()> {
        let lines = self.journal.lines();
        let accepted = lines.first().map(|line| line.boot);
        if lines.iter().any(|line| matches!(line.step, Step::Ended { .. })) {
            return Ok(());
        }
        match self.started()? {
            Some(before) => self.resume(&before),
            None if accepted == Some(self.host.system.boot()?) => self.begin(),
            None => self.end(OperationState::Interrupted),
        }
    }

    fn begin(&mut self) -> Result<()> {
        let manifest = Manifest::current(&self.host.layout, &self.operation.component)?;
        let ran = match manifest.as_ref().and_then(|manifest| manifest.unit.as_ref()) {
            Some(unit) => self.host.system.unit(&unit.name)? != UnitState::Stopped,
            None => false,
        };
        let directory = manifest.as_ref().map(|manifest| manifest.directory.clone());
        self.note(Step::Started { before: directory, ran })?;
        let before = Before { manifest, ran };
        match &self.operation.change {
            Change::Install(release) => self.install(release, &before),
            Change::Remove => self.remove(&before),
        }
    }

    fn resume(&mut self, before: &Before) -> Result<()> {
        self.note(Step::Resumed)?;
        let steps = || self.journal.lines().iter().map(|line| &line.step);
        let healthy = steps().any(|step| matches!(step, Step::Healthy | Step::Confirmed));
        let removing = steps().any(|step| *step == Step::Removing);
        let restoring = steps()
            .find_map(|step| if let Step::Restoring { cause } = step { Some(cause.clone()) } else { None });
        let swapping = steps().find_map(|step| {
            if let Step::Swapping { directory } = step { Some(directory.clone()) } else { None }
        });
        let release = match &self.operation.change {
            Change::Remove if removing => return self.remove_now(before),
            Change::Remove => return self.end(OperationState::Interrupted),
            Change::Install(release) => release,
        };
        if let Some(cause) = restoring {
            return self.restore(release, before, cause);
        }
        let current = linked_directory(&self.host.layout.current(&self.operation.component));
        match swapping.filter(|directory| current.as_ref() == Some(directory)) {
            Some(directory) => {
                match Manifest::read(&self.host.layout, &self.operation.component, &directory)? {
                    Some(manifest) if healthy => self.finish(&manifest, before),
                    Some(_) if self.is_waiting()? => self.await_confirmation(release, before),
                    Some(manifest) => self.activate(release, &manifest, before),
                    None => {
                        let cause = failure::host(format!("the manifest of {directory} is lost"));
                        self.restore(release, before, cause)
                    }
                }
            }
            None => {
                self.undo(release, before)?;
                self.end(OperationState::Interrupted)
            }
        }
    }

    /// What the journal says was there before.
    fn started(&self) -> Result<Option<Before>> {
        for line in self.journal.lines() {
            if let Step::Started { before, ran } = &line.step {
                let manifest = match before {
                    Some(directory) => {
                        Manifest::read(&self.host.layout, &self.operation.component, directory)?
                    }
                    None => None,
                };
                return Ok(Some(Before { manifest, ran: *ran }));
            }
        }
        Ok(None)
    }

    fn install(&mut self, release: &Release, before: &Before) -> Result<()> {
        if let Some(manifest) = before.manifest.as_ref().filter(|manifest| manifest.release == release.id) {
            let drift = manifest.inspect(&self.host.layout, self.host.system)?.drift;
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

    /// All that can be done before anything that runs is touched.
    fn prepare(&mut self, release: &Release, before: &Before) -> Result<Manifest> {
        let component = &self.operation.component;
        let manifest = match stage::find_intact(self.host, component, release)? {
            Some(manifest) => manifest,
            None => Stage { host: self.host, operation: self.operation.id, component, release }
                .make(&mut self.journal)?,
        };
        if let Some(preflight) = &release.recipe.content.preflight {
            let directory = self.host.layout.releases(component).join(&manifest.directory);
            self.invoke(preflight, &directory)
                .map_err(|complaint| Cause::new(CauseKind::PreflightFailed, complaint))?;
        }
        let paths = links::add_missing(self.host, &manifest, before.manifest.as_ref())?;
        if !paths.is_empty() {
            let ran = match &manifest.unit {
                Some(unit) => self.host.system.unit(&unit.name)? != UnitState::Stopped,
                None => false,
            };
            self.note(Step::Adopting { paths, ran })?;
        }
        self.note(Step::Linked)?;
        Ok(manifest)
    }

    /// Takes back what [`Self::prepare`] did. The release that was current is so still.
    fn undo(&self, release: &Release, before: &Before) -> Result<()> {
        let kept = before.manifest.as_ref().map_or(&[][..], |manifest| &manifest.links);
        self.host.disk().remove_temporary(&self.host.layout.current(&self.operation.component))?;
        links::remove(self.host, &self.links_made(release), kept)?;
        self.tidy()
    }

    /// The new release is the current one: makes it run, and decides whether it stays.
    fn activate(&mut self, release: &Release, manifest: &Manifest, before: &Before) -> Result<()> {
        match self.bring_up(manifest, before) {
            Ok(Way::Gone) if release.recipe.content.confirm.is_some() => {
                self.await_confirmation(release, before)
            }
            Ok(Way::Gone) => {
                self.note(Step::Healthy)?;
                self.finish(manifest, before)
            }
            Ok(Way::Rebooting) => Ok(()),
            Err(cause) if manifest.rollback == Rollback::Unsafe && before.manifest.is_some() => {
                let detail = format!("{}; it was left in place, since its rollback is Unsafe", cause.detail);
                self.tidy()?;
                self.end(OperationState::Failed(Cause::new(CauseKind::RollbackFailed, detail)))
            }
            Err(cause) => self.restore(release, before, cause),
        }
    }

    fn bring_up(&mut self, manifest: &Manifest, before: &Before) -> Result<Way> {
        links::put_right(self.host, &manifest.links)?;
        let old = before.manifest.as_ref().and_then(|manifest| manifest.unit.as_ref());
        if let Some(old) = old.filter(|old| manifest.unit.as_ref().is_none_or(|unit| unit.name != old.name)) {
            self.stop(&old.name)?;
        }
        if manifest.unit.is_some() {
            // Also when the text of the unit is the same: systemd may have read what somebody made of it by hand.
            self.reload()?;
        }
        let reboots = self.reboots(manifest, before)?;
        if reboots && self.reboot(Half::There)? == Way::Rebooting {
            return Ok(Way::Rebooting);
        }
        if let Some(unit) = &manifest.unit {
            let runs = if reboots { self.runs(unit)? } else { self.runs_already(unit)? };
            if !runs {
                self.host
                    .system
                    .restart(&unit.name)
                    .map_err(|cause| Cause::new(CauseKind::ProbeFailed, cause.detail))?;
                self.note(Step::Restarted)?;
            }
        }
        verify::verify(self.host, manifest)?;
        Ok(Way::Gone)
    }

    /// Whether the host has to be started anew before the change is done: not for the repair of what is there, and not for
    /// what somebody else had installed the same.
    fn reboots(&self, manifest: &Manifest, before: &Before) -> Result<bool> {
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
    fn reboot(&mut self, half: Half) -> Result<Way> {
        let boot = self.host.system.boot()?;
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
        self.host.system.reboot()?;
        self.host.disk().step("reboot");
        Ok(Way::Rebooting)
    }

    /// What of this release somebody else had installed before, and whether its unit ran.
    fn adopted(&self) -> Option<(&[String], bool)> {
        self.journal.lines().iter().find_map(|line| {
            if let Step::Adopting { paths, ran } = &line.step { Some((&paths[..], *ran)) } else { None }
        })
    }

    /// Whether the unit of a release that is taken over runs as that release would have it: what it was started from has the
    /// contents of the release, so there is nothing to start it anew for.
    fn runs_already(&self, unit: &ServiceUnit) -> Result<bool> {
        let Some((paths, true)) = self.adopted() else { return Ok(false) };
        if !paths.contains(&links::unit_path(&unit.name)) {
            return Ok(false);
        }
        self.runs(unit)
    }

    /// Whether a unit runs as its release would have it.
    fn runs(&self, unit: &ServiceUnit) -> Result<bool> {
        Ok(match self.host.system.unit(&unit.name)? {
            UnitState::Running { pid } => unit.binary.is_some() && running_binary(pid) == unit.binary,
            UnitState::Exited => unit.binary.is_none(),
            UnitState::Waiting | UnitState::Stopped => false,
        })
    }

    /// The new release stays.
    fn finish(&mut self, manifest: &Manifest, before: &Before) -> Result<()> {
        if let Some(old) = &before.manifest {
            links::remove(self.host, &old.links, &manifest.links)?;
            if old.unit.is_some() && manifest.unit.is_none() {
                self.reload()?;
            }
            if old.release != manifest.release {
                let link = self.host.layout.previous(&self.operation.component);
                let target = stage::link_target(&self.operation.component, &old.directory);
                self.host.disk().point(&link, &target)?;
            }
        }
        self.tidy()?;
        self.end(OperationState::Succeeded)
    }

    /// The new release goes, and what was there before is there again.
    pub(crate) fn restore(&mut self, release: &Release, before: &Before, cause: Cause) -> Result<()> {
        self.note(Step::Restoring { cause: cause.clone() })?;
        let cause = match self.go_back(release, before) {
            Ok(Way::Gone) => cause,
            Ok(Way::Rebooting) => return Ok(()),
            Err(why) => {
                let detail = format!("{}; going back failed: {}", cause.detail, why.detail);
                Cause::new(CauseKind::RollbackFailed, detail)
            }
        };
        self.tidy()?;
        self.end(OperationState::Failed(cause))
    }

    fn go_back(&mut self, release: &Release, before: &Before) -> Result<Way> {
        match &before.manifest {
            Some(old) => self.put_back(release, old)?,
            None => self.give_back(release)?,
        }
        let has_rebooted = self.journal.lines().iter().any(|line| line.step == Step::Rebooted);
        if has_rebooted && self.reboot(Half::Back)? == Way::Rebooting {
            return Ok(Way::Rebooting);
        }
        let Some(old) = &before.manifest else { return Ok(Way::Gone) };
        match &old.unit {
            Some(unit) if before.ran => {
                self.host.system.restart(&unit.name)?;
                self.host.disk().step("restart the old unit");
                verify::verify_restored(self.host, old)?;
            }
            Some(unit) => self.stop(&unit.name)?,
            None => {}
        }
        Ok(Way::Gone)
    }

    /// The old release is the current one again; what runs is not started anew yet.
    fn put_back(&self, release: &Release, old: &Manifest) -> Result<()> {
        let new = self.links_of(release);
        let unit = release.recipe.content.unit.as_ref();
        let old_unit = old.unit.as_ref();
        if let Some(unit) = unit.filter(|unit| old_unit.is_none_or(|old| old.name != unit.name)) {
            self.stop(&unit.name)?;
        }
        self.point_current(&old.directory)?;
        links::put_right(self.host, &old.links)?;
        links::remove(self.host, &new, &old.links)?;
        if unit.is_some() || old_unit.is_some() {
            self.reload()?;
        }
        Ok(())
    }

    /// Nothing of ours was there before: what somebody else had installed is his again, and the rest goes.
    fn give_back(&self, release: &Release) -> Result<()> {
        let (found, ran) = self.adopted().unwrap_or_default();
        links::give_back(self.host, &self.links_of(release), found)?;
        let unit = release.recipe.content.unit.as_ref();
        if let Some(unit) = unit.filter(|_| !ran) {
            self.stop(&unit.name)?;
        }
        links::remove(self.host, &self.links_made(release), &[])?;
        self.host.disk().remove(&self.host.layout.current(&self.operation.component))?;
        let Some(unit) = unit else { return Ok(()) };
        self.reload()?;
        if ran && self.host.system.unit(&unit.name)? == UnitState::Stopped {
            self.host.system.restart(&unit.name)?;
        }
        Ok(())
    }

    fn remove(&mut self, before: &Before) -> Result<()> {
        let current = self.host.layout.current(&self.operation.component);
        if before.manifest.is_none() && disk::target(&current).is_some() {
            let detail = format!(
                "the manifest of {} is lost, so nobody knows its links: install it again, then remove it",
                self.operation.component
            );
            return self.end(OperationState::Failed(failure::host(detail)));
        }
        self.note(Step::Removing)?;
        self.remove_now(before)
    }

    fn remove_now(&mut self, before: &Before) -> Result<()> {
        let state = match self.take_away(before) {
            Ok(()) => OperationState::Succeeded,
            Err(cause) => OperationState::Failed(cause),
        };
        self.end(state)
    }

    fn take_away(&mut self, before: &Before) -> Result<()> {
        let is_cleaned = self.journal.lines().iter().any(|line| line.step == Step::Cleaned);
        if let Some(manifest) = before.manifest.as_ref().filter(|_| !is_cleaned) {
            self.clean_up(manifest)?;
            self.note(Step::Cleaned)?;
        }
        let (disk, layout) = (self.host.disk(), &self.host.layout);
        let component = &self.operation.component;
        // The manifest goes last: until then a second removal knows what to take away.
        disk.remove_temporary(&layout.current(component))?;
        disk.remove(&layout.current(component))?;
        disk.remove(&layout.previous(component))?;
        disk.remove_tree(&layout.releases(component))?;
        disk.remove_tree(&layout.manifests(component))
    }

    /// Takes a component out of the life of the host, and what it left there. Nothing of it may count on being done only
    /// once: a reboot starts the unit again as long as it is linked.
    fn clean_up(&mut self, manifest: &Manifest) -> Result<()> {
        let removal = manifest.removal.clone().unwrap_or_default();
        if let Some(unit) = &manifest.unit {
            if !removal.before_stop.is_empty() && self.host.system.unit(&unit.name)? != UnitState::Stopped {
                self.invoke_all(&removal.before_stop)?;
            }
            self.stop(&unit.name)?;
        }
        links::remove(self.host, &manifest.links, &[])?;
        if manifest.unit.is_some() {
            self.reload()?;
        }
        self.note(Step::Stopped)?;
        self.invoke_all(&removal.after_stop)?;
        removal.paths.iter().try_for_each(|path| clearing::clear(self.host, path))
    }

    fn invoke_all(&mut self, invocations: &[Invocation]) -> Result<()> {
        let directory = self.host.layout.current(&self.operation.component);
        invocations.iter().try_for_each(|invocation| {
            self.invoke(invocation, &directory)
                .map_err(|complaint| Cause::new(CauseKind::RemovalFailed, complaint))
        })
    }

    /// Runs a program of the release, and records how it ended. An error is what is wrong with it, in words.
    fn invoke(&mut self, invocation: &Invocation, directory: &Path) -> std::result::Result<(), String> {
        let ending = invocation::run(invocation, directory, self.host.system);
        let program = invocation.command.first().cloned().unwrap_or_default();
        self.host.disk().step(&format!("run {program}"));
        self.note(Step::Ran { program, status: ending.status.clone() }).map_err(|cause| cause.detail)?;
        if ending.succeeded { Ok(()) } else { Err(ending.complaint(invocation)) }
    }

    /// Removes whatever is neither the current release nor the one before it.
    fn tidy(&self) -> Result<()> {
        let (disk, layout) = (self.host.disk(), &self.host.layout);
        let component = &self.operation.component;
        for name in disk::names(&layout.staging())? {
            disk.remove_tree(&layout.staging().join(name))?;
        }
        let kept: Vec<String> = [layout.current(component), layout.previous(component)]
            .iter()
            .filter_map(|link| linked_directory(link))
            .collect();
        for name in disk::names(&layout.releases(component))? {
            if !kept.contains(&name) {
                disk.remove(&layout.manifest(component, &name))?;
                disk.remove_tree(&layout.releases(component).join(&name))?;
            }
        }
        for name in disk::names(&layout.manifests(component))? {
            if !name.strip_suffix(".json").is_some_and(|directory| kept.iter().any(|kept| kept == directory))
            {
                disk.remove(&layout.manifests(component).join(&name))?;
            }
        }
        Ok(())
    }

    fn links_of(&self, release: &Release) -> Vec<HostLink> {
        links::of(self.host, &self.operation.component, &release.recipe.content)
    }

    /// Of the links of a release those that this operation has made or will make: not what stood in their places.
    fn links_made(&self, release: &Release) -> Vec<HostLink> {
        let (found, _) = self.adopted().unwrap_or_default();
        self.links_of(release).into_iter().filter(|link| !found.contains(&link.path)).collect()
    }

    fn point_current(&self, directory: &str) -> Result<()> {
        let link = self.host.layout.current(&self.operation.component);
        self.host.disk().point(&link, &stage::link_target(&self.operation.component, directory))
    }

    fn stop(&self, unit: &str) -> Result<()> {
        self.host.system.stop(unit)?;
        self.host.disk().step("stop the unit");
        Ok(())
    }

    fn reload(&self) -> Result<()> {
        self.host.system.reload()?;
        self.host.disk().step("reload the units");
        Ok(())
    }

    pub(crate) fn note(&mut self, step: Step) -> Result<()> {
        self.journal.write(self.host.disk(), step)
    }

    fn end(&mut self, state: OperationState) -> Result<()> {
        self.note(Step::Ended { state })
    }
}
