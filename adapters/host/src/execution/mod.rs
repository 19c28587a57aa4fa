//! The execution of one operation, from the beginning or from the point where a crash left it.
//!
//! After a crash the journal and one link decide how it goes on:
//!
//! | the journal says | and | then |
//! |---|---|---|
//! | accepted | the same boot | it is begun |
//! | accepted | another boot | nothing was done: `Interrupted` |
//! | started ... linked | | undone: `Interrupted` |
//! | swapping | `current/` is still the old release | undone: `Interrupted` |
//! | swapping, swapped, restarted, reloaded | `current/` is the new release | finished: brought up, probed, kept or restored |
//! | rebooting | the same boot | the host is rebooted |
//! | rebooting | another boot | that was done: finished as above |
//! | confirming | the same boot, its time is not over | it goes on waiting |
//! | confirming | the same boot, its time is over | the old release is restored: `Failed` |
//! | confirming | another boot | finished as after the swap, and waits again |
//! | confirmed, healthy | | tidied: `Succeeded` |
//! | restoring | | the old release is restored: `Failed` |
//! | removing, stopped | | removed to the end, with its commands from the first on: `Succeeded` |
//! | cleaned | | removed to the end: `Succeeded` |
//!
//! Every step may be repeated any number of times with the same result.

mod confirmation;
mod install;
mod reboot;
mod reload;
mod removal;
mod rollback;

use std::path::Path;

use seaworthy_api::host::wire::{Change, Operation, Release};
use seaworthy_model::host::{OperationId, OperationState};
use seaworthy_model::invocation::Invocation;

use crate::artefacts;
use crate::disk;
use crate::failure::{self, Result};
use crate::invocation;
use crate::journal::{Journal, Step};
use crate::links;
use crate::manifest::{HostLink, Manifest, linked_directory};
use crate::operations;
use crate::site::Site;
use crate::stage;
use crate::system::UnitState;

/// Executes an accepted operation in this process, unless another process does already. Resumes one that was interrupted.
pub(crate) fn execute(site: &Site<'_>, id: OperationId) -> Result<()> {
    let _lock = site.lock_execution()?;
    let mut journal = operations::journal(site, id)?;
    match operations::order(site, id) {
        Ok(operation) => Execution { site, operation: &operation, journal }.run(),
        Err(cause) => journal.write(site.disk(), Step::Ended { state: OperationState::Failed(cause) }),
    }
}

/// An operation under way.
struct Execution<'a> {
    site: &'a Site<'a>,
    operation: &'a Operation,
    journal: Journal,
}

/// What was there when the execution began.
#[derive(Clone, Debug, Default)]
struct Before {
    /// The manifest of the release that was current.
    manifest: Option<Manifest>,
    /// Whether its unit ran.
    ran: bool,
}

/// How far an execution came in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// To the end.
    Done,
    /// The host is about to reboot; the next execution goes on from here.
    Rebooting,
}

/// The direction of an execution: to the new release, or back from it to the old one. Each may reboot the host once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

impl Execution<'_> {
    /// Takes the operation to its end.
    ///
    /// # Errors
    /// When not even the end could be recorded. The next execution goes on from here.
    fn run(mut self) -> Result<()> {
        let lines = self.journal.lines();
        let accepted = lines.first().map(|line| line.boot);
        if lines.iter().any(|line| matches!(line.step, Step::Ended { .. })) {
            return Ok(());
        }
        match self.started() {
            Some(before) => self.resume(&before),
            None if accepted == Some(self.site.system.boot()?) => self.begin(),
            None => self.end(OperationState::Interrupted),
        }
    }

    fn begin(&mut self) -> Result<()> {
        let manifest = Manifest::current(&self.site.layout, &self.operation.component);
        let ran = match manifest.as_ref().and_then(|manifest| manifest.unit.as_ref()) {
            Some(unit) => self.site.system.unit(&unit.name)? != UnitState::Stopped,
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
        let swapping = self.swapping().map(str::to_owned);
        let release = match &self.operation.change {
            Change::Remove if removing => return self.remove_now(before),
            Change::Remove => return self.end(OperationState::Interrupted),
            Change::Install(release) => release,
        };
        if let Some(cause) = restoring {
            return self.restore(release, before, cause);
        }
        let current = linked_directory(&self.site.layout.current(&self.operation.component));
        match swapping.filter(|directory| current.as_ref() == Some(directory)) {
            Some(directory) => {
                match Manifest::read(&self.site.layout, &self.operation.component, &directory) {
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
    fn started(&self) -> Option<Before> {
        for line in self.journal.lines() {
            if let Step::Started { before, ran } = &line.step {
                let read =
                    |directory| Manifest::read(&self.site.layout, &self.operation.component, directory);
                return Some(Before { manifest: before.as_deref().and_then(read), ran: *ran });
            }
        }
        None
    }

    /// The directory of the release that is to become the current one, once that is about to be.
    fn swapping(&self) -> Option<&str> {
        self.journal.lines().iter().find_map(|line| {
            if let Step::Swapping { directory } = &line.step { Some(directory.as_str()) } else { None }
        })
    }

    /// The manifest of that release.
    fn swapped_in(&self) -> Option<Manifest> {
        Manifest::read(&self.site.layout, &self.operation.component, self.swapping()?)
    }

    /// The paths where this operation has found the files of the release already, not made by us, and whether its unit ran.
    fn adopted(&self) -> Option<(&[String], bool)> {
        self.journal.lines().iter().find_map(|line| {
            if let Step::Adopting { paths, ran } = &line.step { Some((&paths[..], *ran)) } else { None }
        })
    }

    /// Runs a program of the release, and records how it ended. An error is what is wrong with it, in words.
    fn invoke(&mut self, invocation: &Invocation, directory: &Path) -> std::result::Result<(), String> {
        let ending = invocation::run(invocation, directory, self.site.system);
        let program = invocation.command.first().cloned().unwrap_or_default();
        self.site.disk().step(&format!("run {program}"));
        self.note(Step::Ran { program, status: ending.status.clone() }).map_err(|cause| cause.detail)?;
        if ending.succeeded { Ok(()) } else { Err(ending.complaint(invocation)) }
    }

    /// Removes every release but the current one and the one before it, and what was fetched for another.
    fn tidy(&self) -> Result<()> {
        let (disk, layout) = (self.site.disk(), &self.site.layout);
        let component = &self.operation.component;
        for name in disk::names(&layout.staging())? {
            disk.remove_tree(&layout.staging().join(name))?;
        }
        artefacts::clear(self.site)?;
        let kept: Vec<String> = [layout.current(component), layout.previous(component)]
            .iter()
            .filter_map(|link| linked_directory(link))
            .collect();
        for name in disk::names(&layout.releases(component))? {
            if !kept.contains(&name) {
                disk.remove_tree(&layout.manifest(component, &name))?;
                disk.remove_tree(&layout.releases(component).join(&name))?;
            }
        }
        for name in disk::names(&layout.manifests(component))? {
            if !name.strip_suffix(".json").is_some_and(|directory| kept.iter().any(|kept| kept == directory))
            {
                disk.remove_tree(&layout.manifests(component).join(&name))?;
            }
        }
        Ok(())
    }

    fn links_of(&self, release: &Release) -> Vec<HostLink> {
        links::of(self.site, &self.operation.component, &release.recipe.content)
    }

    /// The links of a release that this operation makes: not those whose place was taken by an adopted file.
    fn links_made(&self, release: &Release) -> Vec<HostLink> {
        let (found, _) = self.adopted().unwrap_or_default();
        self.links_of(release).into_iter().filter(|link| !found.contains(&link.path)).collect()
    }

    fn point_current(&self, directory: &str) -> Result<()> {
        let link = self.site.layout.current(&self.operation.component);
        self.site.disk().point_own(&link, &stage::link_target(&self.operation.component, directory))
    }

    fn stop(&self, unit: &str) -> Result<()> {
        self.site.system.stop(unit)?;
        self.site.disk().step("stop the unit");
        Ok(())
    }

    fn reload(&self) -> Result<()> {
        self.site.system.reload()?;
        self.site.disk().step("reload the units");
        Ok(())
    }

    fn note(&mut self, step: Step) -> Result<()> {
        self.journal.write(self.site.disk(), step)
    }

    fn end(&mut self, state: OperationState) -> Result<()> {
        let state = if let OperationState::Failed(cause) = state {
            OperationState::Failed(failure::told(cause))
        } else {
            state
        };
        self.note(Step::Ended { state })
    }
}
