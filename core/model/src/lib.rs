//! The vocabulary of Seaworthy: every type that crosses the boundary of the core.
//!
//! ```text
//!            Event                        Turn { actions, report, wake }
//!  drivers ----------->  Engine  --------------------------------------->  drivers
//! ```
//!
//! Everything here is plain data: `Clone + Debug + Eq + Serialize + Deserialize`. No type holds a channel, a
//! closure, a handle or an open document, so whatever crosses the boundary can be logged, compared, stored and
//! replayed.
#![no_std]

extern crate alloc;

pub mod attributes;
pub mod bounded;
pub mod calendar;
pub mod cause;
pub mod certificate;
pub mod component;
pub mod component_set;
pub mod config;
pub mod connection;
pub mod detail;
pub mod digest;
pub mod draw;
pub mod effect;
pub mod event;
pub mod gate_check;
pub mod host;
pub mod host_order;
pub mod host_path;
pub mod id;
pub mod invocation;
pub mod labels;
pub mod lease;
pub mod machine;
pub mod meta;
pub mod node;
pub mod package_version;
pub mod pod;
pub mod policy;
pub mod quantity;
pub mod removal;
pub mod report;
pub mod requirement;
pub mod selector;
pub mod strategy;
pub mod time;
