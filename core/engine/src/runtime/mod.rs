//! What every controller needs, whatever its domain: queue, timers, drafts, actions in flight.

pub(crate) mod by_subject;
pub(crate) mod draft;
pub(crate) mod line;
pub(crate) mod queue;
pub(crate) mod retry;
pub(crate) mod timers;
pub(crate) mod tracked;
pub(crate) mod under_way;
