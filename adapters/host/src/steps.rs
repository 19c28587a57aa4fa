//! The points at which a host may lose power: every change that the program makes to the disk, or orders from systemd, is
//! a step. Tests stop the program after each of them.

/// Is called after each step.
pub trait Steps {
    /// `step` was just done. Its name says what and, for people, where.
    fn reached(&self, step: &str);

    /// A line was added to the journal of an operation.
    fn recorded(&self, _line: &str) {}
}

/// Ignores all steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Steps for Unobserved {
    fn reached(&self, _step: &str) {}
}
