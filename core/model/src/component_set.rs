//! `MachineComponentSet`: the versions of some components on the machines that it selects, instead of the fleet's defaults.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::MachineId;
use crate::machine::ComponentSetting;
use crate::package_version::OwnerObject;
use crate::selector::Selector;
use crate::strategy::Strategy;

/// A `MachineComponentSet` as the API server holds it: it rolls out what it says as the fleet's defaults are.
pub type SetObject = OwnerObject<SetSpec>;

/// The desired state of the machines of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetSpec {
    /// The machines of the set.
    pub selector: Selector,
    /// Of two sets that select a machine and mention a component, the one with the higher priority decides; of equal ones
    /// that whose name comes first in the alphabet.
    pub priority: i32,
    /// What its machines have of each component. Of a component that is not mentioned, they have what the fleet's defaults
    /// say.
    pub components: Vec<ComponentSetting>,
    /// What becomes of these components on a machine that leaves the set, if nobody else says anything of them.
    pub on_leave: OnLeave,
    /// While it is set, nothing is changed on its machines for the sake of the set.
    pub paused: bool,
    /// How rollouts go through their batches.
    pub strategy: Strategy,
    /// That it is a `CanaryRelease`, and of which of the machines that the selector names.
    pub canary: Option<Canary>,
}

/// What becomes of the components of a set on a machine that leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OnLeave {
    /// They stay as they are.
    #[default]
    Keep,
    /// They are removed.
    Remove,
}

/// What a `CanaryRelease` says beyond a set. Its machines are recorded once, and stay the same whatever labels they get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// Which of the machines.
    pub pick: Pick,
    /// A person has aborted it: its machines follow the sets and the fleet's defaults again.
    pub aborted: bool,
}

/// Which machines a `CanaryRelease` picks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pick {
    /// So many of those that the selector names, of each combination of the values of the labels.
    Count {
        /// How many.
        count: u32,
        /// The keys of the labels; none means so many of all machines.
        per: Vec<Arc<str>>,
    },
    /// These.
    Machines(Vec<MachineId>),
}

impl Pick {
    /// How many machines a `CanaryRelease` may have. Each one has a line in its status.
    pub const MAX: usize = 100;
}

/// A machine that a `CanaryRelease` has picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picked {
    /// The machine.
    pub machine: MachineId,
    /// What became of it.
    pub result: PickResult,
}

/// What became of a machine that a `CanaryRelease` has picked, over all its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PickResult {
    /// It has every version.
    Updated,
    /// It has not had its turn yet.
    Waiting,
    /// It cannot be worked on: it does not answer, is paused, or is gone.
    Unavailable,
    /// It is being changed.
    Updating,
    /// A version failed there.
    Failed,
}

impl PickResult {
    /// Every result.
    pub const ALL: [Self; 5] =
        [Self::Updated, Self::Waiting, Self::Unavailable, Self::Updating, Self::Failed];
}
