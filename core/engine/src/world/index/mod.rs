//! What follows from the rows: counted, indexed or computed, and kept up to date as rows change.

pub(crate) mod confirmation;
pub(crate) mod disruption;
mod leaving;
pub(crate) mod limits;
mod mistakes;
pub(crate) mod nodes;
pub(crate) mod owners;
pub(crate) mod picks;
pub(crate) mod policies;
mod recent;
pub(crate) mod releases;
pub(crate) mod resolution;
pub(crate) mod rollouts;
pub(crate) mod sampling;
mod sharing;
pub(crate) mod skew;
mod standing;
pub(crate) mod users;
pub(crate) mod witnesses;
pub(crate) mod workloads;
