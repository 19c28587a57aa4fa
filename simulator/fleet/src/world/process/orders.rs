//! Orders to hosts, in the numbers of the world.

use seaworthy_api::names::UnknownId;
use seaworthy_model::component::{ProbeCheck, Recipe};
use seaworthy_model::effect::Target;
use seaworthy_model::host;
use seaworthy_model::host_order::HostCommand;

use super::Process;
use crate::world::catalogue::Catalogue;
use crate::world::host::{Change, Command, Install, Work};

impl Process {
    /// A command in the numbers of the world.
    pub(in crate::world) fn command(
        &mut self,
        target: Target,
        command: &HostCommand,
        catalogue: &mut Catalogue,
    ) -> Result<Command, String> {
        let operation = match command {
            HostCommand::Facts => return Ok(Command::Facts),
            HostCommand::Status(id) => return Ok(Command::Status(*id)),
            HostCommand::Confirm(id) => return Ok(Command::Confirm(*id)),
            HostCommand::Disown => return Ok(Command::Disown),
            HostCommand::ResetFences(seen) => return Ok(Command::ResetFences(*seen)),
            HostCommand::Fetch { version, .. } => {
                let Self { names, dialect, .. } = self;
                let version = dialect.version_number(*version, catalogue, names);
                return version.map(Command::Fetch).map_err(|error| error.to_string());
            }
            HostCommand::RequestCertificate { path, replaces } => {
                return self.wanted_certificate(target, (path, *replaces), catalogue);
            }
            HostCommand::InstallCertificate { path, certificate } => {
                return self.offered_certificate(target, (path, certificate), catalogue);
            }
            HostCommand::Apply(operation) => operation,
        };
        let Self { names, dialect, .. } = self;
        let unknown = |error: UnknownId| error.to_string();
        let component = dialect.component_number(operation.component, catalogue, names);
        let component = component.map_err(unknown)?;
        let change = match &operation.change {
            host::Change::Remove => Change::Remove,
            host::Change::Install(release) => {
                let version = dialect.version_number(release.version, catalogue, names);
                let number = catalogue.release(release.id);
                Change::Install(Install {
                    version: version.map_err(unknown)?,
                    release: number,
                    rollback: release.recipe.content.rollback,
                    has_preflight: release.recipe.content.preflight.is_some(),
                    has_removal: release.recipe.content.removal.is_some(),
                    reboots: release.recipe.content.reboot,
                    service: catalogue.service(number, &release.recipe),
                    less_than_restart: release.recipe.content.less_than_restart,
                    confirm: confirmed_within(&release.recipe),
                    probe: probe_length(&release.recipe),
                    probe_deadline: probe_deadline(&release.recipe),
                })
            }
        };
        let (id, generation) = (operation.id, operation.generation);
        Ok(Command::Apply(Work { id, generation, component, change }))
    }
}

/// The seconds that the probe of a working release takes: one success after the other.
fn probe_length(recipe: &Recipe) -> u32 {
    recipe.content.probe.as_ref().map_or(0, |probe| match probe.check {
        ProbeCheck::Http { .. } | ProbeCheck::Tcp { .. } | ProbeCheck::Exec { .. } => {
            probe.period_seconds.saturating_mul(probe.success_threshold)
        }
    })
}

fn confirmed_within(recipe: &Recipe) -> u16 {
    recipe.content.confirm.map_or(0, |confirm| u16::try_from(confirm.within_seconds).unwrap_or(u16::MAX))
}

fn probe_deadline(recipe: &Recipe) -> u32 {
    recipe.content.probe.as_ref().map_or(0, |probe| probe.deadline_seconds)
}
