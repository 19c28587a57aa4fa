//! Writes the CustomResourceDefinitions into a directory: the one given, or `deploy/crds` of this repository.
#![expect(clippy::disallowed_methods, reason = "a tool for the build, not part of the core")]

use std::path::PathBuf;
use std::process::ExitCode;

use seaworthy_api::crd;

fn main() -> ExitCode {
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let directory = std::env::args_os()
        .nth(1)
        .map_or_else(|| [repository, crd::DIRECTORY].iter().collect(), PathBuf::from);
    match write(&directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", directory.display());
            ExitCode::FAILURE
        }
    }
}

fn write(directory: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(directory)?;
    for file in crd::files()? {
        std::fs::write(directory.join(&file.name), file.content)?;
        println!("{}", directory.join(file.name).display());
    }
    Ok(())
}
