//! What the host program does, as one program: linking twelve takes longer than running most of them.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]
#![allow(unreachable_pub, reason = "`world` is shared by tests that are crates of their own")]

mod adoption;
mod attacks;
mod confirmation;
mod damage;
mod durable;
mod fetching;
mod hostile;
mod identity;
mod orders;
mod program;
mod reload;
#[path = "../world/mod.rs"]
mod world;
