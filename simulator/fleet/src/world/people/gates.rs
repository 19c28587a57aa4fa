//! Users who let rollouts go on in spite of a gate that has failed: they follow the advice in the operator's condition.

use std::time::Duration;

use seaworthy_api::v1alpha1::{Condition, RESUME_ANNOTATION};
use seaworthy_kernel::Priority;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

use crate::world::World;
use crate::world::event::Event;

/// The time between two checks.
const LOOKS_AGAIN: Duration = Duration::from_secs(600);

impl World {
    /// Users let every rollout go on whose gate has failed, now and from then on.
    pub(in crate::world) fn override_gates(&mut self) {
        if let Some(gate) = self.failed_gate() {
            let now = self.queue.now();
            let key = (Kind::ClusterPackageVersion, SINGLETON);
            let written = self.api_servers.home_mut().update(key, Default::default(), now, |object| {
                object.metadata_mut().annotations.insert(RESUME_ANNOTATION.to_owned(), gate);
            });
            self.note(written, SINGLETON);
        }
        self.queue.after(LOOKS_AGAIN, Priority::WORLD, Event::Override);
    }

    /// The gate that the operator says has failed.
    fn failed_gate(&self) -> Option<String> {
        let fleet = self.api_servers.home().get(Kind::ClusterPackageVersion, SINGLETON)?.package_version()?;
        let conditions: &[Condition] = &fleet.status.as_ref()?.conditions;
        let told = conditions.iter().find(|condition| condition.reason == "GateFailed")?;
        gate_in(&told.message).map(str::to_owned)
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
