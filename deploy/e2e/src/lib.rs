//! A real control plane and real hosts, started on this machine for tests and for people to play in.
//!
//! [`World`] holds an etcd, a kube-apiserver, an artefact server and any number of hosts. A host is a Debian
//! system with its own systemd and sshd, in a network namespace of its own. Nothing touches the network of the
//! machine: all traffic stays inside namespaces that carry the run's id. Everything is removed when the `World`
//! is dropped, also after a panic; what a killed run left behind is removed by the next one.
//!
//! In a world for [nodes](Purpose::Nodes) the control plane runs pods, and hosts can become nodes: with the components of
//! `deploy/components`, which are read from there.
//!
//! A [`Fleet`] is a world in which the project itself runs: its CRDs are applied, the operator works beside the API
//! server, and there are versions of a small service to be installed.
//!
//! It needs root on Linux ([`unsupported`] says why not) and the packages that `requirements.sh` installs.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEAWORTHY_CACHE` | folder for what is slow to make; default `$XDG_CACHE_HOME/seaworthy` |
//! | `SEAWORTHY_E2E_LOGS` | folder that receives one folder of logs per run; default `e2e-logs` in the target folder |
//! | `SEAWORTHY_E2E_KEEP` | `1` leaves everything running at the end, for inspection |
//! | `SEAWORTHY_E2E_SEED` | a number: the random moments of an earlier run, which printed it |
//! | `SEAWORTHY_OPERATOR` | the operator to test; default `debug/seaworthy-operator` in the target folder |
//! | `SEAWORTHY_HOST_PROGRAM` | the static host program; default the one in the target folder |
//!
//! `tests/testsuite/harness.rs` shows what can be done in a world.

pub mod admission;
mod artefacts;
pub mod bench;
mod cache;
mod certificates;
mod cgroups;
pub mod chart;
mod clients;
pub mod components;
pub mod conformance;
mod control_plane;
mod deadline;
pub mod drains;
pub mod farm;
mod fleet;
mod host;
mod image;
mod journal;
mod leftovers;
mod listing;
mod logs;
pub mod manifests;
mod moments;
mod mounts;
mod network;
pub mod nodes;
pub mod oci;
mod packages;
pub mod page;
mod parts;
mod power_loss;
mod process;
mod programs;
pub mod prometheus;
mod run;
mod ssh;
mod sysctls;
mod terminal;
mod traces;
mod wire;
mod workload;
mod world;

pub use artefacts::{Artefact, ArtefactServer, Download, Pace};
pub use cache::folder as cache_folder;
pub use clients::{Clients, Tally};
pub use components::Component;
pub use control_plane::ControlPlane;
pub use deadline::{eventually, eventually_every};
pub use fleet::{
    APPLY_DEADLINE, Fleet, METRICS_PORT, OPERATOR_PORT, PATIENCE, Webd, apply_crds, find_condition,
};
pub use host::{Host, Purpose};
pub use image::ensure as ensure_image;
pub use journal::{Journals, Line, Operation, journals, one_at_a_time, overlapping, since};
pub use leftovers::{Sweep, sweep};
pub use listing::Listing;
pub use moments::Moments;
pub use network::{Endpoint, Namespace, Network};
pub use nodes::Nodes;
pub use packages::ensure_all as ensure_packages;
pub use parts::{
    Controllers, Health, Parts, ensure as ensure_parts, ensure_controllers, ensure_helm, ensure_webd,
};
pub use power_loss::LossyDisk;
pub use process::{Process, run_to_end};
pub use programs::{Programs, command_line};
pub use prometheus::{Prometheus, ensure as ensure_prometheus};
pub use run::{Run, log_folder, unsupported, where_supported};
pub use ssh::SshKey;
pub use traces::{Bare, Traces};
pub use wire::{ask, refusal};
pub use workload::{VERSION as WORKLOAD_VERSION, Workload};
pub use world::{World, scenario, scenario_for};
