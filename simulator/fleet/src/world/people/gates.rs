//! Users who let rollouts go on in spite of a gate that has failed: they follow the advice in the operator's condition.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::v1alpha1::{Condition, RESUME_ANNOTATION};
use seaworthy_kernel::Priority;
use seaworthy_model::id::Kind;

use crate::world::World;
use crate::world::event::Event;

/// The time between two checks.
const LOOKS_AGAIN: Duration = Duration::from_secs(600);

impl World {
    /// Users let every rollout go on whose gate has failed, now and from then on.
    pub(in crate::world) fn override_gates(&mut self) {
        for (kind, name, gate) in self.failed_gates() {
            let now = self.queue.now();
            let key = (kind, &*name);
            let written = self.api_servers.home_mut().update(key, Default::default(), now, |object| {
                object.metadata_mut().annotations.insert(RESUME_ANNOTATION.to_owned(), gate);
            });
            self.note(written, &name);
        }
        self.queue.after(LOOKS_AGAIN, Priority::WORLD, Event::Override);
    }

    /// The gates that the operator says have failed, each with its object.
    fn failed_gates(&self) -> Vec<(Kind, Arc<str>, String)> {
        let kinds = [Kind::ClusterPackageVersion, Kind::MachineComponentSet, Kind::CanaryRelease];
        let owners = kinds.map(|kind| self.api_servers.home().collection(kind).objects());
        let gates = owners.iter().flatten().filter_map(|owner| {
            let conditions: &[Condition] = &owner.charter()?.1?.conditions;
            let told = conditions.iter().find(|condition| condition.reason == "GateFailed")?;
            Some((owner.kind(), Arc::clone(owner.name()), gate_in(&told.message)?.to_owned()))
        });
        gates.collect()
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
