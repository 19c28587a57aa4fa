//! `Node`: its health, and what is ours on it.

use seaworthy_model::id::{Kind, MachineId};
use seaworthy_model::node::{Cordon, DRAIN_ANNOTATION, DRAIN_TAINT, Health, NodeObject, NodeState};
use seaworthy_model::time::Timestamp;

use super::faults::{Faults, Field};
use super::metadata::MetadataError;
use super::node_attributes::carried;
use crate::names::Names;
use crate::object::{Node, NodeCondition};
use crate::request::read_mark;

/// Reads a Node. Without a condition `Ready` its health counts as unknown since its creation.
///
/// # Errors
/// When it has no name or no uid.
pub fn node(object: &Node, names: &mut Names) -> Result<(MachineId, NodeObject), MetadataError> {
    let metadata = &object.metadata;
    let Some(uid) = metadata.uid.get().filter(|_| !metadata.name.is_empty()) else {
        let mut faults = Faults::default();
        let root = Field::root("metadata");
        faults.require(root.name("name"), !metadata.name.is_empty(), "must not be empty");
        faults.require(root.name("uid"), metadata.uid.get().is_some(), "must be a UUID");
        return Err(MetadataError::new(Kind::Node, metadata, faults));
    };
    let conditions = object.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let condition = conditions.iter().find(|condition| condition.r#type == "Ready");
    let ready = match condition.map(|condition| &*condition.status) {
        Some("True") => Health::Healthy,
        Some("False") => Health::Unhealthy,
        _ => Health::Unknown,
    };
    let since = condition
        .and_then(|condition| condition.last_transition_time.as_ref()?.get())
        .or_else(|| metadata.creation_timestamp.as_ref()?.get())
        .unwrap_or(Timestamp::ZERO);
    let state = NodeState {
        ready,
        since,
        troubled_since: conditions.iter().filter_map(problem).max(),
        has_taints: !object.spec.taints.is_empty(),
        has_annotations: !metadata.annotations.is_empty(),
        has_labels: !metadata.labels.is_empty(),
        cordon: cordon(object),
        carried: carried(object),
    };
    Ok((names.machine_of(&metadata.name), NodeObject { uid, state }))
}

/// Since when a condition reports a problem, if it does. Those of Kubernetes and of the node problem detector are true then;
/// conditions of other programs count if their names say what they mean.
fn problem(condition: &NodeCondition) -> Option<Timestamp> {
    const NAMES: [&str; 5] = [
        "KernelDeadlock",
        "ReadonlyFilesystem",
        "FrequentKubeletRestart",
        "FrequentContainerdRestart",
        "FrequentUnregisterNetDevice",
    ];
    const ENDINGS: [&str; 4] = ["Pressure", "Unavailable", "Problem", "Unhealthy"];
    let kind = &*condition.r#type;
    let is_problem = NAMES.contains(&kind) || ENDINGS.iter().any(|ending| kind.ends_with(ending));
    let at = condition.last_transition_time.as_ref().filter(|_| is_problem && condition.status == "True");
    at?.get()
}

/// What is unusual about a Node, if anything is.
fn cordon(object: &Node) -> Option<Box<Cordon>> {
    let unschedulable = object.spec.unschedulable;
    let taint = object.spec.taints.iter().position(|taint| taint.key == DRAIN_TAINT);
    let taint = taint.and_then(|place| u32::try_from(place).ok());
    let annotations = &object.metadata.annotations;
    let mark = if annotations.is_empty() { None } else { annotations.get(DRAIN_ANNOTATION) };
    if !unschedulable && taint.is_none() && mark.is_none() {
        return None;
    }
    let info = object.status.as_ref().and_then(|status| status.node_info.as_ref());
    let host = info.and_then(|info| info.machine_id.get());
    Some(Box::new(Cordon {
        unschedulable,
        taint,
        mark: mark.map(|text| (read_mark(text), text.as_str().into())),
        host,
    }))
}

#[cfg(test)]
mod tests {
    use seaworthy_model::id::Uid;
    use seaworthy_model::machine::HostId;

    use super::*;
    use crate::object::{Metadata, NodeStatus};
    use crate::rfc3339;

    const UID: &str = "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0";

    fn seen(name: &str) -> Metadata {
        Metadata {
            uid: UID.into(),
            resource_version: "7".into(),
            creation_timestamp: Some("2026-11-20T08:00:00Z".into()),
            ..Metadata::named(name)
        }
    }

    #[test]
    fn a_node_is_healthy_only_when_it_says_so() {
        let condition = |r#type: &'static str, status: &'static str| NodeCondition {
            r#type: r#type.into(),
            status: status.into(),
            last_transition_time: Some("2026-11-20T09:00:00Z".into()),
        };
        let (created, changed) =
            (rfc3339::parse("2026-11-20T08:00:00Z"), rfc3339::parse("2026-11-20T09:00:00Z"));
        let table = [
            (vec![condition("Ready", "True")], Health::Healthy, changed),
            (vec![condition("Ready", "False")], Health::Unhealthy, changed),
            (vec![condition("Ready", "Unknown")], Health::Unknown, changed),
            (vec![condition("Ready", "true")], Health::Unknown, changed),
            (vec![condition("DiskPressure", "True")], Health::Unknown, created),
            (vec![], Health::Unknown, created),
        ];
        for (conditions, ready, since) in table {
            let status = Some(NodeStatus { conditions, ..NodeStatus::default() });
            let object = Node { metadata: seen("m-0"), status, ..Node::default() };
            let mut names = Names::new();
            let (machine, read) = node(&object, &mut names).unwrap();
            assert_eq!((read.state.ready, Some(read.state.since)), (ready, since));
            assert_eq!((Some(read.uid), read.state.cordon), (Uid::parse(UID), None));
            assert_eq!(names.machine_name(machine), Ok("m-0"));
        }
    }

    #[test]
    fn a_problem_counts_from_the_newest_condition_that_reports_one() {
        let condition = |(r#type, status, at): (&'static str, &'static str, &'static str)| NodeCondition {
            r#type: r#type.into(),
            status: status.into(),
            last_transition_time: Some(at.into()),
        };
        let (nine, ten) = ("2026-11-20T09:00:00Z", "2026-11-20T10:00:00Z");
        let table = [
            (vec![("Ready", "True", nine), ("DiskPressure", "False", ten)], None),
            (vec![("Ready", "False", ten), ("EtcdIsVoter", "True", ten)], None),
            (vec![("DiskPressure", "True", nine), ("KernelDeadlock", "False", ten)], Some(nine)),
            (vec![("PIDPressure", "True", nine), ("NetworkUnavailable", "True", ten)], Some(ten)),
            (vec![("NTPProblem", "True", nine), ("KubeletUnhealthy", "Unknown", ten)], Some(nine)),
        ];
        for (conditions, since) in table {
            let conditions = conditions.into_iter().map(condition).collect();
            let status = Some(NodeStatus { conditions, ..NodeStatus::default() });
            let object = Node { metadata: seen("m-0"), status, ..Node::default() };
            let (_, read) = node(&object, &mut Names::new()).unwrap();
            assert_eq!(read.state.troubled_since, since.and_then(rfc3339::parse));
        }
    }

    #[test]
    fn what_is_ours_on_a_node_is_found_among_what_is_others() {
        let json = serde_json::json!({
            "metadata": {
                "name": "m-0", "uid": UID, "resourceVersion": "7",
                "annotations": { "seaworthy.dev/drain": format!("{{\"machine\": \"{UID}\", \"foundUnschedulable\": false}}") },
            },
            "spec": {
                "unschedulable": true,
                "taints": [
                    { "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" },
                    { "key": "seaworthy.dev/drain", "effect": "NoSchedule" },
                ],
            },
            "status": { "nodeInfo": { "machineID": "0123456789abcdef0123456789abcdef" } },
        });
        let object: Node = serde_json::from_value(json).unwrap();
        let (_, read) = node(&object, &mut Names::new()).unwrap();
        let cordon = read.state.cordon.clone().unwrap();
        assert_eq!((cordon.unschedulable, cordon.taint), (true, Some(1)));
        assert_eq!(cordon.host, Some(HostId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef)));
        let (mark, _) = cordon.mark.unwrap();
        assert_eq!((Some(mark.machine), mark.found_unschedulable), (Uid::parse(UID), false));
        assert!(read.state.has_taints && read.state.has_annotations);
    }

    #[test]
    fn a_node_without_a_uid_is_no_node() {
        let object = Node { metadata: Metadata::named("m-0"), ..Node::default() };
        let error = node(&object, &mut Names::new()).unwrap_err();
        assert_eq!(error.to_string(), "Node \"m-0\" is not usable; metadata.uid: must be a UUID");
    }
}
