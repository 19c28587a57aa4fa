//! A program that is run on a host.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// A program that is run on the host, without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    /// The program (absolute, or relative to the release) and its arguments. It succeeds with exit code 0.
    pub command: Vec<String>,
    /// Seconds after which it is killed, with all that it started, at least 1.
    pub timeout_seconds: u32,
}
