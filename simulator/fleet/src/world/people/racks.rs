//! The machines of a fleet, as users apply them.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_api::object::{Endpoint, Machine, Metadata, Resource};
use seaworthy_api::v1alpha1::{Address, MachineSpec, NodeLabels, Parameters, Ssh};
use seaworthy_kernel::Draws;
use seaworthy_model::id::Kind;

use crate::vocabulary::{Fleet, address, machine_name};

/// What the machines of a fleet have in common. They share these strings, so that a large fleet fits into memory.
pub(super) struct Racks {
    ssh: Ssh,
    zones: BTreeMap<u32, Arc<str>>,
    racks: BTreeMap<(u32, u32), Arc<str>>,
}

impl Default for Racks {
    fn default() -> Self {
        let ssh = Ssh {
            port: 22,
            user: "root".into(),
            secret_name: "fleet-key".into(),
            host_keys: [HOST_KEY.into()].into(),
            host_key_policy: "Pinned".into(),
        };
        Self { ssh, zones: BTreeMap::new(), racks: BTreeMap::new() }
    }
}

impl Racks {
    /// A machine of the fleet, as people applied it.
    pub(super) fn machine(&mut self, fleet: &Fleet, draws: &Draws, number: u32) -> Resource {
        let zone = number % fleet.zones;
        let rack = number / fleet.zones % fleet.racks_per_zone;
        let idc = self.zones.entry(zone).or_insert_with(|| format!("zone-{zone}").into());
        let in_rack = self.racks.entry((zone, rack)).or_insert_with(|| format!("rack-{zone}-{rack}").into());
        let name: Arc<str> = machine_name(number).into();
        let mut metadata = Metadata::named(Arc::clone(&name));
        if let Some(pool) = fleet.pool_of(number, draws) {
            metadata.labels.insert("pool".into(), pool.into());
        }
        Resource::Machine(Box::new(Machine {
            api_version: Endpoint::of(Kind::Machine).api_version.into(),
            kind: Kind::Machine.name().into(),
            metadata,
            spec: Arc::new(MachineSpec {
                address: Address {
                    ip: address(number).into(),
                    hostname: Some(name),
                    idc: Some(Arc::clone(idc)),
                    rack: Some(Arc::clone(in_rack)),
                },
                ssh: self.ssh.clone(),
                components: Vec::new(),
                parameters: Parameters::new(),
                node_labels: NodeLabels::new(),
                node_taints: Vec::new(),
                paused: false,
                retry: None,
            }),
            status: None,
        }))
    }
}

/// All hosts of a simulated fleet present the same key: nothing in the simulation tells them apart by it.
const HOST_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
