//! Builds of the operator: the current one, and an earlier one.
//!
//! The simulator contains one engine; no older one is kept beside it. Two builds may differ in what surrounds the
//! engine: its configuration, the messages of statuses, and fields that came later. The earlier build treats messages
//! of another build as foreign, as any build does, and writes the same in its own words.

use std::borrow::Cow;

use crate::vocabulary::Build;
use crate::world::host::CGROUP_VERSION;
use seaworthy_api::object::{Resource, Status};
use seaworthy_api::request::Request;
use seaworthy_api::v1alpha1::{Condition, MachineStatus};
use seaworthy_model::config::Config;

/// How messages of conditions of the earlier build begin.
const EARLIER: &str = "Condition met: ";
/// The earlier build reads every message without its own prefix as foreign.
const FOREIGN: &str = "? ";

/// The default configuration of a build.
pub(in crate::world) fn config(build: Build, config: Config) -> Config {
    match build {
        Build::Earlier => Config {
            actions_per_turn_max: 64,
            host_sessions_max: 128,
            backoff_min: config.backoff_min * 2,
            audit_without_node: config.audit_without_node / 2,
            ..config
        },
        Build::Current => config,
    }
}

/// Changes a request to the form in which a build sends it.
pub(in crate::world) fn write(build: Build, request: &mut Request) {
    if build == Build::Current {
        return;
    }
    match request {
        Request::PutStatus(update) => {
            if let Status::Machine(status) = &mut update.status {
                reword(&mut status.conditions, told);
                forget_later_fields(status);
            } else if let Status::ClusterPackageVersion(status) = &mut update.status {
                reword(&mut status.conditions, told);
            } else if let Status::MachineComponent(status) = &mut update.status {
                reword(&mut status.conditions, told);
            }
        }
        Request::CreateLease(_)
        | Request::PatchLease(_)
        | Request::PatchFinalizers(_)
        | Request::CreateCertificateRequest(_)
        | Request::PatchApproval(_)
        | Request::CreateEvent(_)
        | Request::PatchNode(_)
        | Request::DeleteNode(_)
        | Request::ListPods(_)
        | Request::Evict(_)
        | Request::DeletePod(_)
        | Request::Query(_)
        | Request::StartProbe(_)
        | Request::ListProbes(_) => {}
    }
}

/// An object in the form in which a build understands it.
pub(in crate::world) fn read(build: Build, object: Cow<'_, Resource>) -> Cow<'_, Resource> {
    if build == Build::Current {
        return object;
    }
    let mut object = object.into_owned();
    if let Resource::Machine(machine) = &mut object
        && let Some(status) = &mut machine.status
    {
        reword(&mut status.conditions, understood);
        presume_later_fields(status);
    } else if let Resource::ClusterPackageVersion(fleet) = &mut object
        && let Some(status) = &mut fleet.status
    {
        reword(&mut status.conditions, understood);
    } else if let Resource::MachineComponent(version) = &mut object
        && let Some(status) = &mut version.status
    {
        reword(&mut status.conditions, understood);
    }
    Cow::Owned(object)
}

fn reword(conditions: &mut [Condition], word: fn(&str) -> String) {
    for condition in conditions {
        condition.message = word(&condition.message).into();
    }
}

fn told(message: &str) -> String {
    format!("{EARLIER}{message}")
}

fn understood(message: &str) -> String {
    message.strip_prefix(EARLIER).map_or_else(|| format!("{FOREIGN}{message}"), str::to_owned)
}

/// Removes fields that the earlier build does not write: the API server keeps only what a status contains.
fn forget_later_fields(status: &mut MachineStatus) {
    if let Some(identity) = &mut status.identity {
        identity.cgroup_version = None;
    }
}

/// The engine of the earlier build knows nothing of such a field; that of this one takes it for settled.
fn presume_later_fields(status: &mut MachineStatus) {
    if let Some(identity) = &mut status.identity {
        identity.cgroup_version = Some(CGROUP_VERSION.name().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_build_understands_itself_and_nobody_else() {
        assert_eq!(understood(&told("all is well")), "all is well");
        assert_ne!(understood("all is well"), "all is well");
        assert_ne!(told("all is well"), "all is well");
    }
}
