//! The status of a Machine as it is kept.

use std::borrow::Cow;
use std::sync::Arc;

use seaworthy_api::scalar::Scalar;
use seaworthy_api::v1alpha1::{ComponentStatus, Condition, Identity, MachineStatus};
use seaworthy_kernel::Timestamp;
use seaworthy_model::machine::HostId;

use super::dictionary::{Dictionary, Inventory, Words};

/// The status of a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusForm {
    observed_generation: i64,
    host: Option<(HostId, Option<Arc<str>>)>,
    inventory: Arc<Inventory>,
    conditions: Conditions,
}

/// The operator writes three.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Conditions {
    Three([ConditionForm; 3]),
    Any(Box<[ConditionForm]>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ConditionForm {
    words: Arc<Words>,
    since: Timestamp,
    observed_generation: i64,
}

impl StatusForm {
    /// Reads a word of each part, to have it near. The sum means nothing.
    pub(super) fn warm(&self) -> u64 {
        let conditions = match &self.conditions {
            Conditions::Three(conditions) => &conditions[..],
            Conditions::Any(conditions) => conditions,
        };
        conditions
            .iter()
            .fold(self.observed_generation as u64, |sum, condition| sum ^ condition.since.millis())
    }

    /// The form of `status`; `None` when something in it has no place in one.
    pub(super) fn of(status: &MachineStatus, dictionary: &mut Dictionary) -> Option<Self> {
        if status.reason != reason_of(&status.conditions) {
            return None;
        }
        let host = match &status.identity {
            Some(identity) => Some((identity.machine_id.get()?, identity.host_key.clone())),
            None => None,
        };
        let inventory = dictionary.inventories.share(Inventory {
            components: Arc::clone(&status.components),
            installed: Arc::clone(&status.installed),
            architecture: status.identity.as_ref().map(|identity| identity.architecture.clone()),
            cgroup_version: status.identity.as_ref().and_then(|identity| identity.cgroup_version.clone()),
        });
        let mut keep = |condition: &Condition| {
            let words = Words {
                r#type: condition.r#type.clone(),
                status: condition.status.clone(),
                reason: condition.reason.clone(),
                message: condition.message.clone(),
            };
            Some(ConditionForm {
                words: dictionary.words.share(words),
                since: condition.last_transition_time.get()?,
                observed_generation: condition.observed_generation,
            })
        };
        let conditions = match &*status.conditions {
            [one, two, three] => Conditions::Three([keep(one)?, keep(two)?, keep(three)?]),
            any => Conditions::Any(any.iter().map(keep).collect::<Option<_>>()?),
        };
        Some(Self { observed_generation: status.observed_generation, host, inventory, conditions })
    }

    /// The status in full.
    pub(super) fn status(&self) -> MachineStatus {
        let Inventory { components, installed, architecture, cgroup_version } = &*self.inventory;
        let conditions: Vec<_> = self.conditions().iter().map(ConditionForm::condition).collect();
        MachineStatus {
            observed_generation: self.observed_generation,
            reason: reason_of(&conditions),
            identity: self.host.as_ref().map(|(host, key)| Identity {
                machine_id: Scalar::Read(*host),
                host_key: key.clone(),
                architecture: architecture.clone().unwrap_or_default(),
                cgroup_version: cgroup_version.clone(),
            }),
            components: Arc::clone(components),
            installed: Arc::clone(installed),
            conditions,
        }
    }

    pub(super) fn components(&self) -> &[ComponentStatus] {
        &self.inventory.components
    }

    fn conditions(&self) -> &[ConditionForm] {
        match &self.conditions {
            Conditions::Three(three) => three,
            Conditions::Any(any) => any,
        }
    }
}

/// The reason of the condition Ready, which the status repeats.
fn reason_of(conditions: &[Condition]) -> Cow<'static, str> {
    let ready = conditions.iter().find(|condition| condition.r#type == "Ready");
    ready.map(|ready| ready.reason.clone()).unwrap_or_default()
}

impl ConditionForm {
    fn condition(&self) -> Condition {
        let Words { r#type, status, reason, message } = &*self.words;
        Condition {
            r#type: r#type.clone(),
            status: status.clone(),
            reason: reason.clone(),
            message: message.clone(),
            last_transition_time: self.since.into(),
            observed_generation: self.observed_generation,
        }
    }
}
