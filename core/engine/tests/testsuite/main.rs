//! What the engine decides, as one program: linking forty takes longer than running all of them.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod fixture;

mod admission;
mod attributes;
mod audits;
mod canaries;
mod catch_up;
mod confirm;
mod confirmation;
mod contested;
mod disruption;
mod drain;
mod election;
mod failures;
mod gate_checks;
mod gate_restarts;
mod gates;
mod grants;
mod identity;
mod last_node;
mod leaving;
mod limits;
mod marks;
mod mistakes;
mod newcomers;
mod next_in_line;
mod on_leave;
mod order;
mod pause;
mod policies;
mod precedence;
mod properties;
mod regressions;
mod resolution;
mod samples;
mod sets;
mod shared_drain;
mod skew;
mod stores;
mod suspects;
mod turns;
mod version_status;
mod versions;
mod witnesses;
mod writes;
