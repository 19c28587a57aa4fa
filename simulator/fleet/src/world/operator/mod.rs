//! Operators at work: their processes start, decide, send orders, receive what they watch, and end.

mod answers;
mod delivery;
mod dispatch;
mod driver;
mod pause;
mod renewal;
mod replacement;
mod versions;
