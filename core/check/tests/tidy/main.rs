//! The house rules, as tests. Each reports every offender with its place and what to do about it.
//!
//! | module | rules |
//! |---|---|
//! | `layering` | which room may import which |
//! | `storeys` | which folder of a crate may import which, circles of files, where methods stand |
//! | `purity` | `core/` has no I/O, and part of it no `std`; what the builds do not contain |
//! | `sizes` | files, functions, README; prints the ten largest |
//! | `mutants` | every mutant still fits the code that it breaks |
//! | `registries` | no file is forgotten: modules, registered parts, scenarios |
//! | `words` | module names, reasons of lint exceptions, sentences in the engine, unfinished work, places that the tree must not name |
//!
//! The rules themselves are the constants at the head of each module.
#![expect(clippy::disallowed_methods, reason = "it reads the tree that it judges; the code in core/ may not")]

mod imports;
mod layering;
mod mutants;
mod purity;
mod registries;
mod sizes;
mod storeys;
mod tree;
mod words;
