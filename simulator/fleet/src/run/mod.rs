//! Runs: a world and its observers, and the results, twins, swarms, plans and explanations that are derived from it.

pub mod attempt;
pub mod beginning;
pub mod course;
pub mod enumeration;
pub mod explanation;
pub mod fingerprint;
pub mod gates;
mod label;
pub mod plan;
pub mod shrink;
pub mod swarm;
pub mod twin;
