//! The program that works on a host: it applies one operation at a time, and reports facts.
//!
//! ```text
//! /opt/seaworthy/                                the root
//!   releases/<component>/<version>-<id>.<n>/     complete releases, never changed once they are there
//!   manifests/<component>/<same name>.json       the contents of each; written before the release appears
//!   current/<component>  -> ../releases/...      the one link that a change swaps
//!   previous/<component> -> ../releases/...      the release before it, kept: going back needs no download
//!   staging/<operation>/                         a release that is being made
//!   artefacts/<sha256>                           an artefact that was fetched before an operation needs it
//!   state/memory.json                            owner and fences
//!   state/operations/<operation>.{json,journal}  the order, and a line for each step; `.damaged`: a journal put aside
//!   state/identity.{json,journal}                the key that waits for a certificate, and the history of keys
//!   state/people.journal                         what people have made the host forget
//! /etc/systemd/system/<unit> -> /opt/seaworthy/current/<component>/.seaworthy/<unit>
//! ```
//!
//! Invariants:
//! - `current/<component>` leads to a complete release, or does not exist. At no instant, also after a power cut, is it
//!   anything in between.
//! - An accepted operation ends, done or undone, however often its execution is killed. `execution` has the rules.
//! - A file that is not ours is never changed or removed, except for the paths that a component lists in its `removal`.
//! - A component keeps to its own place: `seaworthy_model::host_path` says where it may have links, directories that are
//!   deleted with it, and the node's identity. The place that a path really leads to is judged. Two components that claim the
//!   same unit, link or directory are refused, with both names.
//! - A release is as it was made: a changed file, owner or mode, and a file that somebody has put there, are drift. A program
//!   must not write into its release.
//! - Damage to a file of its own never keeps the host from being managed: what cannot be read counts as lost, and the next
//!   order puts it right. Only when it is unknown who owns the host, a person has to say so.
//! - No input is trusted: names, paths, archives, templates and lengths are validated before they are used.

mod archive;
mod artefacts;
mod claims;
mod clearing;
mod difference;
mod digest;
mod disk;
mod execution;
mod facts;
mod failure;
mod fetch;
mod identity;
mod invocation;
pub mod journal;
mod keys;
mod layout;
mod links;
mod lock;
mod manifest;
pub mod memory;
mod operations;
mod orders;
mod people;
mod place;
mod process;
mod resume;
mod site;
mod stage;
mod steps;
mod system;
mod systemd;
pub mod template;
mod tree;
mod validation;
mod verify;

pub use layout::{Layout, ROOT};
pub use orders::Host;
pub use site::Site;
pub use steps::{Steps, Unobserved};
pub use system::{System, UnitState, UnitStatus};
pub use systemd::Systemd;
