//! The exit of a command that failed.

use std::process::ExitCode;

/// The scenario could not be run.
const CANNOT_RUN: u8 = 2;

/// Reports why a command failed.
pub(super) fn cannot_run(problem: &str) -> ExitCode {
    eprintln!("error: {problem}");
    ExitCode::from(CANNOT_RUN)
}
