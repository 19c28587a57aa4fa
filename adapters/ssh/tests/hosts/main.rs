//! The transport against hosts in this process: a real SSH server in front of a real shell, or of a script where a
//! host has to misbehave. Where something waits, time is paused and the wire is in memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod delivery;
mod fake_host;
mod login;
mod loss;
mod order;
mod pool;
mod setting;
mod shell;
