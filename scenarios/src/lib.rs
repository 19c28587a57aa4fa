//! The scenario library: every YAML file beside this crate's sources is a test.
//!
//! | folder | what | runs |
//! |---|---|---|
//! | `fast` | one behaviour each, on tens of machines | always |
//! | `scale` | whole fleets | always, and by `make run` |
