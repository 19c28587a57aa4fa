//! Users who let rollouts go on: in spite of a gate that has failed, by the advice in the operator's condition, or because they mean
//! what waits for a confirmation.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::v1alpha1::{CONFIRM_ANNOTATION, Condition, RESUME_ANNOTATION};
use seaworthy_kernel::Priority;
use seaworthy_model::id::Kind;

use crate::world::World;
use crate::world::event::Event;

/// What waits for a confirmation.
const UNCONFIRMED: [&str; 3] = ["ConfirmationNeeded", "RollbackUnsafe", "SetEmptied"];

/// The time between two checks.
const LOOKS_AGAIN: Duration = Duration::from_secs(600);

impl World {
    /// Users let every rollout go on whose gate has failed, now and from then on.
    pub(in crate::world) fn override_gates(&mut self) {
        self.annotate_owners(RESUME_ANNOTATION, |_, conditions| {
            let told = conditions.iter().find(|condition| condition.reason == "GateFailed")?;
            Some(gate_in(&told.message)?.to_owned())
        });
        self.queue.after(LOOKS_AGAIN, Priority::WORLD, Event::Override);
    }

    /// Users confirm every change that waits for it, now and from then on.
    pub(in crate::world) fn confirm_rollouts(&mut self) {
        self.annotate_owners(CONFIRM_ANNOTATION, |generation, conditions| {
            let is_told = conditions.iter().any(|told| UNCONFIRMED.contains(&&*told.reason));
            is_told.then(|| generation.to_string())
        });
        self.queue.after(LOOKS_AGAIN, Priority::WORLD, Event::Confirmation);
    }

    /// Users annotate the owners of rollouts for which `value` says something.
    fn annotate_owners(&mut self, annotation: &str, value: impl Fn(i64, &[Condition]) -> Option<String>) {
        let kinds = [Kind::ClusterPackageVersion, Kind::MachineComponentSet, Kind::CanaryRelease];
        let owners = kinds.map(|kind| self.api_servers.home().collection(kind).objects());
        let annotated = owners.iter().flatten().filter_map(|owner| {
            let conditions: &[Condition] = &owner.charter()?.1?.conditions;
            Some((owner.kind(), Arc::clone(owner.name()), value(owner.generation(), conditions)?))
        });
        let annotated: Vec<(Kind, Arc<str>, String)> = annotated.collect();
        for (kind, name, value) in annotated {
            let now = self.queue.now();
            let key = (kind, &*name);
            let written = self.api_servers.home_mut().update(key, Default::default(), now, |object| {
                object.metadata_mut().annotations.insert(annotation.to_owned(), value);
            });
            self.note(written, &name);
        }
    }
}

/// The gate in the message of a condition.
fn gate_in(message: &str) -> Option<&str> {
    let words = message.split_ascii_whitespace().filter_map(|word| word.strip_suffix(':'));
    words.into_iter().find(|word| word.split('/').count() == 3)
}

#[cfg(test)]
mod tests {
    use super::gate_in;

    #[test]
    fn people_find_the_gate_in_the_words() {
        let advice = "with the annotation seaworthy.dev/resume-rollout and the first word of what follows";
        assert_eq!(gate_in(advice), None);
        assert_eq!(gate_in(&format!("{advice}: webd/7/2: 3 changed, 1 failed")), Some("webd/7/2"));
    }
}
