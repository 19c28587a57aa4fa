//! What happens on hosts: operations, power, the network, and what is there from before.

mod found;
mod late;
mod operations;
mod partition;
mod power;
mod program;
