//! Runs: a world, its observers, and what is made of them: results, twins, swarms, plans and explanations.

pub mod attempt;
pub mod beginning;
pub mod course;
pub mod enumeration;
pub mod explanation;
pub mod fingerprint;
mod label;
pub mod plan;
pub mod shrink;
pub mod swarm;
pub mod twin;
