//! The simulated fleet: an API server, hosts, kubelets, operator processes around the real engine, people, and all that
//! may go wrong.
//!
//! ```text
//!   people ---> [ API server ] <--- requests --- [ operator: the real engine ] --- orders ---> [ hosts ]
//!                     |  log                              ^                                       |
//!                     +------- watches that lag ----------+          kubelets, leases <-----------+
//!
//!   faults strike at times of their own and at every arrow; the oracle sees the truth and judges it
//! ```
//!
//! One event queue, no thread, no clock: a run is a function of scenario and seed.

pub mod faults;
pub mod history;
pub mod oracle;
pub mod plan;
pub mod scenario;
pub mod shrink;
pub mod swarm;
pub mod vocabulary;
pub mod workloads;
pub mod world;

pub mod enumeration;
pub mod explanation;

mod attempt;
mod contents;
mod fingerprint;
mod options;
mod run;
mod tally;
mod twin;

pub use attempt::{Attempt, Failure, attempt, attempt_recorded};
pub use contents::Contents;
pub use fingerprint::{Difference, Fingerprint, differences, logged};
pub use options::{Heartbeats, Options};
pub use plan::ResolvedPlan;
pub use run::{Breach, Budget, Progress, Summary, conclude, conclude_recorded, run, run_recorded};
pub use scenario::{Scenario, ScenarioError};
pub use twin::{attempt_with_twin, compare_with_twin};
