//! How commands print what they found.

use clap::{Args, ValueEnum};

/// How the result is printed.
#[derive(Args, Clone, Copy)]
pub(crate) struct Printing {
    /// How to print the result. JSON is for programs, and is complete.
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// The audience of the output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For programs.
    Json,
}
