//! An operator releases a deleted `MachineComponent` only when no object that named it at its deletion still names it,
//! and no host has it. An object that names it only after its deletion may be too late.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seaworthy_api::v1alpha1::ComponentSetting;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::package_version::SINGLETON;

use crate::world::api_server::{ApiServer, Stored, Written};
use crate::world::host::{Change, Host, VersionNumber};

/// The versions that are being deleted, each with the objects that have named it ever since.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    leaving: BTreeMap<Arc<str>, BTreeSet<Uid>>,
}

impl Versions {
    /// Something was committed.
    pub(super) fn written(&mut self, written: &Written, api: &ApiServer) {
        let object = &*written.object;
        if object.kind() != Kind::MachineComponent {
            for (version, users) in &mut self.leaving {
                if written.removed || !names(object, version) {
                    users.remove(&object.uid());
                }
            }
            return;
        }
        let was_leaving = written.before.as_ref().is_some_and(|before| before.is_terminating());
        if object.is_terminating() && !was_leaving {
            let version = object.name();
            let users = candidates(api).filter(|user| names(user, version)).map(|user| user.uid());
            self.leaving.insert(Arc::clone(version), users.collect());
        }
    }

    /// An operator has released a version. Returns the object or host that still needs it, if any.
    pub(super) fn gone(
        &mut self,
        version: &Stored,
        api: &ApiServer,
        (hosts, number): (&[Host], Option<VersionNumber>),
    ) -> Option<String> {
        let users = self.leaving.remove(version.name()).unwrap_or_default();
        let name = version.name();
        if let Some(user) = candidates(api).find(|user| users.contains(&user.uid())) {
            let who = user.name();
            return Some(format!("{name} is gone, and {who} has named it since before it was deleted"));
        }
        let number = number?;
        let is_owned = |host: &Host| {
            let owner = host.owner();
            owner.is_some_and(|owner| candidates(api).any(|user| user.uid() == owner))
        };
        let host = hosts.iter().position(|host| has(host, number) && is_owned(host))?;
        Some(format!("{name} is gone, and host {host} still has it"))
    }
}

/// The objects that may name a version: the Machines, the sets, the canaries, and the fleet's defaults.
fn candidates(api: &ApiServer) -> impl Iterator<Item = &Arc<Stored>> {
    let machines = api.collection(Kind::Machine).objects();
    let sets = api.collection(Kind::MachineComponentSet).objects();
    let canaries = api.collection(Kind::CanaryRelease).objects();
    machines.into_iter().chain(sets).chain(canaries).chain(api.get(Kind::ClusterPackageVersion, SINGLETON))
}

fn names(object: &Stored, version: &str) -> bool {
    let of_machine = object.machine_spec().map(|spec| &spec.components[..]);
    let of_owner = || object.charter().map(|(settings, _)| settings);
    let settings = of_machine.or_else(of_owner).unwrap_or_default();
    let is_it = |setting: &ComponentSetting| {
        let number = version.strip_prefix(&setting.name).and_then(|rest| rest.strip_prefix('-'));
        number.is_some() && number == setting.version.as_deref()
    };
    settings.iter().any(is_it)
}

/// Whether a host has a version, or is installing it.
fn has(host: &Host, version: VersionNumber) -> bool {
    let installs = host.running().is_some_and(
        |running| matches!(running.work.change, Change::Install(install) if install.version == version),
    );
    installs || host.installed().iter().any(|installed| installed.version == version)
}

#[cfg(test)]
mod tests {
    use seaworthy_api::object::Resource;
    use seaworthy_kernel::{Draws, Seed};

    use super::*;
    use crate::vocabulary::START;
    use crate::world::api_server::Preconditions;

    const VERSION: &str = "webd-1.1.0";

    fn edit(api: &mut ApiServer, versions: &mut Versions, pin: Option<&str>) {
        let preconditions = Preconditions::default();
        let edited = api.update((Kind::Machine, "m-0"), preconditions, START, |object| {
            let Resource::Machine(machine) = object else { panic!("{object:?}") };
            let pins = pin.map(|version| {
                let pin = format!(r#"{{"name":"webd","state":"Present","version":"{version}"}}"#);
                serde_json::from_str(&pin).unwrap()
            });
            Arc::make_mut(&mut machine.spec).components = pins.into_iter().collect();
        });
        versions.written(&edited.unwrap(), api);
    }

    /// The judgement of a version that was deleted when `before` was pinned, and is gone after the pin was set to each
    /// of `after` in turn.
    fn judged(before: Option<&str>, after: &[Option<&str>]) -> Option<String> {
        let mut api = ApiServer::new(Draws::new(Seed(1)));
        let mut versions = Versions::default();
        let machine = r#"{"metadata":{"name":"m-0"},"spec":{"address":{"ip":"10.0.0.1"},
            "ssh":{"secretName":"key","hostKeys":["ssh-ed25519 AAAA"]}}}"#;
        let version = r#"{"metadata":{"name":"webd-1.1.0","finalizers":["seaworthy.dev/in-use"]},
            "spec":{"component":"webd","version":"1.1.0","artefacts":[]}}"#;
        api.create(Resource::Machine(serde_json::from_str(machine).unwrap()), START).unwrap();
        api.create(Resource::MachineComponent(serde_json::from_str(version).unwrap()), START).unwrap();
        edit(&mut api, &mut versions, before);
        let deleted = api.delete((Kind::MachineComponent, VERSION), Preconditions::default(), START).unwrap();
        versions.written(&deleted, &api);
        for pin in after {
            edit(&mut api, &mut versions, *pin);
        }
        versions.gone(&deleted.object, &api, (&[], None))
    }

    #[test]
    fn who_pinned_a_version_before_it_was_deleted_is_not_left_without_it() {
        let detail = judged(Some("1.1.0"), &[]).unwrap();
        assert_eq!(detail, "webd-1.1.0 is gone, and m-0 has named it since before it was deleted");
        assert!(judged(Some("1.1.0"), &[Some("1.1.0")]).is_some());
    }

    #[test]
    fn who_let_it_go_or_pinned_it_too_late_has_no_claim() {
        assert_eq!(judged(Some("1.1.0"), &[None]), None);
        assert_eq!(judged(Some("1.1.0"), &[Some("1.2.0"), Some("1.1.0")]), None);
        assert_eq!(judged(None, &[Some("1.1.0")]), None);
    }
}
