//! Builds the Go programs that make up the real world: etcd, kube-apiserver, kubectl, and the daemon `webd`.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cache, process};

/// A wrapper module in `parts/`: pins one published module by its `go.mod` and `go.sum`.
struct Wrapper {
    folder: &'static str,
    /// The module whose version is the version of the part.
    module: &'static str,
    /// Name of the program, and its package.
    programs: &'static [(&'static str, &'static str)],
    /// Minutes that a first build takes on two cores, for the line of progress.
    minutes: u8,
}

const ETCD: Wrapper = Wrapper {
    folder: "etcd",
    module: "go.etcd.io/etcd/server/v3",
    programs: &[("etcd", "go.etcd.io/etcd/server/v3")],
    minutes: 1,
};

const KUBERNETES: Wrapper = Wrapper {
    folder: "kubernetes",
    module: "k8s.io/kubernetes",
    programs: &[
        ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ],
    minutes: 4,
};

/// The programs of the control plane and its client.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The etcd server.
    pub etcd: PathBuf,
    /// The API server.
    pub kube_apiserver: PathBuf,
    /// The client.
    pub kubectl: PathBuf,
}

/// Builds what is not in the cache yet; 5 minutes on two cores the first time, then at once.
///
/// # Errors
/// Go is missing, or a build fails; then the error holds the end of its output.
pub fn ensure() -> Result<Parts> {
    let etcd = build(&ETCD)?;
    let kubernetes = build(&KUBERNETES)?;
    Ok(Parts {
        etcd: etcd.join("etcd"),
        kube_apiserver: kubernetes.join("kube-apiserver"),
        kubectl: kubernetes.join("kubectl"),
    })
}

/// What the health probe of a `webd` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Status 200.
    Healthy,
    /// Status 503, always.
    Sick,
}

/// Builds the daemon `webd` with this version linked in, and returns the program. The same arguments give the same
/// bytes, different arguments different ones.
///
/// # Errors
/// Go is missing, or the build fails.
pub fn ensure_webd(version: &str, health: Health) -> Result<PathBuf> {
    let source = home().join("webd");
    let main = read(&source.join("main.go"))?;
    let sick = if health == Health::Sick { "true" } else { "false" };
    let key = cache::key([&main[..], sick.as_bytes(), toolchain()?.as_bytes(), ARCH.as_bytes()]);
    let folder = cache::ensure("parts", &format!("webd-{version}-{key}"), |partial| {
        let flags = format!("-s -w -X main.version={version} -X main.sick={sick}");
        go_build(&source, ".", &flags, &partial.join("webd"))
    })?;
    Ok(folder.join("webd"))
}

/// The folder of this crate in the checkout, where the Go sources are.
pub(crate) fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn build(wrapper: &Wrapper) -> Result<PathBuf> {
    let source = home().join("parts").join(wrapper.folder);
    let module = read(&source.join("go.mod"))?;
    let sums = read(&source.join("go.sum"))?;
    let version = required_version(&String::from_utf8_lossy(&module), wrapper.module)
        .with_context(|| format!("{}/go.mod does not require {}", source.display(), wrapper.module))?;
    let flags = format!("-s -w{}", version_flags(wrapper, &version));
    let key = cache::key([&module[..], &sums, flags.as_bytes(), ARCH.as_bytes()]);
    cache::ensure("parts", &format!("{}-{version}-{key}", wrapper.folder), |partial| {
        eprintln!(
            "building {} {version} from source, about {} min the first time",
            wrapper.folder, wrapper.minutes
        );
        for (name, package) in wrapper.programs {
            go_build(&source, package, &flags, &partial.join(name))?;
        }
        Ok(())
    })
}

/// Builds `program`; the output of the compiler goes to `build.log` beside it.
fn go_build(source: &Path, package: &str, flags: &str, program: &Path) -> Result<()> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let mut command = Command::new("go");
    command
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o"])
        .arg(program)
        .arg(package);
    process::run_with_progress(
        &format!("go build {name}"),
        &mut command,
        &program.with_file_name("build.log"),
    )
}

/// Kubernetes takes its version from the linker; without it everything calls itself v0.0.0.
fn version_flags(wrapper: &Wrapper, version: &str) -> String {
    if wrapper.folder != KUBERNETES.folder {
        return String::new();
    }
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor), ("gitTreeState", "clean")]
        .map(|(name, value)| format!(" -X k8s.io/component-base/version.{name}={value}"))
        .concat()
}

/// The version at which a `go.mod` requires `module`.
fn required_version(go_mod: &str, module: &str) -> Option<String> {
    let words = |line: &'_ str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    go_mod.lines().map(words).find_map(|words| {
        let words = words.strip_prefix(&["require".to_owned()][..]).unwrap_or(&words);
        match words {
            [name, version, ..] if name == module && version.starts_with('v') => Some(version.clone()),
            _ => None,
        }
    })
}

/// The Go release: another one makes other bytes of the same source.
fn toolchain() -> Result<String> {
    process::run_to_end(Command::new("go").args(["env", "GOVERSION"]))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrappers_pin_their_modules() {
        for wrapper in [&ETCD, &KUBERNETES] {
            let go_mod =
                fs::read_to_string(home().join("parts").join(wrapper.folder).join("go.mod")).unwrap();
            assert!(required_version(&go_mod, wrapper.module).is_some(), "{}", wrapper.folder);
        }
    }

    #[test]
    fn a_version_is_found_in_both_forms_of_require() {
        assert_eq!(required_version("require a/b v1.2.3\n", "a/b").as_deref(), Some("v1.2.3"));
        assert_eq!(
            required_version("require (\n\ta/b v1.2.3 // indirect\n)\n", "a/b").as_deref(),
            Some("v1.2.3")
        );
        assert_eq!(required_version("replace a/b => a/b v1.2.3\n", "a/b"), None);
    }
}
