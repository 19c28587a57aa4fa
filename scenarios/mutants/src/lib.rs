//! Mistakes that tests build into a copy of the engine, to prove that the checks, the simulator and the tests notice them.
//! The engine itself has no switch for them. Every YAML file beside this crate's sources is a mutant:
//!
//! ```yaml
//! breaks: A batch is one machine larger than the free slots.
//! edits:
//!   - file: core/engine/src/budget.rs
//!     find: |
//!       if count >= room && last
//!     replace: |
//!       if count > room && last
//! ```
//!
//! `tidy` holds that each `find` matches at exactly one place, so a mutant cannot be forgotten when the code changes.

mod built_in;
pub mod mutant;
pub mod rust;
pub mod splice;
pub mod switch;
pub mod tree;

pub use built_in::NAMES;
pub use mutant::{Edit, Mutant};
pub use switch::{is, with};
pub use tree::Tree;
