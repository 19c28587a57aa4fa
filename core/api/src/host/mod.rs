//! The protocol of the program on a host: frames, their contents, and the translation from and to the vocabulary of the
//! core. Names travel as text, since interned ids mean nothing outside one process.

mod command;
pub mod frame;
pub mod translate;
pub mod wire;
