//! Builds the Go programs that make up the real world, from published modules and from the small sources here.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cache, process};

/// Programs that are built together, from a wrapper module in `parts/`, which pins one published module by its `go.mod`
/// and `go.sum`.
pub(crate) struct Build {
    /// What the result is called in the cache.
    pub(crate) name: &'static str,
    pub(crate) folder: &'static str,
    /// The module whose version is the version of the part.
    pub(crate) module: &'static str,
    /// Name of the program, and its package.
    pub(crate) programs: &'static [(&'static str, &'static str)],
    /// The variable into which the linker writes the version.
    pub(crate) version_variable: Option<&'static str>,
    pub(crate) linkage: Linkage,
    /// Minutes that a first build takes on two cores, for the line of progress.
    pub(crate) minutes: u8,
}

/// All programs are static.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    /// Nothing but Go.
    Go,
    /// Go and C; these are the build tags.
    C(&'static str),
}

/// The module that everything of Kubernetes is in.
pub(crate) const KUBERNETES: &str = "k8s.io/kubernetes";

/// Where everything of Kubernetes finds its version.
pub(crate) const KUBERNETES_VERSION: Option<&str> = Some("k8s.io/component-base/version.gitVersion");

const ETCD: Build = Build {
    name: "etcd",
    folder: "etcd",
    module: "go.etcd.io/etcd/server/v3",
    programs: &[("etcd", "go.etcd.io/etcd/server/v3")],
    version_variable: None,
    linkage: Linkage::Go,
    minutes: 1,
};

const API_SERVER: Build = Build {
    name: "kubernetes",
    folder: "kubernetes",
    module: KUBERNETES,
    programs: &[
        ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ],
    version_variable: KUBERNETES_VERSION,
    linkage: Linkage::Go,
    minutes: 4,
};

const CONTROLLERS: Build = Build {
    name: "kubernetes-controllers",
    programs: &[
        ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
        ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    ],
    minutes: 2,
    ..API_SERVER
};

const HELM: Build = Build {
    name: "helm",
    folder: "helm",
    module: "helm.sh/helm/v4",
    programs: &[("helm", "helm.sh/helm/v4/cmd/helm")],
    version_variable: None,
    linkage: Linkage::Go,
    minutes: 2,
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
    let etcd = ETCD.ensure()?;
    let kubernetes = API_SERVER.ensure()?;
    Ok(Parts {
        etcd: etcd.join("etcd"),
        kube_apiserver: kubernetes.join("kube-apiserver"),
        kubectl: kubernetes.join("kubectl"),
    })
}

/// What a control plane needs besides, before it runs pods.
#[derive(Clone, Debug)]
pub struct Controllers {
    /// The controllers of Deployments, of Nodes, and of everything else. It signs certificates too.
    pub kube_controller_manager: PathBuf,
    /// It says where pods run.
    pub kube_scheduler: PathBuf,
}

/// Builds what is not in the cache yet; 2 minutes on two cores the first time, then at once.
///
/// # Errors
/// Go is missing, or a build fails; then the error holds the end of its output.
pub fn ensure_controllers() -> Result<Controllers> {
    let folder = CONTROLLERS.ensure()?;
    Ok(Controllers {
        kube_controller_manager: folder.join("kube-controller-manager"),
        kube_scheduler: folder.join("kube-scheduler"),
    })
}

/// Builds Helm if it is not in the cache yet; 2 minutes on two cores the first time, then at once.
///
/// # Errors
/// Go is missing, or the build fails.
pub fn ensure_helm() -> Result<PathBuf> {
    Ok(HELM.ensure()?.join("helm"))
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
    let sick = if health == Health::Sick { "true" } else { "false" };
    let flags = format!("-s -w -X main.version={version} -X main.sick={sick}");
    own("webd", version, &flags)
}

/// Builds the program `pause`, the first process of every pod.
///
/// # Errors
/// Go is missing, or the build fails.
pub(crate) fn ensure_pause() -> Result<PathBuf> {
    own("pause", "1", "-s -w")
}

/// Builds a program whose source is in the folder of its name.
fn own(name: &str, version: &str, flags: &str) -> Result<PathBuf> {
    let source = home().join(name);
    let main = read(&source.join("main.go"))?;
    let key = cache::key([&main[..], flags.as_bytes(), toolchain()?.as_bytes(), ARCH.as_bytes()]);
    let folder = cache::ensure("parts", &format!("{name}-{version}-{key}"), |partial| {
        go_build(&source, ".", Linkage::Go, flags, &partial.join(name))
    })?;
    Ok(folder.join(name))
}

/// The folder of this crate in the checkout, where the Go sources are.
pub(crate) fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Build {
    /// The folder with its programs; builds them if they are not in the cache yet.
    pub(crate) fn ensure(&self) -> Result<PathBuf> {
        let source = self.source();
        let (module, sums) = (read(&source.join("go.mod"))?, read(&source.join("go.sum"))?);
        let version = self.version()?;
        let flags = self.linker_flags(&version);
        let key = cache::key([&module[..], &sums, flags.as_bytes(), ARCH.as_bytes()]);
        cache::ensure("parts", &format!("{}-{version}-{key}", self.name), |partial| {
            eprintln!(
                "building {} {version} from source, about {} min the first time",
                self.name, self.minutes
            );
            for (name, package) in self.programs {
                go_build(&source, package, self.linkage, &flags, &partial.join(name))?;
            }
            Ok(())
        })
    }

    /// The version that its wrapper pins.
    pub(crate) fn version(&self) -> Result<String> {
        let file = self.source().join("go.mod");
        let module = read(&file)?;
        required_version(&String::from_utf8_lossy(&module), self.module)
            .with_context(|| format!("{} does not require {}", file.display(), self.module))
    }

    fn source(&self) -> PathBuf {
        home().join("parts").join(self.folder)
    }

    fn linker_flags(&self, version: &str) -> String {
        let mut flags = "-s -w".to_owned();
        if let Some(variable) = self.version_variable {
            flags += &format!(" -X {variable}={version}");
        }
        // Kubernetes compares these two as well.
        if self.module == KUBERNETES {
            let mut numbers = version.trim_start_matches('v').split('.');
            for name in ["gitMajor", "gitMinor"] {
                let number = numbers.next().unwrap_or_default();
                flags += &format!(" -X k8s.io/component-base/version.{name}={number}");
            }
            flags += " -X k8s.io/component-base/version.gitTreeState=clean";
        }
        if self.linkage != Linkage::Go {
            flags += " -extldflags=-static";
        }
        flags
    }
}

/// Builds `program`; the output of the compiler goes to `build.log` beside it.
fn go_build(source: &Path, package: &str, linkage: Linkage, flags: &str, program: &Path) -> Result<()> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let (cgo, tags) = match linkage {
        Linkage::Go => ("0", ""),
        Linkage::C(tags) => ("1", tags),
    };
    let mut command = Command::new("go");
    command
        .current_dir(source)
        .env("CGO_ENABLED", cgo)
        .env("GOWORK", "off")
        .args(["build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", flags, "-o"])
        .arg(program)
        .arg(package);
    process::run_with_progress(
        &format!("go build {name}"),
        &mut command,
        &program.with_file_name("build.log"),
    )
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
        for build in [&ETCD, &API_SERVER, &CONTROLLERS] {
            assert!(build.version().is_ok_and(|version| version.starts_with('v')), "{}", build.name);
        }
    }

    #[test]
    fn programs_of_kubernetes_know_their_version() {
        let flags = API_SERVER.linker_flags("v1.36.3");
        for words in ["gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36"] {
            assert!(flags.contains(words), "{flags}");
        }
        assert_eq!(ETCD.linker_flags("v3.6.14"), "-s -w");
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
