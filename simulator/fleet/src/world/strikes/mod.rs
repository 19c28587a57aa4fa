//! How faults strike a world: at points that it reaches, and at times of their own.

mod disturbances;
mod encounter;
mod injection;
mod schedule;

pub(in crate::world) use encounter::Encounter;
