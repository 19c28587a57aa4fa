//! SSH: delivers the host program to hosts, hands it orders, and reports exactly what went wrong when it cannot.
//!
//! ```text
//!  order --> hosts --> pool: the host's lane, a kept session -----------------------------------------> exec --> reply
//!                        \-- session: connect, host key, login --> opening: is the program there, whole? --/
//!                                                                     \-- no: delivery, step by step --/
//! ```
//!
//! What never happens: a host whose key is not accepted gets no login and no byte of an order; a program whose
//! digest was not verified in the same session is not called; a lost reply is never taken for a failure.

mod classify;
mod delivery;
mod exec;
mod host_keys;
mod hosts;
mod keys;
mod limits;
mod opening;
mod order;
mod peer;
mod pool;
mod program;
mod session;
mod stream;

pub use classify::Failure;
pub use hosts::{Exchange, Hosts};
pub use keys::{KeyError, Keys, PrivateKeyText};
pub use limits::Limits;
pub use order::Replied;
pub use program::{DIRECTORY, Programs};
pub use stream::{Dial, Tcp};
