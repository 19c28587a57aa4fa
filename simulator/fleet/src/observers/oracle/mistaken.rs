//! Machines that have recorded the host of another Machine as their own: people gave them its address before their own host
//! was recorded, and corrected that later. The operator keeps what is recorded. Only people know which host is right.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_api::object::{Machine, Resource};
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::machine::HostId;

use crate::vocabulary::{host_number, host_of_address};
use crate::world::World;
use crate::world::api_server::Written;

/// By Machine: the hosts whose addresses people gave it while no host was recorded as its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Mistaken(BTreeMap<Uid, BTreeSet<u32>>);

impl Mistaken {
    /// A Machine was written.
    pub(super) fn machine_written(&mut self, written: &Written) {
        let Some(before) = &written.before else { return };
        let (was, is) = (before.address(), written.object.address());
        if written.removed || was == is {
            return;
        }
        let Some(host) = is.and_then(host_of_address) else { return };
        if let Resource::Machine(machine) = &written.object.resource()
            && recorded_host(machine).is_none()
        {
            self.0.entry(written.object.uid()).or_default().insert(host);
        }
    }

    /// The other host that a Machine has recorded by such a mistake.
    pub(super) fn host_of(&self, world: &World, machine: &Machine) -> Option<u32> {
        let given = self.0.get(&machine.metadata.uid.get()?)?;
        let recorded = recorded_host(machine)?;
        let here = host_number(&machine.spec.address.ip);
        let is_it = |host: &u32| {
            Some(*host) != here && world.host(*host).is_some_and(|host| host.identity == recorded)
        };
        given.iter().copied().find(is_it)
    }

    /// The hosts at the addresses of such Machines, and those that they have recorded.
    pub(super) fn hosts(&self, world: &World) -> BTreeSet<u32> {
        if self.0.is_empty() {
            return BTreeSet::new();
        }
        let objects = world.api_servers.home().collection(Kind::Machine).objects();
        let pairs = objects.into_iter().filter_map(|object| {
            let Resource::Machine(machine) = &object.resource() else { return None };
            Some([host_number(&machine.spec.address.ip), self.host_of(world, machine)])
        });
        pairs.filter(|[_, recorded]| recorded.is_some()).flatten().flatten().collect()
    }
}

/// The machine-id that a Machine has recorded.
pub(super) fn recorded_host(machine: &Machine) -> Option<HostId> {
    machine.status.as_ref()?.identity.as_ref()?.machine_id.get()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::world::api_server::Stored;

    fn machine(host: u32, recorded: bool) -> Arc<Stored> {
        let id = "00000000000000000000000000000007";
        let status = if recorded {
            format!(r#"{{"identity":{{"machineID":"{id}","architecture":"amd64"}}}}"#)
        } else {
            "{}".into()
        };
        let text = format!(
            r#"{{"metadata":{{"name":"m","uid":"00000000-0000-0000-0000-000000000009"}},"status":{status},
                "spec":{{"address":{{"ip":"10.0.0.{host}"}},"ssh":{{"secretName":"s"}}}}}}"#
        );
        let machine: Machine = serde_json::from_str(&text).unwrap();
        Arc::new(Resource::Machine(Box::new(machine)).into())
    }

    /// A Machine that has a host and gets another's address has to say so, and ends as people want it.
    #[test]
    fn only_an_address_that_comes_before_the_host_is_recorded_is_a_mistake_for_good() {
        for (from, to, recorded, expected) in
            [(1, 2, false, 1), (1, 2, true, 0), (1, 1, false, 0), (1, 1, true, 0)]
        {
            let mut mistaken = Mistaken::default();
            let before = Some(machine(from, recorded));
            let object = machine(to, recorded);
            mistaken.machine_written(&Written { object, before, committed: true, removed: false });
            assert_eq!(mistaken.0.len(), expected, "{from} {to} {recorded}");
        }
    }
}
