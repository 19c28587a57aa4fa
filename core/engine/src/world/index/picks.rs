//! Which machines a canary picks.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::component_set::{Pick, SetSpec};
use seaworthy_model::id::{CanaryId, MachineId, Uid};

use crate::rows::machine::Machine;
use crate::rows::rank::RankKey;
use crate::rows::set::Owner;
use crate::world::World;

/// What a canary picks, as things are now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The machines, sorted by name.
    pub machines: Vec<MachineId>,
    /// Whether others would do as well. Then the uid of the canary decides which are picked.
    pub is_drawn: bool,
}

/// Why a canary that picks a number of machines passes one over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassedOver {
    /// It is being deleted.
    Terminating,
    /// Its spec is not acceptable.
    InvalidSpec,
    /// It pins one of the components.
    Pinned,
    /// It is in another canary.
    InCanary,
    /// A person has paused it.
    Paused,
    /// Its host does not answer.
    Unreachable,
    /// Its Node has not been ready for long, or it is none yet.
    OutOfService,
    /// It lacks one of the labels by whose values machines are picked.
    Unlabelled,
}

impl World {
    /// What a canary without a record picks, as things are now: nothing if its spec is not acceptable. The same machines are
    /// picked again as long as the uids are the same.
    #[must_use]
    pub fn choice(&self, id: CanaryId) -> Choice {
        let object = self.set(Owner::Canary(id)).and_then(|set| Some((set.object()?.meta.uid, set.spec()?)));
        let Some((uid, spec)) = object else { return Choice::default() };
        let mut choice = match spec.canary.as_ref().map(|canary| &canary.pick) {
            Some(Pick::Machines(machines)) => Choice { machines: machines.clone(), is_drawn: false },
            Some(Pick::Count { count, per }) => {
                let mut groups: BTreeMap<Vec<Option<&str>>, Vec<(u32, MachineId)>> = BTreeMap::new();
                for (id, rank) in self.candidates(spec, uid) {
                    let labels = self.machine(id).object.as_ref().map(|object| &object.labels);
                    let value = |key: &Arc<str>| labels.and_then(|labels| labels.get(key)).map(AsRef::as_ref);
                    groups.entry(per.iter().map(value).collect()).or_default().push((rank, id));
                }
                drawn(groups.into_values(), *count as usize)
            }
            None => Choice::default(),
        };
        choice.machines.sort_by(|one, other| self.machine_name(*one).cmp(self.machine_name(*other)));
        choice.machines.dedup();
        choice
    }

    /// Why a canary that picks a number of machines does not pick this one: it cannot be worked on, or something else decides
    /// about it. `None` if it may be picked.
    #[must_use]
    pub fn passed_over(&self, spec: &SetSpec, machine: &Machine) -> Option<PassedOver> {
        let meta = machine.object.as_ref().map(|object| &object.meta);
        if meta.is_none_or(|meta| meta.is_terminating()) {
            return Some(PassedOver::Terminating);
        }
        let Some(own) = machine.spec() else { return Some(PassedOver::InvalidSpec) };
        let is_pinned = |component| own.pins.iter().any(|pin| pin.component == component);
        let reasons = [
            (PassedOver::Pinned, spec.components.iter().any(|setting| is_pinned(setting.component))),
            (PassedOver::InCanary, self.is_in_canary(machine)),
            (PassedOver::Paused, machine.is_paused()),
            (PassedOver::Unreachable, machine.is_unreachable()),
            (PassedOver::OutOfService, machine.is_out_of_service()),
            (PassedOver::Unlabelled, !has_labels(spec, machine)),
        ];
        reasons.into_iter().find_map(|(reason, holds)| holds.then_some(reason))
    }

    /// The machines that it may pick, with their ranks.
    fn candidates(&self, spec: &SetSpec, uid: Uid) -> impl Iterator<Item = (MachineId, u32)> {
        let key = RankKey::new(uid, 0, "");
        let may = move |machine: &Machine| {
            let object = machine.object.as_ref()?;
            let is_free = spec.selector.matches(&object.labels) && self.passed_over(spec, machine).is_none();
            is_free.then(|| key.rank(object.meta.uid))
        };
        self.machines().filter_map(move |(id, machine)| Some((id, may(machine)?)))
    }

    fn is_in_canary(&self, machine: &Machine) -> bool {
        self.owners_of(machine).iter().any(|owner| matches!(owner, Owner::Canary(_)))
    }
}

/// Whether a machine has every label by whose values machines are picked.
fn has_labels(spec: &SetSpec, machine: &Machine) -> bool {
    let pick = spec.canary.as_ref().map(|canary| &canary.pick);
    let Some(Pick::Count { per, .. }) = pick else { return true };
    let labels = machine.object.as_ref().map(|object| &object.labels);
    labels.is_some_and(|labels| per.iter().all(|key| labels.get(key).is_some()))
}

/// The first so many of each group, by their ranks.
fn drawn(groups: impl Iterator<Item = Vec<(u32, MachineId)>>, count: usize) -> Choice {
    let (mut chosen, mut is_drawn) = (Vec::new(), false);
    for mut group in groups {
        group.sort_unstable();
        is_drawn |= group.len() > count;
        chosen.extend(group.into_iter().take(count));
    }
    is_drawn |= chosen.len() > Pick::MAX;
    chosen.sort_unstable();
    chosen.truncate(Pick::MAX);
    Choice { machines: chosen.into_iter().map(|(_, id)| id).collect(), is_drawn }
}
