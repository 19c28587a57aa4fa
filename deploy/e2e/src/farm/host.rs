//! What a host of the farm knows: who owns it, what it has seen, and what is installed.

use std::collections::BTreeMap;
use std::net::IpAddr;

use seaworthy_api::host::wire::{
    Answer, Change, Command, Component, Facts, Operation, OperationReport, Owner, Platform, ReleaseName,
    Request,
};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::{Architecture, CgroupVersion};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{BootId, Drift, OperationState};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// The host only told what is there.
    Told,
    /// It has done an operation.
    Applied,
    /// It has done an operation that brings what was there already.
    Redundant,
    /// It has heard this very operation before.
    Repeated,
    /// The order was older than another one, or another owner's.
    Refused,
}

/// What all hosts of a farm have in common: the host program, and the architecture, which is that of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sort {
    pub(super) program: Digest,
    pub(super) architecture: Architecture,
}

/// A host.
#[derive(Debug, Default)]
pub(super) struct Host {
    owner: Option<Owner>,
    /// Epoch and sequence of the newest order.
    seen: (u32, u64),
    components: BTreeMap<String, Component>,
    latest: Option<OperationReport>,
}

impl Host {
    /// The names of the installed versions.
    pub(super) fn versions(&self) -> impl Iterator<Item = &str> {
        self.components.values().map(|component| component.version_name.as_str())
    }

    /// Carries out an order.
    pub(super) fn answer(&mut self, address: IpAddr, sort: Sort, request: Request) -> (Answer, Deed) {
        let fence = &request.fence;
        let stranger = self
            .owner
            .as_ref()
            .filter(|owner| owner.machine != fence.machine || owner.cluster != fence.cluster);
        if stranger.is_some() {
            let cause = Cause::new(CauseKind::OwnedByAnother, "it belongs to another Machine");
            return (Answer::Refused(cause), Deed::Refused);
        }
        let order = (fence.epoch.0, fence.sequence);
        let repeats = match &request.command {
            Command::Apply(operation) => self.latest.as_ref().is_some_and(|latest| latest.id == operation.id),
            Command::Status(_) => order.0 >= self.seen.0,
            Command::Facts
            | Command::Disown
            | Command::RequestCertificate(_)
            | Command::InstallCertificate(_)
            | Command::Confirm(_)
            | Command::Fetch(_)
            | Command::ResetFences(_) => false,
        };
        if order <= self.seen && !repeats {
            let cause = Cause::new(CauseKind::FenceRefused, "it has seen a newer order");
            return (Answer::Refused(cause), Deed::Refused);
        }
        self.seen = self.seen.max(order);
        let (mut deed, mut asked) = (Deed::Told, None);
        match request.command {
            Command::Status(id) => asked = Some(id),
            Command::Disown => self.owner = None,
            Command::Apply(operation) => {
                asked = Some(operation.id);
                self.owner = Some(Owner {
                    cluster: fence.cluster.clone(),
                    machine: fence.machine,
                    machine_name: fence.machine_name.clone(),
                });
                deed = if repeats { Deed::Repeated } else { self.apply(*operation) };
            }
            Command::Facts
            | Command::RequestCertificate(_)
            | Command::InstallCertificate(_)
            | Command::Confirm(_)
            | Command::Fetch(_)
            | Command::ResetFences(_) => {}
        }
        let operation = self.latest.clone().filter(|latest| asked.is_none_or(|id| id == latest.id));
        (Answer::Done(Box::new(self.facts(address, sort, operation))), deed)
    }

    fn apply(&mut self, operation: Operation) -> Deed {
        let (mut deed, mut release) = (Deed::Applied, None);
        match operation.change {
            Change::Remove => {
                self.components.remove(&operation.component);
            }
            Change::Install(new) => {
                release = Some(ReleaseName { version_name: new.version_name.clone(), id: new.id });
                let component = Component {
                    name: operation.component.clone(),
                    version_name: new.version_name.clone(),
                    release: new.id,
                    drift: Drift::NONE,
                    differs: None,
                    rendered: Vec::new(),
                    running: None,
                    restarts: None,
                };
                let before = self.components.insert(operation.component.clone(), component);
                if before.is_some_and(|before| before.release == new.id) {
                    deed = Deed::Redundant;
                }
            }
        }
        self.latest = Some(OperationReport {
            id: operation.id,
            generation: operation.generation,
            component: operation.component,
            release,
            state: OperationState::Succeeded,
        });
        deed
    }

    fn facts(&self, address: IpAddr, sort: Sort, operation: Option<OperationReport>) -> Facts {
        let number = match address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address),
        };
        Facts {
            host: HostId(number),
            boot: BootId(number),
            architecture: sort.architecture,
            cgroup_version: Some(CgroupVersion::V2),
            owner: self.owner.clone(),
            epoch: Epoch(self.seen.0),
            components: self.components.values().cloned().collect(),
            operation,
            identity: None,
            platform: Platform {
                program: Some(sort.program),
                kernel: "6.12.0".to_owned(),
                os: "Debian GNU/Linux 13 (trixie)".to_owned(),
                free_bytes: 40 << 30,
                free_inodes: 2_000_000,
            },
        }
    }
}
