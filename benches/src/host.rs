//! A host that executes every order at once.

use seaworthy_model::component::Architecture;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::host::{
    BootId, Change, Drift, HostFacts, HostFence, InstalledComponent, Operation, OperationReport,
    OperationState, Owner,
};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{HostId, Installed};

#[derive(Clone, Debug)]
pub(crate) struct Host {
    facts: HostFacts,
}

impl Host {
    pub(crate) fn new(number: u32) -> Self {
        let facts = HostFacts {
            host: HostId(u128::from(number) + 1),
            host_key: None,
            architecture: Architecture::Amd64,
            cgroup_version: None,
            boot: BootId(1),
            owner: Owner::Nobody,
            epoch: Epoch::VACANT,
            components: Vec::new(),
            differs: None,
            operation: None,
            identity: None,
        };
        Self { facts }
    }

    pub(crate) fn obey(&mut self, fence: &HostFence, command: &HostCommand) -> Outcome {
        match command {
            HostCommand::Facts
            | HostCommand::Status(_)
            | HostCommand::Confirm(_)
            | HostCommand::Fetch { .. }
            | HostCommand::ResetFences(_) => {}
            HostCommand::Apply(operation) => {
                self.facts.owner = Owner::Machine(fence.machine);
                self.facts.epoch = fence.epoch;
                self.apply(operation);
            }
            HostCommand::Disown => self.facts.owner = Owner::Nobody,
            // No fleet here has components with an identity.
            HostCommand::RequestCertificate { .. } | HostCommand::InstallCertificate { .. } => {}
        }
        Outcome::Done(Receipt::Host(Box::new(self.facts.clone())))
    }

    fn apply(&mut self, operation: &Operation) {
        let component = operation.component;
        self.facts.components.retain(|installed| installed.component != component);
        let release = match &operation.change {
            Change::Install(release) => {
                let (version, release) = (release.version, release.id);
                self.facts.components.push(InstalledComponent {
                    component,
                    version,
                    release,
                    drift: Drift::NONE,
                    restarts: None,
                });
                Some(Installed { version, release })
            }
            Change::Remove => None,
        };
        let state = OperationState::Succeeded;
        let (id, generation) = (operation.id, operation.generation);
        self.facts.operation = Some(OperationReport { id, generation, component, release, state });
    }
}
