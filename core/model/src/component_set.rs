//! `MachineComponentSet`: the versions of some components on the machines that it selects, instead of the fleet's defaults.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

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
    /// While it is set, nothing is changed on its machines for the sake of the set.
    pub paused: bool,
    /// How rollouts go through their batches.
    pub strategy: Strategy,
}
