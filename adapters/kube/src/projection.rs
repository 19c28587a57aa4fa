//! Turns the updates of watches into the observations of the engine.
//!
//! It remembers which objects of each kind the engine knows, one byte each: when a list is complete, those that were not
//! in it are reported as gone. Nothing else of an object is kept here.

use std::collections::BTreeMap;

use seaworthy_api::names::Names;
use seaworthy_api::object::Resource;
use seaworthy_api::parse::{MetadataError, gone, number, observed, requested};
use seaworthy_api::v1alpha1::LEASE;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{CertificateRequestId, Kind};
use seaworthy_model::package_version::SINGLETON;

use crate::request;
use crate::update::{Change, Update};

/// The state between watches and the engine. The drive loop owns it.
#[derive(Debug, Default)]
pub struct Projection {
    names: Names,
    generation: u64,
    /// By the id of the name; kinds with a single object have one entry.
    known: BTreeMap<Kind, Vec<Seen>>,
    troubles: BTreeMap<Kind, String>,
}

/// What is known of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// It does not exist.
    Never,
    /// It was in no list since the last one began.
    Before,
    /// It was in the present list, or changed since.
    Now,
}

impl Projection {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The names that ids stand for.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// The names that ids stand for, to add some. The caller announces the new ones to the engine.
    pub const fn names_mut(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Begins a new round of watches and returns its number: updates of earlier rounds are dropped from now on.
    pub fn restart(&mut self) -> u64 {
        self.generation += 1;
        self.troubles.clear();
        self.generation
    }

    /// The kinds that cannot be watched at present, and why.
    pub fn troubles(&self) -> impl Iterator<Item = (Kind, &str)> {
        self.troubles.iter().map(|(kind, why)| (*kind, why.as_str()))
    }

    /// What `update` means to the engine, in this order.
    pub fn take(&mut self, update: Update) -> Vec<Observation> {
        let Update { generation, kind, change } = update;
        if generation != self.generation {
            return Vec::new();
        }
        let mut observations = Vec::new();
        match change {
            Change::ListBegan => {
                let seen = self.known.entry(kind).or_default().iter_mut();
                seen.filter(|seen| **seen == Seen::Now).for_each(|seen| *seen = Seen::Before);
            }
            // There may be any number of requests to other signers: nothing is remembered of them.
            Change::Present(Resource::CertificateSigningRequest(_)) => {}
            Change::Present(object) => {
                self.note(kind, &object.metadata().name, |_| Seen::Now);
                tell(observed(&object, &mut self.names, request::read), &mut observations);
            }
            Change::Requested(object, content) => {
                self.note(kind, &object.metadata.name, |_| Seen::Now);
                tell(requested(&object, |_| content, &mut self.names), &mut observations);
            }
            Change::Unreadable { name, why } => {
                // Its last known state stays: an object that cannot be parsed still exists.
                self.note(kind, &name, |seen| if seen == Seen::Never { seen } else { Seen::Now });
                tracing::error!(
                    kind = kind.name(),
                    name,
                    why,
                    "an object cannot be understood and is passed over"
                );
            }
            Change::Gone(name) => {
                self.note(kind, &name, |_| Seen::Never);
                observations.extend(gone(kind, &name, &mut self.names));
            }
            Change::ListEnded => self.complete(kind, &mut observations),
            Change::Failing(why) => {
                self.troubles.insert(kind, why);
            }
            Change::Working => {
                self.troubles.remove(&kind);
            }
        }
        let announced = self.names.take_new().into_iter().map(Observation::Named);
        announced.chain(observations).collect()
    }

    /// Reports what a complete list did not contain. For the kinds with a single object it does so even when the object never
    /// existed: the engine waits for that answer.
    fn complete(&mut self, kind: Kind, observations: &mut Vec<Observation>) {
        self.troubles.remove(&kind);
        let seen = self.known.entry(kind).or_default();
        if single(kind).is_some() && seen.is_empty() {
            seen.push(Seen::Before);
        }
        for (index, seen) in (0..).zip(seen) {
            let lacking = *seen == Seen::Before || single(kind).is_some() && *seen == Seen::Never;
            if !lacking {
                continue;
            }
            *seen = Seen::Never;
            observations.extend(Observation::gone(kind, index));
        }
        observations.push(Observation::Synced(kind));
    }

    /// Changes what is known of the object `name`.
    fn note(&mut self, kind: Kind, name: &str, change: impl Fn(Seen) -> Seen) {
        // Other objects of these kinds do not matter here.
        if single(kind).is_some_and(|only| only != name) {
            return;
        }
        // A request that is not known yet is not ours, or its name is about to be announced.
        if kind == Kind::CertificateSigningRequest && change(Seen::Never) == Seen::Now {
            self.names.id::<CertificateRequestId>(name);
        }
        let Some(number) = number(kind, name, &mut self.names) else { return };
        let index = number as usize;
        let known = self.known.entry(kind).or_default();
        if known.len() <= index {
            known.resize(index + 1, Seen::Never);
        }
        known[index] = change(known[index]);
    }
}

/// Adds the observation of one object. One that cannot be parsed must not hide all others.
fn tell(observed: Result<Option<Observation>, MetadataError>, observations: &mut Vec<Observation>) {
    match observed {
        Ok(observation) => observations.extend(observation),
        Err(error) => tracing::error!(%error, "an object is passed over"),
    }
}

/// The name of the only object of a kind, if it has only one.
fn single(kind: Kind) -> Option<&'static str> {
    let singles = [(Kind::ClusterPackageVersion, SINGLETON), (Kind::Lease, LEASE)];
    singles.into_iter().find(|(of, _)| *of == kind).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use seaworthy_api::object::{Metadata, Node, Resource};
    use seaworthy_model::id::{Named, NamedId, Uid};

    use super::*;

    fn node(name: &str) -> Change {
        let metadata = Metadata { uid: Uid(7).into(), ..Metadata::named(name) };
        Change::Present(Resource::Node(Box::new(Node { metadata, ..Node::default() })))
    }

    fn take(projection: &mut Projection, changes: impl IntoIterator<Item = Change>) -> Vec<String> {
        let generation = projection.generation;
        let updates = changes.into_iter().map(|change| Update { generation, kind: Kind::Node, change });
        let observations: Vec<_> = updates.flat_map(|update| projection.take(update)).collect();
        let words = observations.iter().map(|observation| match observation {
            Observation::Named(Named { id: NamedId::Machine(id), name }) => format!("{name} is {}", id.0),
            Observation::Node(id, object) => format!("{} {}", id.0, object.is_some()),
            Observation::Synced(kind) => format!("synced {}", kind.name()),
            Observation::Opened => "opened".into(),
            Observation::Named(_)
            | Observation::Machine(..)
            | Observation::Version(..)
            | Observation::PackageVersion(_)
            | Observation::ApiServers(_)
            | Observation::Lease(_)
            | Observation::CertificateRequest(..)
            | Observation::Stopping => format!("{observation:?}"),
        });
        words.collect()
    }

    #[test]
    fn a_name_comes_first_and_once() {
        let mut projection = Projection::new();
        let seen = take(&mut projection, [Change::ListBegan, node("a"), node("a"), Change::ListEnded]);
        assert_eq!(seen, ["a is 0", "0 true", "0 true", "synced Node"]);
    }

    #[test]
    fn what_a_complete_list_lacks_is_gone() {
        let mut projection = Projection::new();
        take(&mut projection, [Change::ListBegan, node("a"), node("b"), node("c"), Change::ListEnded]);
        // The first page of a list that breaks off decides nothing.
        assert_eq!(take(&mut projection, [Change::ListBegan, node("a")]), ["0 true"]);
        let garbled = Change::Unreadable { name: "c".into(), why: "test".into() };
        let seen = take(&mut projection, [Change::ListBegan, node("a"), garbled, Change::ListEnded]);
        assert_eq!(seen, ["0 true", "1 false", "synced Node"]);
        assert_eq!(take(&mut projection, [Change::Gone("a".into())]), ["0 false"]);
        assert_eq!(take(&mut projection, [Change::ListBegan, Change::ListEnded]), ["2 false", "synced Node"]);
    }

    #[test]
    fn earlier_rounds_are_not_heard() {
        let mut projection = Projection::new();
        let generation = projection.restart();
        let late = Update { generation: generation - 1, kind: Kind::Node, change: node("a") };
        assert_eq!(projection.take(late), []);
        let late = Update { generation: generation - 1, kind: Kind::Lease, change: Change::ListEnded };
        assert_eq!(projection.take(late), []);
        let lease = |change| Update { generation, kind: Kind::Lease, change };
        assert_eq!(projection.take(lease(Change::ListBegan)), []);
        assert_eq!(
            projection.take(lease(Change::ListEnded)),
            [Observation::Lease(None), Observation::Synced(Kind::Lease)]
        );
    }

    #[test]
    fn a_new_round_says_what_vanished_between_the_rounds() {
        let mut projection = Projection::new();
        take(&mut projection, [Change::ListBegan, node("a"), Change::ListEnded]);
        projection.restart();
        let seen = take(&mut projection, [Change::ListBegan, Change::ListEnded]);
        assert_eq!(seen, ["0 false", "synced Node"]);
    }

    #[test]
    fn troubles_are_remembered_until_it_works() {
        let mut projection = Projection::new();
        take(&mut projection, [Change::Failing("refused".into())]);
        assert_eq!(projection.troubles().collect::<Vec<_>>(), [(Kind::Node, "refused")]);
        take(&mut projection, [Change::Working]);
        assert_eq!(projection.troubles().count(), 0);
    }
}
