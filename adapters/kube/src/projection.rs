//! Turns the updates of watches into the observations of the engine.
//!
//! It remembers which objects of each source the engine knows, one byte each: when a list is complete, those that were not
//! in it are reported as gone. Nothing else of an object is kept here.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_api::names::Names;
use seaworthy_api::object::Resource;
use seaworthy_api::parse::{MetadataError, gone, number, observed, requested};
use seaworthy_api::v1alpha1::LEASE;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{CertificateRequestId, Kind};
use seaworthy_model::package_version::SINGLETON;

use crate::request;
use crate::source::Source;
use crate::update::{Change, Update};

/// The state between watches and the engine. The drive loop owns it.
#[derive(Debug, Default)]
pub struct Projection {
    names: Names,
    generation: u64,
    /// By the id of the name; kinds with a single object have one entry.
    known: BTreeMap<Source, Vec<Seen>>,
    /// The sources that were listed in this round.
    listed: BTreeSet<Source>,
    troubles: BTreeMap<Source, String>,
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
        self.listed.clear();
        self.troubles.clear();
        self.generation
    }

    /// The sources that cannot be watched at present, and why.
    pub fn troubles(&self) -> impl Iterator<Item = (Source, &str)> {
        self.troubles.iter().map(|(source, why)| (*source, why.as_str()))
    }

    /// What `update` means to the engine, in this order.
    pub fn take(&mut self, update: Update) -> Vec<Observation> {
        let Update { generation, source, change } = update;
        let kind = source.kind();
        if generation != self.generation {
            return Vec::new();
        }
        let mut observations = Vec::new();
        match change {
            Change::ListBegan => {
                let seen = self.known.entry(source).or_default().iter_mut();
                seen.filter(|seen| **seen == Seen::Now).for_each(|seen| *seen = Seen::Before);
            }
            // Of requests that were not asked for nothing is remembered.
            Change::Present(Resource::CertificateSigningRequest(_)) => {}
            Change::Present(object) => {
                self.note(source, &object.metadata().name, |_| Seen::Now);
                tell(observed(&object, &mut self.names, request::read), &mut observations);
            }
            Change::Requested(object, content) => {
                self.note(source, &object.metadata.name, |_| Seen::Now);
                tell(requested(&object, |_| content, &mut self.names), &mut observations);
            }
            Change::Unreadable { name, why } => {
                // Its last known state stays: an object that cannot be parsed still exists.
                self.note(source, &name, |seen| if seen == Seen::Never { seen } else { Seen::Now });
                tracing::error!(
                    kind = kind.name(),
                    name,
                    why,
                    "an object cannot be understood and is passed over"
                );
            }
            Change::Gone(name) => {
                self.note(source, &name, |_| Seen::Never);
                let number = number(kind, &name, &mut self.names);
                if !number.is_some_and(|index| self.is_elsewhere(source, index)) {
                    observations.extend(gone(kind, &name, &mut self.names));
                }
            }
            Change::ListEnded => self.complete(source, &mut observations),
            Change::Failing(why) => {
                self.troubles.insert(source, why);
            }
            Change::Working => {
                self.troubles.remove(&source);
            }
        }
        let announced = self.names.take_new().into_iter().map(Observation::Named);
        announced.chain(observations).collect()
    }

    /// Reports what a complete list did not contain. For the kinds with a single object it does so even when the object never
    /// existed: the engine waits for that answer.
    fn complete(&mut self, source: Source, observations: &mut Vec<Observation>) {
        let kind = source.kind();
        self.troubles.remove(&source);
        self.listed.insert(source);
        let mut seen = self.known.remove(&source).unwrap_or_default();
        if single(kind).is_some() && seen.is_empty() {
            seen.push(Seen::Before);
        }
        for (index, seen) in (0..).zip(&mut seen) {
            let lacking = *seen == Seen::Before || single(kind).is_some() && *seen == Seen::Never;
            if !lacking {
                continue;
            }
            *seen = Seen::Never;
            if !self.is_elsewhere(source, index) {
                observations.extend(Observation::gone(kind, index));
            }
        }
        self.known.insert(source, seen);
        if Source::of(kind).all(|source| self.listed.contains(&source)) {
            observations.push(Observation::Synced(kind));
        }
    }

    /// Whether another source of the same kind has an object of this number. An object may be created anew under its old
    /// name, for another source, and the watches are not in step.
    fn is_elsewhere(&self, source: Source, index: u32) -> bool {
        Source::of(source.kind()).filter(|other| *other != source).any(|other| {
            let known = self.known.get(&other).and_then(|known| known.get(index as usize));
            known.is_some_and(|seen| *seen != Seen::Never)
        })
    }

    /// Changes what is known of the object `name`.
    fn note(&mut self, source: Source, name: &str, change: impl Fn(Seen) -> Seen) {
        let kind = source.kind();
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
        let known = self.known.entry(source).or_default();
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
    use seaworthy_api::object::{CertificateSigningRequest, Metadata, Node, Resource};
    use seaworthy_model::id::{Named, NamedId, Uid};

    use super::*;

    fn node(name: &str) -> Change {
        let metadata = Metadata { uid: Uid(7).into(), ..Metadata::named(name) };
        Change::Present(Resource::Node(Box::new(Node { metadata, ..Node::default() })))
    }

    fn take(projection: &mut Projection, changes: impl IntoIterator<Item = Change>) -> Vec<String> {
        let nodes = Source::of(Kind::Node).next().unwrap();
        take_of(nodes, projection, changes)
    }

    fn take_of(
        source: Source,
        projection: &mut Projection,
        changes: impl IntoIterator<Item = Change>,
    ) -> Vec<String> {
        let generation = projection.generation;
        let updates = changes.into_iter().map(|change| Update { generation, source, change });
        let observations: Vec<_> = updates.flat_map(|update| projection.take(update)).collect();
        let words = observations.iter().map(|observation| match observation {
            Observation::Named(Named { id: NamedId::Machine(id), name }) => format!("{name} is {}", id.0),
            Observation::Node(id, object) => format!("{} {}", id.0, object.is_some()),
            Observation::Synced(kind) => format!("synced {}", kind.name()),
            Observation::Opened => "opened".into(),
            Observation::CertificateRequest(id, object) => format!("request {} {}", id.0, object.is_some()),
            Observation::Named(Named { id: NamedId::CertificateRequest(id), name }) => {
                format!("request {name} is {}", id.0)
            }
            Observation::Named(_)
            | Observation::Machine(..)
            | Observation::Version(..)
            | Observation::PackageVersion(_)
            | Observation::Set(..)
            | Observation::Canary(..)
            | Observation::Policy(..)
            | Observation::ApiServers(_)
            | Observation::Lease(_)
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
        let late = Update { generation: generation - 1, source: Source::LEASE, change: node("a") };
        assert_eq!(projection.take(late), []);
        let late = Update { generation: generation - 1, source: Source::LEASE, change: Change::ListEnded };
        assert_eq!(projection.take(late), []);
        let lease = |change| Update { generation, source: Source::LEASE, change };
        assert_eq!(projection.take(lease(Change::ListBegan)), []);
        assert_eq!(
            projection.take(lease(Change::ListEnded)),
            [Observation::Lease(None), Observation::Synced(Kind::Lease)]
        );
    }

    #[test]
    fn requests_to_two_signers_are_one_kind() {
        let [first, second]: [Source; 2] =
            Source::of(Kind::CertificateSigningRequest).collect::<Vec<_>>().try_into().unwrap();
        let request = |name: &str, source: Source| {
            let mut object = CertificateSigningRequest::default();
            let resource_version = "7".into();
            object.metadata = Metadata { uid: Uid(7).into(), resource_version, ..Metadata::named(name) };
            object.spec.signer_name = source.signer().unwrap().name().to_owned();
            Change::Requested(Box::new(object), Err("none".to_owned()))
        };
        let mut projection = Projection::new();
        let seen =
            take_of(first, &mut projection, [Change::ListBegan, request("a", first), Change::ListEnded]);
        // The other list is not there yet.
        assert_eq!(seen, ["request a is 0", "request 0 true"]);
        let seen =
            take_of(second, &mut projection, [Change::ListBegan, request("b", second), Change::ListEnded]);
        assert_eq!(seen, ["request b is 1", "request 1 true", "synced CertificateSigningRequest"]);
        // A list of one signer says nothing of the requests to the other.
        let seen = take_of(first, &mut projection, [Change::ListBegan, Change::ListEnded]);
        assert_eq!(seen, ["request 0 false", "synced CertificateSigningRequest"]);
        // Its watch shows the new object of an old name before the other watch shows that the old one is gone.
        assert_eq!(take_of(first, &mut projection, [request("b", first)]), ["request 1 true"]);
        assert_eq!(take_of(second, &mut projection, [Change::Gone("b".into())]), [""; 0]);
        assert_eq!(take_of(first, &mut projection, [Change::Gone("b".into())]), ["request 1 false"]);
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
        let troubles = projection.troubles().map(|(source, why)| format!("{source}: {why}"));
        assert_eq!(troubles.collect::<Vec<_>>(), ["Node: refused"]);
        take(&mut projection, [Change::Working]);
        assert_eq!(projection.troubles().count(), 0);
    }
}
