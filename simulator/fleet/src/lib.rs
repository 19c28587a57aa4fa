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
//!
//! | folder, from bottom to top | what |
//! |---|---|
//! | `vocabulary` | the words that all others share: plain data, and nothing that acts |
//! | `faults`, `workloads` | what goes wrong and who else acts, as data with hooks; they know no world |
//! | `scenario` | the format of scenario files |
//! | `world` | API server, hosts, operators, people. It tells an observer what happens, and knows none |
//! | `observers` | those who look on: oracle, history, tally, record. They change nothing |
//! | `run` | puts them together: runs, twins, swarms, plans, explanations |
//!
//! None imports from one above it; `tidy` checks that (`core/check/tests/tidy/storeys.rs`).

pub mod faults;
pub mod observers;
pub mod run;
pub mod scenario;
pub mod vocabulary;
pub mod workloads;
pub mod world;

mod options;

pub use observers::contents::Contents;
pub use observers::{history, oracle};
pub use options::{Heartbeats, Options};
pub use run::attempt::{Attempt, Failure, attempt, attempt_recorded};
pub use run::beginning::{begin, begin_noted};
pub use run::course::{Breach, Budget, Progress, Summary, conclude, conclude_recorded, run, run_recorded};
pub use run::fingerprint::{Difference, Fingerprint, differences, logged, logged_of};
pub use run::plan::ResolvedPlan;
pub use run::twin::{attempt_with_twin, compare_with_twin};
pub use run::{enumeration, explanation, gates, plan, shrink, swarm};
pub use scenario::{Scenario, ScenarioError};
