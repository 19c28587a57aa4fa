//! What is built in. A mutated copy of the workspace has another list in this place.

/// The names of the mutants that are built in: none but in a mutated copy.
pub const NAMES: &[&str] = &[];
