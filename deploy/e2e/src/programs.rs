//! The project's own programs that run in a world. They must be built before: compiling the operator takes minutes, and a test
//! should not.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The operator, and the program that it brings to hosts.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `seaworthy-operator`.
    pub operator: PathBuf,
    /// `seaworthy-host`, linked statically.
    pub host: PathBuf,
}

impl Programs {
    /// Finds them where `SEAWORTHY_OPERATOR` and `SEAWORTHY_HOST_PROGRAM` say, else in the target folder that this
    /// program was built into.
    ///
    /// # Errors
    /// One is not there; the error says how to build it.
    pub fn find() -> Result<Self> {
        let target = target()?;
        Ok(Self { operator: operator(&target)?, host: host(&target)? })
    }
}

fn operator(target: &Path) -> Result<PathBuf> {
    const BUILD: &str = "cargo build --package seaworthy-operator";
    match env::var_os("SEAWORTHY_OPERATOR") {
        Some(path) => given("SEAWORTHY_OPERATOR", path.into(), BUILD),
        None => {
            let path = target.join("debug/seaworthy-operator");
            built(&path, BUILD).with_context(|| "SEAWORTHY_OPERATOR is not set")
        }
    }
}

/// The program of people, `seaworthy`, with its commands about live clusters.
///
/// # Errors
/// It is not there; the error says how to build it.
pub fn command_line() -> Result<PathBuf> {
    const BUILD: &str = "cargo build --package seaworthy --features live";
    match env::var_os("SEAWORTHY_COMMAND_LINE") {
        Some(path) => given("SEAWORTHY_COMMAND_LINE", path.into(), BUILD),
        None => {
            let path = target()?.join("debug/seaworthy");
            built(&path, BUILD).with_context(|| "SEAWORTHY_COMMAND_LINE is not set")
        }
    }
}

fn host(target: &Path) -> Result<PathBuf> {
    let triple = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let build = format!(
        "RUSTFLAGS='-C target-feature=+crt-static' cargo build --profile production --target {triple} --package seaworthy-host"
    );
    match env::var_os("SEAWORTHY_HOST_PROGRAM") {
        Some(path) => given("SEAWORTHY_HOST_PROGRAM", path.into(), &build),
        None => {
            let path = target.join(triple).join("production/seaworthy-host");
            built(&path, &build).with_context(|| "SEAWORTHY_HOST_PROGRAM is not set")
        }
    }
}

/// A program of this crate: cargo puts it beside the tests' folder, or beside the running program.
pub(crate) fn of_this_crate(name: &str) -> Result<PathBuf> {
    let own = env::current_exe().context("cannot tell which program this is")?;
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    match found.into_iter().find(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => bail!("{name} is not built: cargo build -p seaworthy-e2e --bin {name}"),
    }
}

fn given(variable: &str, path: PathBuf, build: &str) -> Result<PathBuf> {
    built(&path, build).with_context(|| format!("{variable} is set to {}", path.display()))
}

fn built(path: &Path, build: &str) -> Result<PathBuf> {
    if !path.is_file() {
        bail!("there is no {}: run `make programs`, or `{build}`", path.display());
    }
    path.canonicalize().with_context(|| format!("cannot read {}", path.display()))
}

/// The target folder: programs are in `debug` below it, tests in `debug/deps`.
pub(crate) fn target() -> Result<PathBuf> {
    let own = env::current_exe().context("cannot tell which program this is")?;
    let profile = own.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
    let target = profile.and_then(Path::parent);
    Ok(target.context("the program does not lie in a target folder")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_is_named_with_the_way_to_build_it() {
        let nowhere = Path::new("/nonexistent/target");
        let error =
            format!("{:#}", built(&nowhere.join("debug/seaworthy-operator"), "cargo build").unwrap_err());
        assert!(error.contains("/nonexistent/target/debug/seaworthy-operator"), "{error}");
        assert!(error.contains("make programs") && error.contains("cargo build"), "{error}");
        let error = format!("{:#}", given("VARIABLE", nowhere.into(), "cargo build").unwrap_err());
        assert!(error.contains("VARIABLE is set to /nonexistent/target"), "{error}");
    }

    #[test]
    fn the_target_folder_holds_this_test() {
        let own = env::current_exe().unwrap();
        assert!(own.starts_with(target().unwrap()));
        assert!(!target().unwrap().ends_with("deps") && !target().unwrap().ends_with("debug"));
    }
}
