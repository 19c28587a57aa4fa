//! Observers of a running world: they judge, record and count, and change nothing.

pub mod contents;
pub mod history;
pub mod oracle;
pub mod record;
mod set;
pub mod tally;

pub(crate) use set::Observers;
