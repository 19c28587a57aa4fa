//! Prints the JSON Schema of scenario files:
//! `cargo run --package seaworthy-scenarios --example schema > scenarios/schema.json`.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(seaworthy_fleet::Scenario::schema().as_bytes())
}
