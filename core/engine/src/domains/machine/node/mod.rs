//! A machine's Node: what is ours among its labels and taints, and the drain before work that pods would not outlive.

mod attributes;
mod drain;
pub(crate) mod plan;
pub(crate) mod write;
