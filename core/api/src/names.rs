//! The table of interned names: which id stands for which name, in both directions.
//!
//! The driver owns one. Parsing interns names as it meets them; before it hands the parsed object to the engine, the
//! driver delivers what [`Names::take_new`] returns, so an id is always announced before its first use.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use seaworthy_model::event::{Event, Observation};
use seaworthy_model::id::{ComponentId, Interned, MachineId, Named, NamedId, StoreId, VersionId};
use seaworthy_model::labels::Labels;
use seaworthy_model::machine::{ComponentStatus, Login};

use crate::render::recent::RecentlyWritten;
use crate::shared::{ConditionSets, Lists, Recent, Ring, Texts};
use crate::v1alpha1;

/// The most names that one host may bring which no object has: several times what it may report at once. A host whose
/// versions were all deleted meanwhile brings as many as it has components.
const OF_HOST_MAX: usize = 2_048;

/// The most such names of all hosts together: some 100 MB.
const OF_HOSTS_MAX: usize = 1 << 18;

/// Interned names of the home store.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// By [`Interned::TABLE`].
    tables: [Table; NamedId::TABLES],
    new: Vec<Named>,
    scratch: String,
    /// By machine: how many names only its host has brought. Names are never forgotten, so they are counted for ever.
    of_hosts: BTreeMap<MachineId, usize>,
    /// How many that are in all.
    of_all_hosts: usize,
    /// The machine that is most likely read next.
    expected: Option<MachineId>,
    /// What the last lists of components meant that were read with these names.
    pub(crate) component_lists: Recent<[v1alpha1::ComponentStatus], [ComponentStatus]>,
    /// What the last lists of components were written as with these names.
    pub(crate) lists_written: RecentlyWritten,
    /// What machines have in common besides names.
    pub(crate) texts: Texts,
    /// Their labels: machines that are used alike are labelled alike.
    pub(crate) label_sets: Ring<Labels>,
    /// Their finalizers: mostly ours alone.
    pub(crate) finalizers: Ring<Arc<Vec<String>>>,
    /// Their lists of components.
    pub(crate) lists: Lists<ComponentStatus>,
    /// Their logins.
    pub(crate) logins: Ring<Arc<Login>>,
    /// Their conditions.
    pub(crate) conditions: ConditionSets,
}

#[derive(Clone, Debug, Default)]
struct Table {
    names: Vec<Arc<str>>,
    /// Each id with half the hash of its name: the names of a large fleet then stay near.
    ids: HashTable<(u32, u32)>,
}

impl Table {
    fn find(&self, name: &str) -> Option<u32> {
        let found = self.ids.find(spread(hash(name)), |(id, _)| self.name(*id as usize) == Some(name));
        found.map(|(id, _)| *id)
    }

    /// The same for a name that is most likely the one kept here: then its text need not be compared.
    fn find_shared(&self, name: &Arc<str>) -> Option<u32> {
        let is_it = |(id, _): &(u32, u32)| {
            self.names.get(*id as usize).is_some_and(|kept| Arc::ptr_eq(kept, name) || kept == name)
        };
        self.ids.find(spread(hash(name)), is_it).map(|(id, _)| *id)
    }

    /// Whether this very text is kept as the name of `index`. If not, it may still be equal.
    fn is_shared(&self, index: usize, name: &Arc<str>) -> bool {
        self.names.get(index).is_some_and(|kept| Arc::ptr_eq(kept, name))
    }

    /// The id of `name`, and the name if it is new.
    fn intern<N: AsRef<str> + Into<Arc<str>>>(&mut self, name: N) -> (u32, Option<Arc<str>>) {
        if let Some(id) = self.find(name.as_ref()) {
            return (id, None);
        }
        // 2^32 names do not fit into memory, so the number never reaches the limit.
        let id = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name: Arc<str> = name.into();
        let hashed = hash(&name);
        self.ids.insert_unique(spread(hashed), (id, hashed), |(_, hashed)| spread(*hashed));
        self.names.push(Arc::clone(&name));
        (id, Some(name))
    }

    fn name(&self, index: usize) -> Option<&str> {
        self.names.get(index).map(AsRef::as_ref)
    }
}

fn hash(name: &str) -> u32 {
    let hashed = FxBuildHasher.hash_one(name);
    (hashed >> 32) as u32 ^ hashed as u32
}

/// The table looks at the first bits of a hash, and at the last.
const fn spread(hashed: u32) -> u64 {
    (hashed as u64) << 32 | hashed as u64
}

impl Names {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many subjects were ever named.
    #[must_use]
    pub fn subjects(&self) -> usize {
        let all: usize = self.tables.iter().map(|table| table.names.len()).sum();
        all - self.table::<ComponentId>().names.len()
    }

    /// Whether the host of a machine may bring so many names that no object has. They count from now on if it may.
    pub(crate) fn admit_of_host(&mut self, machine: MachineId, count: usize) -> bool {
        if count == 0 {
            return true;
        }
        let brought = self.of_hosts.get(&machine).copied().unwrap_or_default() + count;
        let in_all = self.of_all_hosts + count;
        if brought > OF_HOST_MAX || in_all > OF_HOSTS_MAX {
            return false;
        }
        self.of_hosts.insert(machine, brought);
        self.of_all_hosts = in_all;
        true
    }

    const fn table<I: Interned>(&self) -> &Table {
        &self.tables[I::TABLE]
    }

    /// The id of a name.
    pub fn id<I: Interned>(&mut self, name: &str) -> I {
        let (id, new) = self.tables[I::TABLE].intern(name);
        self.note(I::numbered(id), new)
    }

    /// The id of a name, if it has one. Interns nothing.
    #[must_use]
    pub fn find<I: Interned>(&self, name: &str) -> Option<I> {
        self.table::<I>().find(name).map(I::numbered)
    }

    /// The name of an id.
    ///
    /// # Errors
    /// When the id was never given out here.
    pub fn name(&self, id: NamedId) -> Result<&str, UnknownId> {
        let (table, index) = id.place();
        self.tables[table].name(index).ok_or(UnknownId(id))
    }

    fn note<I: Interned>(&mut self, id: I, new: Option<Arc<str>>) -> I {
        self.new.extend(new.map(|name| Named { id: id.named(), name }));
        id
    }

    /// The id of the machine `name`.
    pub fn machine(&mut self, name: &str) -> MachineId {
        self.id(name)
    }

    /// Says which machine is most likely read next: its name is looked at first.
    pub const fn expect_machine(&mut self, id: MachineId) {
        self.expected = Some(id);
    }

    /// The same as [`Self::machine`], and a new name is shared with the object that has it.
    pub fn machine_of(&mut self, name: &Arc<str>) -> MachineId {
        if let Some(id) = self.expected
            && self.table::<MachineId>().is_shared(id.index(), name)
        {
            return id;
        }
        let machines = &mut self.tables[MachineId::TABLE];
        let found = machines.find_shared(name).map(|id| (id, None));
        let (id, new) = found.unwrap_or_else(|| machines.intern(Arc::clone(name)));
        self.note(MachineId(id), new)
    }

    /// The id of the component `name`.
    pub fn component(&mut self, name: &str) -> ComponentId {
        self.id(name)
    }

    /// The id of the `MachineComponent` object `name`, which is `<component>-<version>`.
    pub fn version_object(&mut self, name: &str) -> VersionId {
        self.id(name)
    }

    /// The id of `version` of `component`.
    pub fn version(&mut self, component: &str, version: &str) -> VersionId {
        let mut name = std::mem::take(&mut self.scratch);
        name.clear();
        let written = write!(name, "{component}-{version}");
        debug_assert!(written.is_ok(), "a string takes every write");
        let id = self.version_object(&name);
        self.scratch = name;
        id
    }

    /// What was interned since the last call, in that order: to be delivered before anything that uses it.
    #[must_use]
    pub fn take_new(&mut self) -> Vec<Named> {
        std::mem::take(&mut self.new)
    }

    /// [`take_new`](Self::take_new) as events.
    pub fn announce(&mut self) -> impl Iterator<Item = Event> {
        self.new.drain(..).map(|named| Event::Observed(StoreId::HOME, Observation::Named(named)))
    }

    /// The id of the machine `name`, if it has one. Interns nothing.
    #[must_use]
    pub fn find_machine(&self, name: &str) -> Option<MachineId> {
        self.find(name)
    }

    /// The id of the `MachineComponent` object `name`, if it has one. Interns nothing.
    #[must_use]
    pub fn find_version(&self, name: &str) -> Option<VersionId> {
        self.find(name)
    }

    /// The same as [`Self::find_machine`] for a name that is most likely this machine's.
    #[must_use]
    pub fn find_machine_near(&self, id: MachineId, name: &Arc<str>) -> Option<MachineId> {
        if self.table::<MachineId>().is_shared(id.index(), name) { Some(id) } else { self.find_machine(name) }
    }

    /// The name of a machine.
    ///
    /// # Errors
    /// When the id was never given out here.
    pub fn machine_name(&self, id: MachineId) -> Result<&str, UnknownId> {
        self.name(id.named())
    }

    /// Prefetches a machine's name. The result means nothing.
    #[must_use]
    pub fn warm_machine(&self, id: MachineId) -> usize {
        self.table::<MachineId>().names.get(id.index()).map_or(0, Arc::strong_count)
    }

    /// The name of a component.
    ///
    /// # Errors
    /// When the id was never given out here.
    pub fn component_name(&self, id: ComponentId) -> Result<&str, UnknownId> {
        self.name(id.named())
    }

    /// The name of a `MachineComponent` object.
    ///
    /// # Errors
    /// When the id was never given out here.
    pub fn version_object_name(&self, id: VersionId) -> Result<&str, UnknownId> {
        self.name(id.named())
    }

    /// The version as its author spells it: the name of the object without `<component>-`.
    ///
    /// # Errors
    /// When one of the ids was never given out here, or when it is not a version of that component.
    pub fn version_text(&self, component: ComponentId, id: VersionId) -> Result<&str, UnknownId> {
        let component = self.component_name(component)?;
        self.version_object_name(id)?
            .strip_prefix(component)
            .and_then(|rest| rest.strip_prefix('-'))
            .ok_or(UnknownId(NamedId::Version(id)))
    }
}

/// An id that stands for nothing: it does not come from this table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("id {0:?} stands for no name known here")]
pub struct UnknownId(pub NamedId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_announced_once_and_before_use() {
        let mut names = Names::new();
        let webd = names.component("webd");
        let version = names.version("webd", "1.0.0");
        assert_eq!(names.version_object("webd-1.0.0"), version);
        assert_eq!(names.component("webd"), webd);
        let announced: Vec<_> = names.take_new().into_iter().map(|named| (named.id, named.name)).collect();
        let expected = [
            (NamedId::Component(webd), Arc::from("webd")),
            (NamedId::Version(version), Arc::from("webd-1.0.0")),
        ];
        assert_eq!(announced, expected);
        assert_eq!(names.take_new(), []);
    }

    #[test]
    fn one_host_uses_up_its_own_names_only_and_all_of_them_have_an_end() {
        let mut names = Names::new();
        let (liar, other) = (MachineId(0), MachineId(1));
        assert!(names.admit_of_host(liar, OF_HOST_MAX) && !names.admit_of_host(liar, 1));
        assert!(names.admit_of_host(liar, 0), "what it brings is known");
        assert!(names.admit_of_host(other, 1));
        let many = (2..).take_while(|id| names.admit_of_host(MachineId(*id), OF_HOST_MAX)).count();
        assert_eq!(many + 1, OF_HOSTS_MAX / OF_HOST_MAX - 1);
        assert!(!names.admit_of_host(MachineId(u32::MAX), OF_HOST_MAX));
    }

    #[test]
    fn names_come_back() {
        let mut names = Names::new();
        let machine = names.machine("m-0");
        let (a, ab) = (names.component("a"), names.component("a-b"));
        let version = names.version("a", "b-1");
        assert_eq!(names.machine_name(machine), Ok("m-0"));
        assert_eq!(names.find_machine("m-0"), Some(machine));
        assert_eq!(names.find_machine("m-1"), None);
        assert_eq!(names.version_text(a, version), Ok("b-1"));
        assert_eq!(names.version_text(ab, version), Ok("1"), "one object name may be read in two ways");
        let other = names.component("other");
        assert_eq!(names.version_text(other, version), Err(UnknownId(NamedId::Version(version))));
        assert_eq!(names.machine_name(MachineId(7)), Err(UnknownId(NamedId::Machine(MachineId(7)))));
    }
}
