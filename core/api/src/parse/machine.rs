//! `Machine`.

use std::sync::Arc;

use seaworthy_model::host::Connection;
use seaworthy_model::id::{Kind, MachineId, Uid};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{Address, HostKeyPolicy, Login, MachineObject, MachineSpec};
use seaworthy_model::meta::Parsed;

use super::component_setting::{check_parameters, component_settings};
use super::faults::{Faults, Field};
use super::metadata::{MetadataError, metadata};
use super::{node_attributes, status, text};
use crate::import;
use crate::names::Names;
use crate::object::Machine;
use crate::shared::Texts;
use crate::v1alpha1;

/// Reads a Machine.
///
/// # Errors
/// When the metadata is invalid. Faults of the spec are part of the result.
pub fn machine(object: &Machine, names: &mut Names) -> Result<(MachineId, MachineObject), MetadataError> {
    machine_again(object, |_| None, names)
}

/// Reads a Machine whose spec may have been read before: `known` returns the earlier result. A spec that names no
/// component means the same with any table of names.
///
/// # Errors
/// When the metadata is invalid.
pub fn machine_again(
    object: &Machine,
    known: impl FnOnce(MachineId) -> Option<Parsed<MachineSpec>>,
    names: &mut Names,
) -> Result<(MachineId, MachineObject), MetadataError> {
    let mut meta = metadata(Kind::Machine, &object.metadata)?;
    meta.finalizers = names.finalizers.share(meta.finalizers);
    let id = names.machine_of(&object.metadata.name);
    let spec = known(id).unwrap_or_else(|| spec(&object.spec, names));
    let mut status =
        object.status.as_ref().map(|status| status::machine_status(status, names)).unwrap_or_default();
    if status.identity.is_none() {
        status.identity = import::read(&object.metadata, meta.uid);
    }
    let is_released = is_released(object, meta.uid);
    let reset_fences = reset_fences(object);
    let labels = object.metadata.labels.iter();
    let labels = labels.map(|(key, value)| (names.texts.share(key), names.texts.share(value))).collect();
    let labels = names.label_sets.share(labels);
    Ok((id, MachineObject { meta, labels, spec, status, is_released, reset_fences }))
}

/// The epoch whose fences the host is to forget. Nonsense is none: the condition `HostAhead` stays, and says what to write.
fn reset_fences(object: &Machine) -> Option<Epoch> {
    let annotations = &object.metadata.annotations;
    let named = if annotations.is_empty() { None } else { annotations.get(v1alpha1::RESET_ANNOTATION) };
    named.and_then(|text| text.trim().parse().ok()).map(Epoch)
}

/// Whether a person has declared that the host of this very Machine is gone. A later Machine of the same name is not
/// meant.
fn is_released(object: &Machine, uid: Uid) -> bool {
    let annotations = &object.metadata.annotations;
    let named = if annotations.is_empty() { None } else { annotations.get(v1alpha1::RELEASE_ANNOTATION) };
    named.is_some_and(|text| Uid::parse(text.trim()) == Some(uid))
}

fn spec(spec: &v1alpha1::MachineSpec, names: &mut Names) -> Parsed<MachineSpec> {
    let mut faults = Faults::default();
    let root = Field::root("spec");
    let address = address(root.name("address"), &spec.address, &mut names.texts, &mut faults);
    let connection = connection(root.name("ssh"), &spec.ssh, address, names, &mut faults);
    let pins = component_settings(root.name("components"), &spec.components, names, &mut faults);
    let retry = spec.retry.as_deref().unwrap_or_default();
    faults.require(root.name("retry"), retry.len() <= 253, "must have at most 253 bytes");
    check_parameters(root.name("parameters"), &spec.parameters, &mut faults);
    let node = node_attributes::wanted(root, spec, &mut faults);
    let parameters = (!spec.parameters.is_empty()).then(|| Box::new(spec.parameters.clone()));
    let paused = spec.paused;
    faults.result(connection.map(|connection| {
        let connection = Arc::new(connection);
        Arc::new(MachineSpec { connection, pins: pins.into(), parameters, node, paused })
    }))
}

fn address(field: Field<'_>, address: &v1alpha1::Address, texts: &mut Texts, faults: &mut Faults) -> Address {
    faults.require(field.name("ip"), text::is_host_address(&address.ip), text::IP);
    if let Some(hostname) = &address.hostname {
        faults.require(field.name("hostname"), text::is_subdomain(hostname, 253), text::SUBDOMAIN);
    }
    for (name, value) in [("idc", &address.idc), ("rack", &address.rack)] {
        if let Some(value) = value {
            faults.require(field.name(name), text::is_label_value(value), text::LABEL_VALUE);
        }
    }
    Address {
        ip: address.ip.clone(),
        hostname: address.hostname.clone().unwrap_or_default(),
        idc: texts.share_any(address.idc.as_ref()),
        rack: texts.share_any(address.rack.as_ref()),
    }
}

fn connection(
    field: Field<'_>,
    ssh: &v1alpha1::Ssh,
    address: Address,
    names: &mut Names,
    faults: &mut Faults,
) -> Option<Connection> {
    let port = faults.number(field.name("port"), ssh.port, (1_u16, u16::MAX));
    faults.require(field.name("user"), text::is_user(&ssh.user), text::USER);
    faults.require(field.name("secretName"), text::is_subdomain(&ssh.secret_name, 253), text::SUBDOMAIN);
    let host_keys = host_keys(field.name("hostKeys"), &ssh.host_keys, faults);
    let host_key_policy = match &*ssh.host_key_policy {
        "Pinned" => HostKeyPolicy::Pinned,
        "TrustOnFirstUse" => HostKeyPolicy::TrustOnFirstUse,
        _ => {
            faults.add(field.name("hostKeyPolicy"), "must be Pinned or TrustOnFirstUse");
            return None;
        }
    };
    if ssh.host_keys.is_empty() && host_key_policy == HostKeyPolicy::Pinned {
        let message = "hostKeys must not be empty unless hostKeyPolicy is TrustOnFirstUse";
        faults.add(field.name("hostKeys"), message);
    }
    let login =
        Login { user: names.texts.share(&ssh.user), secret_name: names.texts.share(&ssh.secret_name) };
    let login = names.logins.share(Arc::new(login));
    Some(Connection { address, port: port?, login, host_keys, host_key_policy })
}

fn host_keys(field: Field<'_>, keys: &Arc<[Arc<str>]>, faults: &mut Faults) -> Arc<[Arc<str>]> {
    faults.at_most(field, keys.len(), 8);
    faults.unique(field, "", keys.iter().map(AsRef::as_ref));
    let mut any_comment = false;
    for (index, key) in keys.iter().enumerate() {
        match text::host_key(key) {
            Some(plain) => any_comment |= plain.len() != key.len(),
            None => faults.add(field.index(index), text::HOST_KEY),
        }
    }
    if any_comment {
        keys.iter().filter_map(|key| text::host_key(key)).map(Arc::from).collect()
    } else {
        Arc::clone(keys)
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use seaworthy_model::machine::ConditionKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_machines_have_in_common_is_kept_once() {
        let mut names = Names::new();
        let mut read = |number: u32| {
            let object = serde_json::from_value(json!({
                "metadata": {
                    "name": format!("m-{number}"), "uid": format!("0f3c1d2e-4b5a-6978-8796-{number:012x}"),
                    "resourceVersion": "7", "finalizers": ["seaworthy.dev/in-use"], "labels": { "pool": "batch" },
                },
                "spec": {
                    "address": { "ip": format!("10.0.0.{number}"), "rack": "r1" },
                    "ssh": { "secretName": "keys", "hostKeyPolicy": "TrustOnFirstUse" },
                },
                "status": {
                    "components": [{ "name": "webd", "version": "1.0.0", "release": "07".repeat(32) }],
                    "conditions": [{
                        "type": "Ready", "status": "True", "reason": "AsDesired", "message": "",
                        "observedGeneration": 1, "lastTransitionTime": "2026-11-26T10:00:00Z",
                    }],
                },
            }));
            machine(&object.unwrap(), &mut names).unwrap().1
        };
        let (one, other) = (read(1), read(2));
        assert!(Arc::ptr_eq(&one.meta.finalizers, &other.meta.finalizers));
        assert!(ptr::eq(one.labels.get("pool").unwrap(), other.labels.get("pool").unwrap()));
        assert_eq!(one.status.components.len(), 1);
        assert!(Arc::ptr_eq(&one.status.components, &other.status.components));
        let ready =
            |object: &MachineObject| ptr::from_ref(object.status.condition(ConditionKind::Ready).unwrap());
        assert_eq!(ready(&one), ready(&other));
        let [one, other] = [one, other].map(|object| Arc::clone(&object.spec.unwrap().connection));
        assert!(Arc::ptr_eq(&one.login, &other.login) && Arc::ptr_eq(&one.address.rack, &other.address.rack));
    }
}
