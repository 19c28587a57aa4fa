//! The API server: stores and returns objects as the real one does.
//!
//! One counter of revisions over all kinds; optimistic concurrency by uid and `resourceVersion`; a generation that grows
//! with the spec only; a status subresource; finalizers; a write that changes nothing is no write. What was
//! committed is in the log of its kind, from which watches are served.

mod collection;
mod dictionary;
mod execute;
pub mod http;
mod log;
mod node_leases;
mod pods;
mod rules;
mod status;
mod stored;

use std::sync::Arc;

use seaworthy_api::object::Resource;
use seaworthy_kernel::{Draws, Timestamp, word};
use seaworthy_model::id::{Kind, Uid};

pub use collection::Collection;
pub(crate) use execute::OPERATOR;
pub(in crate::world) use execute::{outcome, required};
pub use log::{Change, ChangeKind, Cursor, Gone};
pub use pods::{
    Budget, BudgetSpec, BudgetStatus, DeleteOptions, EvictionRefusal, GRACE_DEFAULT, MIRROR_ANNOTATION,
    Phase, Pod, PodDeletion, Selector, UnhealthyPods,
};
pub use rules::Invalid;
pub use seaworthy_api::object::Status;
pub use stored::Stored;

use dictionary::Dictionary;
use pods::PodStore;

/// Every kind that is watched, in the order of their tables. Events are stored as well, after them.
pub const KINDS: [Kind; Kind::READ.len()] = Kind::READ;

/// Why the API server did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 409: an object of this name exists.
    AlreadyExists,
    /// 404.
    NotFound,
    /// 409: uid or `resourceVersion` is not the present one.
    Conflict(&'static str),
    /// 422.
    Invalid(Invalid),
    /// 422: a `test` of a JSON patch does not hold.
    TestFailed,
}

/// What a write requires of the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// It is this incarnation.
    pub uid: Option<Uid>,
    /// It has this version.
    pub resource_version: Option<u64>,
}

impl Preconditions {
    /// Whether they hold for an object with this uid and version.
    fn judge(&self, uid: Option<Uid>, resource_version: Option<u64>) -> Result<(), Refusal> {
        if self.uid.is_some() && self.uid != uid {
            return Err(Refusal::Conflict("the uid in the precondition is not the object's"));
        }
        if self.resource_version.is_some() && self.resource_version != resource_version {
            return Err(Refusal::Conflict("the object has been modified"));
        }
        Ok(())
    }
}

/// A write that was accepted: what the object is now.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object; of one that is gone now, what it would be, under the version that it had.
    pub object: Arc<Stored>,
    /// What it was before.
    pub before: Option<Arc<Stored>>,
    /// Whether anything changed. What changed nothing was not committed and has no revision of its own.
    pub committed: bool,
    /// Whether the object is gone now.
    pub removed: bool,
}

/// The result of a write.
pub type WriteResult = Result<Written, Refusal>;

/// The API server and its store.
#[derive(Clone, Debug)]
pub struct ApiServer {
    revision: u64,
    created: u64,
    draws: Draws,
    collections: [Collection; Kind::ALL.len()],
    dictionary: Dictionary,
    /// By host: when the lease of its Node was renewed last.
    node_leases: Vec<Timestamp>,
    pods: PodStore,
}

impl ApiServer {
    /// An empty store.
    #[must_use]
    pub fn new(draws: Draws) -> Self {
        Self {
            revision: 1,
            created: 0,
            draws,
            collections: Default::default(),
            dictionary: Dictionary::default(),
            node_leases: Vec::new(),
            pods: PodStore::default(),
        }
    }

    /// The revision of the latest commit.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The objects of a kind, and the log of their changes.
    #[must_use]
    pub const fn collection(&self, kind: Kind) -> &Collection {
        &self.collections[kind.index()]
    }

    /// The same, ready for a list.
    pub(in crate::world) fn sorted(&mut self, kind: Kind) -> &Collection {
        self.collections[kind.index()].sort();
        self.collection(kind)
    }

    /// Compacts the whole history away: no watch can go on from before.
    pub fn compact(&mut self) {
        self.collections.iter_mut().for_each(Collection::compact);
    }

    /// The object of this name.
    #[must_use]
    pub fn get(&self, kind: Kind, name: &str) -> Option<&Arc<Stored>> {
        self.collection(kind).get(name)
    }

    /// Creates an object. A status in it is dropped for kinds that have it as a subresource.
    ///
    /// # Errors
    /// When the name is taken, or the object is not acceptable.
    pub fn create(&mut self, mut object: Resource, now: Timestamp) -> WriteResult {
        let kind = object.kind();
        if self.get(kind, &object.metadata().name).is_some() {
            return Err(Refusal::AlreadyExists);
        }
        rules::admit(None, &object).map_err(Refusal::Invalid)?;
        rules::drop_status(&mut object);
        self.created += 1;
        let high = self.draws.bits(word("uid"), self.created, 0);
        let low = self.draws.bits(word("uid"), self.created, 1);
        let metadata = object.metadata_mut();
        metadata.uid = Uid(u128::from(high) << 64 | u128::from(low)).into();
        metadata.generation = i64::from(rules::counts_generations(kind));
        metadata.creation_timestamp = Some(now.whole_seconds().into());
        metadata.deletion_timestamp = None;
        Ok(self.commit(None, object, now))
    }

    /// Changes an object by `change`, as an update of the object itself does: spec, labels, annotations and finalizers,
    /// but not the status.
    ///
    /// # Errors
    /// When it does not exist, the preconditions do not hold, or the result is not acceptable.
    pub fn update(
        &mut self,
        (kind, name): (Kind, &str),
        preconditions: Preconditions,
        now: Timestamp,
        change: impl FnOnce(&mut Resource),
    ) -> WriteResult {
        let before = self.require(kind, name, preconditions)?;
        let Some(object) = changed(&before.shown(), change)? else { return Ok(unchanged(before)) };
        if object.metadata().deletion_timestamp.is_some() && object.metadata().finalizers.is_empty() {
            return Ok(self.remove(before, object, now));
        }
        Ok(self.commit(Some(before), object, now))
    }

    /// Sets the object that the next request is most likely about.
    pub fn expect(&mut self, kind: Kind, place: u32) {
        self.collections[kind.index()].expect(place);
    }

    /// Replaces the status of an object, and nothing else.
    ///
    /// # Errors
    /// When it does not exist, has no such status, or the preconditions do not hold.
    pub fn update_status(
        &mut self,
        (kind, name): (Kind, &str),
        preconditions: Preconditions,
        now: Timestamp,
        status: Status,
    ) -> WriteResult {
        let before = self.require(kind, name, preconditions)?;
        let object = before.with_status(status, &mut self.dictionary).ok_or(Refusal::NotFound)?;
        if object.has_status_of(&before) {
            return Ok(unchanged(before));
        }
        Ok(self.commit_stored(Some(before), object, now))
    }

    /// Deletes an object, or marks it as being deleted while it has finalizers.
    ///
    /// # Errors
    /// When it does not exist, or the preconditions do not hold.
    pub fn delete(
        &mut self,
        (kind, name): (Kind, &str),
        preconditions: Preconditions,
        now: Timestamp,
    ) -> WriteResult {
        let before = self.require(kind, name, preconditions)?;
        let mut object = before.resource();
        let metadata = object.metadata_mut();
        if metadata.finalizers.is_empty() {
            return Ok(self.remove(before, object, now));
        }
        if metadata.deletion_timestamp.is_some() {
            return Ok(unchanged(before));
        }
        metadata.deletion_timestamp = Some(now.whole_seconds().into());
        if metadata.generation > 0 {
            metadata.generation += 1;
        }
        Ok(self.commit(Some(before), object, now))
    }

    fn require(&self, kind: Kind, name: &str, expected: Preconditions) -> Result<Arc<Stored>, Refusal> {
        let object = self.get(kind, name).ok_or(Refusal::NotFound)?;
        let present = object.preconditions();
        expected.judge(present.uid, present.resource_version)?;
        Ok(object.clone())
    }

    fn commit(&mut self, before: Option<Arc<Stored>>, object: Resource, now: Timestamp) -> Written {
        let mut object = Stored::keep(object, &mut self.dictionary);
        if let Some(before) = &before {
            object = object.sharing(before);
        }
        self.commit_stored(before, object, now)
    }

    fn commit_stored(&mut self, before: Option<Arc<Stored>>, mut object: Stored, now: Timestamp) -> Written {
        self.revision += 1;
        object.set_resource_version(self.revision);
        let collection = &mut self.collections[object.kind().index()];
        object.set_place(before.as_ref().map_or_else(|| collection.vacant_place(), |before| before.place()));
        let object = Arc::new(object);
        let kind = if before.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        let change = Change { revision: self.revision, at: now, kind, object: object.clone() };
        collection.put(change);
        Written { object, before, committed: true, removed: false }
    }

    /// Removes an object. As the real API server does, it tells watches the state that was stored last, under the version
    /// of the removal, and answers with the object that was asked for, under the version that it had.
    fn remove(&mut self, before: Arc<Stored>, object: Resource, now: Timestamp) -> Written {
        self.revision += 1;
        let mut last = Stored::clone(&before);
        last.set_resource_version(self.revision);
        let (revision, kind) = (self.revision, ChangeKind::Deleted);
        self.collections[object.kind().index()].remove(Change {
            revision,
            at: now,
            kind,
            object: Arc::new(last),
        });
        let object = Arc::new(Stored::keep(object, &mut self.dictionary));
        Written { object, before: Some(before), committed: true, removed: true }
    }
}

/// What an update makes of an object; `None` when it changes nothing.
fn changed(was: &Resource, change: impl FnOnce(&mut Resource)) -> Result<Option<Resource>, Refusal> {
    let mut object = was.clone();
    change(&mut object);
    rules::restore_status(&mut object, was);
    rules::restore_system_metadata(object.metadata_mut(), was.metadata());
    rules::admit(Some(was), &object).map_err(Refusal::Invalid)?;
    if object == *was {
        return Ok(None);
    }
    if rules::counts_generations(was.kind()) && !object.has_spec_of(was) {
        object.metadata_mut().generation += 1;
    }
    Ok(Some(object))
}

/// A write that changes nothing.
fn unchanged(before: Arc<Stored>) -> Written {
    Written { object: Arc::clone(&before), before: Some(before), committed: false, removed: false }
}

#[cfg(test)]
mod tests;
