//! Releases that many machines share.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::component::{Architecture, CgroupVersion, Fact};
use seaworthy_model::host::Release;

use crate::rows::machine::Machine;

/// The releases of one want that many machines share: one for each sort of host.
pub(crate) type Prepared = Vec<(Sort, Arc<Release>)>;

/// The facts of a host that a release may depend on and that thousands of hosts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sort {
    pub(crate) architecture: Architecture,
    /// `None` when the release does not depend on it.
    pub(crate) cgroup_version: Option<CgroupVersion>,
}

impl Sort {
    fn includes(self, machine: &Machine, architecture: Architecture) -> bool {
        self.architecture == architecture
            && (self.cgroup_version.is_none() || self.cgroup_version == machine.cgroup_version())
    }

    /// The values of `facts` for these hosts; `None` when a release depends on any other fact.
    pub(crate) fn facts(self, facts: &[Fact]) -> Option<BTreeMap<Fact, String>> {
        let value = |fact| match fact {
            Fact::Architecture => Some(self.architecture.name()),
            Fact::CgroupVersion => self.cgroup_version.map(CgroupVersion::name),
            Fact::MachineName | Fact::Ip | Fact::Hostname | Fact::Idc | Fact::Rack => None,
        };
        facts.iter().map(|&fact| Some((fact, value(fact)?.to_string()))).collect()
    }
}

/// The release for a machine's sort of host.
pub(crate) fn find<'r>(releases: &'r Prepared, machine: &Machine) -> Option<&'r Arc<Release>> {
    let architecture = machine.architecture()?;
    releases.iter().find(|(sort, _)| sort.includes(machine, architecture)).map(|(_, release)| release)
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use seaworthy_model::host::{BootId, HostFacts, Owner};
    use seaworthy_model::lease::Epoch;
    use seaworthy_model::machine::HostId;

    use super::*;

    fn machine(cgroup_version: Option<CgroupVersion>) -> Machine {
        let facts = HostFacts {
            host: HostId(1),
            host_key: None,
            architecture: Architecture::Amd64,
            cgroup_version,
            boot: BootId(1),
            owner: Owner::Nobody,
            epoch: Epoch::VACANT,
            components: Vec::new(),
            differs: None,
            operation: None,
            identity: None,
        };
        let mut machine = Machine::EMPTY;
        machine.host.facts = Some(Box::new(facts));
        machine
    }

    /// A release that was rendered for one sort of host must not go to another one.
    #[test]
    fn a_release_is_shared_by_the_hosts_that_it_depends_on_alike() {
        let (old, new) = (Some(CgroupVersion::V1), Some(CgroupVersion::V2));
        let includes = |of, is| {
            let sort = Sort { architecture: Architecture::Amd64, cgroup_version: of };
            sort.includes(&machine(is), Architecture::Amd64)
        };
        assert!(includes(None, old) && includes(None, new) && includes(None, None));
        assert!(includes(old, old) && !includes(old, new) && !includes(old, None));
        let other = Sort { architecture: Architecture::Arm64, cgroup_version: None };
        assert!(!other.includes(&machine(new), Architecture::Amd64));
    }
}
