//! A system with one flaw, for what the program makes of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use seaworthy_host::{Host, Layout, Site, System, UnitStatus, Unobserved};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::{BootId, OperationId};

use super::{LAUNCHER, Units};

/// What is wrong with a system that otherwise works.
#[derive(PartialEq)]
pub enum Flaw {
    /// It does not start what is to run detached.
    StartsNothing,
    /// It starts it, and says that it did not.
    DeniesStart,
    /// It does not tell how units are.
    HidesUnits,
    /// It does not go down to be started anew.
    StaysUp,
    /// It fails to tell a unit to read its configuration again.
    IgnoresReloads,
}

pub struct Flawed<'a> {
    pub units: Units<'a>,
    pub flaw: Flaw,
}

impl Flawed<'_> {
    fn fail_if(&self, flaw: &Flaw) -> Result<(), Cause> {
        if self.flaw == *flaw { Err(Cause::new(CauseKind::HostFailed, "flawed")) } else { Ok(()) }
    }
}

impl System for Flawed<'_> {
    fn boot(&self) -> Result<BootId, Cause> {
        self.units.boot()
    }

    fn reload(&self) -> Result<(), Cause> {
        self.units.reload()
    }

    fn restart(&self, unit: &str) -> Result<(), Cause> {
        self.units.restart(unit)
    }

    fn reload_unit(&self, unit: &str) -> Result<(), Cause> {
        self.fail_if(&Flaw::IgnoresReloads)?;
        self.units.reload_unit(unit)
    }

    fn can_reload(&self, unit: &str) -> Result<bool, Cause> {
        self.units.can_reload(unit)
    }

    fn stop(&self, unit: &str) -> Result<(), Cause> {
        self.units.stop(unit)
    }

    fn status(&self, unit: &str) -> Result<UnitStatus, Cause> {
        self.fail_if(&Flaw::HidesUnits)?;
        self.units.status(unit)
    }

    fn mounts(&self) -> Result<Vec<PathBuf>, Cause> {
        self.units.mounts()
    }

    fn unmount(&self, path: &Path) -> Result<(), Cause> {
        self.units.unmount(path)
    }

    fn reboot(&self) -> Result<(), Cause> {
        self.fail_if(&Flaw::StaysUp)?;
        self.units.reboot()
    }

    fn alarm(&self, layout: &Layout, operation: OperationId, after: Duration) -> Result<(), Cause> {
        self.units.alarm(layout, operation, after)
    }

    fn uptime(&self) -> Duration {
        self.units.uptime()
    }

    fn detach(&self, layout: &Layout, operation: OperationId, persists: bool) -> Result<(), Cause> {
        self.fail_if(&Flaw::StartsNothing)?;
        if matches!(self.flaw, Flaw::StaysUp | Flaw::IgnoresReloads) {
            let (layout, program) = (layout.clone(), &*LAUNCHER);
            return Host::new(Site { layout, system: self, steps: &Unobserved, program }).execute(operation);
        }
        self.units.detach(layout, operation, persists)?;
        self.fail_if(&Flaw::DeniesStart)
    }

    fn now(&self) -> Duration {
        self.units.now()
    }

    fn wait(&self, span: Duration) {
        self.units.wait(span);
    }
}
