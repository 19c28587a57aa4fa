//! What any deterministic simulation needs: a clock, an event queue with a total order, keyed draws and a trace hash. It
//! knows nothing of Kubernetes, hosts or faults.
//!
//! Same seed, same events, same hash: nothing here reads a clock, an address, or the order of a hash table.

mod draw;
mod queue;
mod trace;

pub use draw::{Draws, Share, Span};
pub use queue::{Priority, Queue};
pub use seaworthy_model::draw::{Seed, word};
pub use seaworthy_model::time::Timestamp;
pub use trace::TraceHash;
