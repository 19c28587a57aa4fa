//! The types that faults, plans, scenario files and the world share. They are plain data, without behaviour.

mod clock;
mod drift;
mod fate;
mod fleet;
mod found;
mod guise;
mod host_lie;
mod injection;
mod invariant;
mod kind;
mod name;
mod occasion;
mod place;
mod point;
mod quantity;
mod relabel;
mod scheduled;
mod scope;
mod skew;
mod step;
mod strike;
mod window;

pub use clock::{START, readable, since_start};
pub(crate) use drift::drift_words;
pub use fate::{
    HarmForm, LateHarm, OperationFate, OperationSite, OrderFate, Passage, Reply, RequestFate, SessionFate,
};
pub use fleet::{ApiServerVersion, Build, Fleet, Pods, Pool};
pub use found::FoundState;
pub use guise::Guise;
pub use host_lie::HostLie;
pub use injection::Injection;
pub use invariant::{Allowance, INVARIANTS};
pub use kind::{KindName, Reference};
pub use name::machine_name;
pub(crate) use name::{address, host_number, host_of_address, machine_number};
pub use occasion::Occasion;
pub use place::{Place, Writes};
pub(crate) use point::Point;
pub use point::{Author, Destination, Side, Verb};
pub use quantity::{Length, Portion, Range};
pub use relabel::Relabel;
pub use scheduled::Scheduled;
pub use scope::{RackName, Scope};
pub use skew::Skew;
pub use step::{Pace, Step};
pub use strike::{Drawn, End, Met, Strike, Timed};
pub use window::Window;
