//! How a command ends that could not do what it was asked for.

use std::process::ExitCode;

/// The scenario could not be run.
const CANNOT_RUN: u8 = 2;

/// Says why a command could not do what it was asked for.
pub(super) fn cannot_run(problem: &str) -> ExitCode {
    eprintln!("error: {problem}");
    ExitCode::from(CANNOT_RUN)
}
