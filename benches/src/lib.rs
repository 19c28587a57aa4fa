//! Fleets for benchmarks, and a world in which everything works at once.
//!
//! [`Fleet`] answers every action without delay, loss or conflict, so that the benchmarks measure the engine alone. It is a
//! driver as `core/README.md` describes it. Faults belong to the simulator.

mod case;
mod fleet;
mod host;
mod objects;
mod simulation;

pub use case::{Case, Judged, judge};
pub use fleet::{Fleet, SIZES};
pub use simulation::{scenario, simulate};
