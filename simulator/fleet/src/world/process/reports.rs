//! Reports of hosts, in the ids of a process.

use seaworthy_model::cause::Cause;
use seaworthy_model::host::{HostFacts, InstalledComponent, OperationReport, OperationState, Owner};
use seaworthy_model::machine::Installed;

use super::{Process, identity, lies};
use crate::vocabulary::drift_words;
use crate::world::catalogue::Catalogue;
use crate::world::host::{CGROUP_VERSION, Ended, Host, Operation, Report};

impl Process {
    /// What a host reports, in the ids of this process.
    pub(in crate::world) fn facts(
        &mut self,
        host: &Host,
        report: Option<Report>,
        catalogue: &Catalogue,
    ) -> Box<HostFacts> {
        let operation = report.map(|report| self.operation_report(report, catalogue));
        let Self { names, dialect, .. } = self;
        let mut components: Vec<InstalledComponent> = host
            .installed()
            .iter()
            .map(|installed| InstalledComponent {
                component: dialect.component(installed.component, catalogue, names),
                version: dialect.version(installed.version, catalogue, names),
                release: catalogue.release_id(installed.release),
                drift: installed.drift,
                restarts: installed.service.map(|_| installed.restarts),
            })
            .collect();
        components.sort_by_key(|component| component.component);
        let changed = components.iter().find(|component| !component.drift.is_none());
        let differs = changed.map(|component| drift_words(component.drift).into());
        let mut facts = Box::new(HostFacts {
            host: host.identity,
            host_key: None,
            architecture: host.architecture,
            cgroup_version: Some(CGROUP_VERSION),
            boot: host.boot(),
            owner: host.owner().map_or(Owner::Nobody, Owner::Machine),
            epoch: host.epoch(),
            components,
            differs,
            operation,
            identity: identity::report(host, catalogue),
        });
        if let Some(lie) = host.lie() {
            lies::tell(lie, &mut facts);
        }
        facts
    }

    /// What a host reports of an operation, in the ids of this process.
    fn operation_report(&mut self, report: Report, catalogue: &Catalogue) -> OperationReport {
        let Self { names, dialect, .. } = self;
        let Operation { id, generation, component, release } = report.operation;
        let release = release.map(|(version, release)| Installed {
            version: dialect.version(version, catalogue, names),
            release: catalogue.release_id(release),
        });
        let state = match report.ended {
            None if report.waits => OperationState::Unconfirmed,
            None => OperationState::Running,
            Some(Ended::Interrupted) => OperationState::Interrupted,
            Some(Ended::Succeeded) => OperationState::Succeeded,
            Some(Ended::Failed(kind)) => OperationState::Failed(Cause::new(kind, "the operation failed")),
        };
        let component = dialect.component(component, catalogue, names);
        OperationReport { id, generation, component, release, state }
    }
}
