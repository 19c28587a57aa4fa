//! What happens on hosts: operations, power, the network, and what is there from before.

mod found;
mod operations;
mod power;
