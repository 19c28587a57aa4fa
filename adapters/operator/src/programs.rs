//! The host programs that this operator brings to hosts: static binaries, found on disk at the start.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use seaworthy_model::component::Architecture;
use seaworthy_ssh::Programs;

/// The file name: this, or this with `-` and an architecture.
const NAME: &str = "seaworthy-host";

/// Reads the host programs at `path`: one file, or a directory with one for each architecture. Without a path: the
/// directory of this program.
///
/// # Errors
/// When there is none, or one has another architecture than its name.
pub(crate) fn load(path: Option<&Path>) -> anyhow::Result<Programs> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => beside()?,
    };
    let metadata =
        fs::metadata(&path).with_context(|| format!("--host-program: cannot read {}", path.display()))?;
    if !metadata.is_dir() {
        let (architecture, binary) = read(&path)?;
        return Ok(Programs::new().with_file(architecture, &path, &binary));
    }
    let mut programs = Programs::new();
    let mut found = Vec::new();
    let plain = path.join(NAME);
    if plain.is_file() {
        let (architecture, binary) = read(&plain)?;
        programs = programs.with_file(architecture, &plain, &binary);
        found.push(architecture.name());
    }
    for expected in Architecture::ALL {
        let file = path.join(format!("{NAME}-{}", expected.name()));
        if file.is_file() {
            let (architecture, binary) = read(&file)?;
            ensure!(
                architecture == expected,
                "--host-program: {} is a program for {}",
                file.display(),
                architecture.name()
            );
            programs = programs.with_file(architecture, &file, &binary);
            found.push(architecture.name());
        }
    }
    if found.is_empty() {
        bail!("--host-program: neither {NAME} nor {NAME}-<architecture> is in {}", path.display());
    }
    tracing::info!(path = %path.display(), architectures = ?found, "host programs");
    Ok(programs)
}

fn beside() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program lies; use --host-program")?;
    Ok(own.parent().unwrap_or(Path::new("/")).to_owned())
}

fn read(path: &Path) -> anyhow::Result<(Architecture, Vec<u8>)> {
    let binary = fs::read(path).with_context(|| format!("--host-program: cannot read {}", path.display()))?;
    let architecture = architecture(&binary)
        .with_context(|| format!("--host-program: {} is not a program for Linux", path.display()))?;
    Ok((architecture, binary))
}

/// The architecture of a 64-bit ELF file, by the fields `EI_CLASS`, `EI_DATA` and `e_machine` of its header.
fn architecture(binary: &[u8]) -> Option<Architecture> {
    const LITTLE: u8 = 1;
    const BIG: u8 = 2;
    let [0x7f, b'E', b'L', b'F', 2, order, ..] = *binary else { return None };
    let machine = [*binary.get(18)?, *binary.get(19)?];
    let machine = if order == BIG { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    match (machine, order) {
        (62, LITTLE) => Some(Architecture::Amd64),
        (183, LITTLE) => Some(Architecture::Arm64),
        (21, LITTLE) => Some(Architecture::Ppc64le),
        (243, LITTLE) => Some(Architecture::Riscv64),
        (22, BIG) => Some(Architecture::S390x),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(order: u8, machine: u16) -> Vec<u8> {
        let mut binary = vec![0x7f, b'E', b'L', b'F', 2, order, 1];
        binary.resize(18, 0);
        binary.extend(if order == 2 { machine.to_be_bytes() } else { machine.to_le_bytes() });
        binary
    }

    #[test]
    fn architectures_are_told_by_the_header() {
        assert_eq!(architecture(&elf(1, 62)), Some(Architecture::Amd64));
        assert_eq!(architecture(&elf(1, 183)), Some(Architecture::Arm64));
        assert_eq!(architecture(&elf(2, 22)), Some(Architecture::S390x));
        for bad in [elf(2, 62), elf(1, 3), b"#!/bin/sh".to_vec(), Vec::new(), elf(1, 62)[..19].to_vec()] {
            assert_eq!(architecture(&bad), None);
        }
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(architecture(&own).is_some(), "the test itself is a program for Linux");
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let error = format!("{:#}", load(Some(Path::new("/nonexistent/program"))).unwrap_err());
        assert!(error.contains("--host-program") && error.contains("/nonexistent/program"), "{error}");
        let error = format!("{:#}", load(Some(Path::new("/proc/self"))).unwrap_err());
        assert!(error.contains("seaworthy-host-<architecture>"), "{error}");
        let error = format!("{:#}", load(Some(Path::new("/proc/self/status"))).unwrap_err());
        assert!(error.contains("not a program for Linux"), "{error}");
    }
}
