//! Users who allow the takeover of hosts after the store has lost the operators' epochs: they follow the advice in the
//! operator's condition, and check again until the condition is gone.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::{Endpoint, Lease, LeaseSpec, Metadata, Resource};
use seaworthy_api::v1alpha1::{ADOPT_ANNOTATION, Condition, LEASE, NAMESPACE, RESET_ANNOTATION};
use seaworthy_kernel::Priority;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

use crate::world::World;
use crate::world::event::Event;

/// The time between two checks. Hosts that were out of reach may report a later epoch when they are back, which the
/// first adoption cannot know.
const LOOKS_AGAIN: Duration = Duration::from_secs(300);
/// The first epoch to try when the condition names none, as the condition advises.
const FIRST: u64 = 1;

impl World {
    /// Users record on the Lease that hosts may be taken over if they have seen operators up to the reported epoch.
    /// From then on they do so whenever the operator asks for it.
    pub(in crate::world) fn adopt(&mut self) {
        self.record_adoption(self.epoch_asked_for().unwrap_or(FIRST));
        self.look_again();
    }

    /// Users check whether the operator asks for another adoption.
    pub(in crate::world) fn adopt_again(&mut self) {
        if let Some(epoch) = self.epoch_asked_for() {
            self.record_adoption(epoch);
        }
        self.reset_fences();
        self.look_again();
    }

    fn look_again(&mut self) {
        self.queue.after(LOOKS_AGAIN, Priority::WORLD, Event::Adoption);
    }

    /// The epoch to adopt, if the operator reports that the store has lost epochs.
    fn epoch_asked_for(&self) -> Option<u64> {
        let fleet = self.api_servers.home().get(Kind::ClusterPackageVersion, SINGLETON)?.package_version()?;
        let conditions: &[Condition] = &fleet.status.as_ref()?.conditions;
        let asks = conditions.iter().find(|condition| condition.reason == "StoreRegressed")?;
        Some(epoch_in(&asks.message).unwrap_or(FIRST))
    }

    /// Users let each host forget its fences that alone reports a newer operator: they know that there is none.
    fn reset_fences(&mut self) {
        let now = self.queue.now();
        let machines = self.api_servers.home().collection(Kind::Machine).objects();
        let ahead: Vec<_> = machines
            .into_iter()
            .filter_map(|object| {
                let Resource::Machine(machine) = object.resource() else { return None };
                let conditions: &[Condition] = &machine.status.as_ref()?.conditions;
                let told = conditions.iter().find(|condition| condition.reason == "HostAhead")?;
                Some((Arc::clone(object.name()), epoch_in(&told.message)?.to_string()))
            })
            .collect();
        for (name, epoch) in ahead {
            let key = (Kind::Machine, &*name);
            let written = self.api_servers.home_mut().update(key, Default::default(), now, |object| {
                object.metadata_mut().annotations.insert(RESET_ANNOTATION.to_owned(), epoch);
            });
            self.note(written, &name);
        }
    }

    fn record_adoption(&mut self, epoch: u64) {
        let now = self.queue.now();
        let annotation = (ADOPT_ANNOTATION.to_owned(), epoch.to_string());
        let written = match self.api_servers.home().get(Kind::Lease, LEASE) {
            Some(_) => {
                self.api_servers.home_mut().update((Kind::Lease, LEASE), Default::default(), now, |object| {
                    object.metadata_mut().annotations.extend([annotation]);
                })
            }
            None => {
                let mut metadata = Metadata { namespace: Some(NAMESPACE.into()), ..Metadata::named(LEASE) };
                metadata.annotations.extend([annotation]);
                let api_version = Endpoint::of(Kind::Lease).api_version.into();
                let (kind, spec) = (Kind::Lease.name().into(), LeaseSpec::default());
                let lease = Lease { api_version, kind, metadata, spec, status: None };
                self.api_servers.home_mut().create(Resource::Lease(Box::new(lease)), now)
            }
        };
        self.note(written, LEASE);
    }
}

/// The highest epoch in the message of a condition.
fn epoch_in(message: &str) -> Option<u64> {
    let words = message.split(|letter: char| !letter.is_ascii_alphanumeric()).collect::<Vec<_>>();
    let named = words.windows(2).filter(|pair| pair[0] == "epoch").filter_map(|pair| pair[1].parse().ok());
    named.max()
}

#[cfg(test)]
mod tests {
    use super::epoch_in;

    #[test]
    fn people_find_the_epoch_in_the_words() {
        let advice = "annotate lease seaworthy seaworthy.dev/adopt-epoch=EPOCH, where EPOCH is the highest epoch that \
             was seen; if nobody knows it, begin with 1";
        assert_eq!(epoch_in(advice), None);
        for (words, epoch) in [
            (": hosts have seen an operator of epoch 41", Some(41)),
            (": it reports an operator of epoch 43", Some(43)),
            (": the Lease of epoch 7 is gone", Some(7)),
            (": machines are recorded, but no Lease", None),
        ] {
            assert_eq!(epoch_in(&format!("{advice}{words}")), epoch, "{words}");
        }
    }
}
