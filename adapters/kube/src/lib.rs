//! Kubernetes: watches to observations, effects to fenced writes. Decides nothing, and keeps no objects.
//!
//! ```text
//!   API server --list, watch--> Watches --Update--> Projection --Observation--> engine
//!   API server --version----> Watches --ApiServers----------------------------> engine
//!   API server <--one request-- write <-- Request <-- Action -------------------- engine
//! ```
//!
//! Only watches retry by themselves: whether a write is sent again is the engine's decision.

mod api;
mod cluster;
mod collection;
mod connect;
mod encoding;
mod failure;
mod gate_checks;
mod page;
mod pods;
mod projection;
mod protobuf;
mod request;
mod rights;
mod secret;
mod source;
mod terminal;
mod update;
mod version;
mod watch;
mod watches;
mod write;

pub use api::{Api, Tally};
pub use cluster::cluster_id;
pub use connect::{ConnectError, Connector, connect};
pub use failure::Failure;
pub use projection::Projection;
pub use secret::{SecretError, Secrets};
pub use source::Source;
pub use terminal::Terminal;
pub use update::{Change, Update};
pub use watches::Watches;
pub use write::write;
