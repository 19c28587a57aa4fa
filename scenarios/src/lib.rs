//! The scenario library: every YAML file beside this crate's sources is a test.
//!
//! | folder | what | runs |
//! |---|---|---|
//! | `fast` | one behaviour or one fault each, on tens of machines | always |
//! | `slow` | many things at once, with many seeds | always, in release builds |
//! | `scale` | whole fleets | always, and by `make run` |
//! | `incidents` | incidents of other operators and fleets | always |
//! | `regressions` | bugs that were found here, and bugs of other operators that this one must not have; `plans` has resolved plans | always |
//!
//! `mutants` has mistakes: the tests build them into a copy of the engine, and the scenarios have to find them.
//!
//! `schema.json` is the JSON Schema of the format; editors use it for completion and validation.
