//! The removal of a component, with what it left on the host.

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::OperationState;
use seaworthy_model::invocation::Invocation;

use super::{Before, Execution};
use crate::claims;
use crate::clearing;
use crate::disk;
use crate::failure::{self, Result};
use crate::journal::Step;
use crate::links;
use crate::manifest::Manifest;
use crate::system::UnitState;

impl Execution<'_> {
    pub(super) fn remove(&mut self, before: &Before) -> Result<()> {
        let current = self.site.layout.current(&self.operation.component);
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

    pub(super) fn remove_now(&mut self, before: &Before) -> Result<()> {
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
        let (disk, layout) = (self.site.disk(), &self.site.layout);
        let component = &self.operation.component;
        // The manifest goes last: until then a second removal knows what to take away.
        disk.remove_temporary(&layout.current(component))?;
        disk.remove_tree(&layout.current(component))?;
        disk.remove_tree(&layout.previous(component))?;
        disk.remove_tree(&layout.releases(component))?;
        disk.remove_tree(&layout.manifests(component))
    }

    /// Stops a component, and removes its links and what it left on the host. Every step may be repeated: a reboot starts the
    /// unit again as long as it is linked.
    fn clean_up(&mut self, manifest: &Manifest) -> Result<()> {
        let removal = manifest.removal.clone().unwrap_or_default();
        if let Some(unit) = &manifest.unit {
            if !removal.before_stop.is_empty() && self.site.system.unit(&unit.name)? != UnitState::Stopped {
                self.invoke_all(&removal.before_stop)?;
            }
            self.stop(&unit.name)?;
        }
        links::remove(self.site, &manifest.links, &[])?;
        if manifest.unit.is_some() {
            self.reload()?;
        }
        self.note(Step::Stopped)?;
        self.invoke_all(&removal.after_stop)?;
        let spared = claims::of_others(self.site, &manifest.component)?;
        removal.paths.iter().try_for_each(|path| clearing::clear(self.site, path, &spared))
    }

    fn invoke_all(&mut self, invocations: &[Invocation]) -> Result<()> {
        let directory = self.site.layout.current(&self.operation.component);
        invocations.iter().try_for_each(|invocation| {
            self.invoke(invocation, &directory)
                .map_err(|complaint| Cause::new(CauseKind::RemovalFailed, complaint))
        })
    }
}
