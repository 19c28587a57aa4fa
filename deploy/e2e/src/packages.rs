//! The software of a node (kubelet, containerd, ...), in the form in which its projects publish it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::parts::{Build, KUBERNETES, KUBERNETES_VERSION, Linkage};
use crate::{cache, process};

/// How a project publishes its programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The one program.
    Program,
    /// A gzipped tar with all of them in this folder.
    Archive(&'static str),
}

/// One version of what a MachineComponent of the same name installs.
struct Package {
    component: &'static str,
    version: &'static str,
    form: Form,
    build: Build,
}

const KUBELET: Package = Package {
    component: "kubelet",
    version: "1.36.3",
    form: Form::Program,
    build: Build {
        name: "kubelet",
        folder: "kubernetes",
        module: KUBERNETES,
        programs: &[("kubelet", "k8s.io/kubernetes/cmd/kubelet")],
        version_variable: KUBERNETES_VERSION,
        linkage: Linkage::Go,
        minutes: 3,
    },
};

const CONTAINERD: Package = Package {
    component: "containerd",
    version: "2.4.2",
    form: Form::Archive("bin"),
    build: Build {
        name: "containerd",
        folder: "containerd-2.4.2",
        module: "github.com/containerd/containerd/v2",
        programs: &[
            ("containerd", "github.com/containerd/containerd/v2/cmd/containerd"),
            ("containerd-shim-runc-v2", "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"),
            ("ctr", "github.com/containerd/containerd/v2/cmd/ctr"),
        ],
        version_variable: Some("github.com/containerd/containerd/v2/version.Version"),
        linkage: Linkage::Go,
        minutes: 2,
    },
};

/// Newest first. The older versions are what hosts are upgraded from.
const ALL: &[Package] = &[
    KUBELET,
    Package { version: "1.36.1", build: Build { folder: "kubelet-1.36.1", ..KUBELET.build }, ..KUBELET },
    Package { version: "1.35.4", build: Build { folder: "kubelet-1.35.4", ..KUBELET.build }, ..KUBELET },
    Package {
        component: "kube-proxy",
        build: Build {
            name: "kube-proxy",
            programs: &[("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy")],
            minutes: 1,
            ..KUBELET.build
        },
        ..KUBELET
    },
    CONTAINERD,
    Package {
        version: "2.4.1",
        build: Build { folder: "containerd-2.4.1", ..CONTAINERD.build },
        ..CONTAINERD
    },
    Package {
        component: "runc",
        version: "1.5.2",
        form: Form::Program,
        build: Build {
            name: "runc",
            folder: "runc",
            module: "github.com/opencontainers/runc",
            programs: &[("runc", "github.com/opencontainers/runc")],
            // Its own VERSION file says it.
            version_variable: None,
            // Without seccomp no pod starts: kubelet asks for it.
            linkage: Linkage::C("netgo osusergo seccomp"),
            minutes: 1,
        },
    },
    Package {
        component: "cni-plugins",
        version: "1.9.1",
        form: Form::Archive("."),
        build: Build {
            name: "cni-plugins",
            folder: "cni-plugins",
            module: "github.com/containernetworking/plugins",
            programs: &[
                ("bridge", "github.com/containernetworking/plugins/plugins/main/bridge"),
                ("host-local", "github.com/containernetworking/plugins/plugins/ipam/host-local"),
                ("loopback", "github.com/containernetworking/plugins/plugins/main/loopback"),
                ("portmap", "github.com/containernetworking/plugins/plugins/meta/portmap"),
            ],
            version_variable: Some(
                "github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion",
            ),
            linkage: Linkage::Go,
            minutes: 1,
        },
    },
];

/// The file that hosts are to fetch for this version of a component, and its SHA-256. Builds what is not in the cache yet.
///
/// # Errors
/// There is no such package, Go or a C compiler is missing, or the build fails.
pub(crate) fn ensure(component: &str, version: &str) -> Result<(PathBuf, String)> {
    let package = ALL.iter().find(|package| (package.component, package.version) == (component, version));
    package.with_context(|| format!("no package is built for {component} {version}"))?.ensure()
}

/// Builds every package that is not in the cache yet, 15 minutes on two cores the first time.
///
/// # Errors
/// Go or a C compiler is missing, or a build fails.
pub fn ensure_all() -> Result<()> {
    ALL.iter().try_for_each(|package| package.ensure().map(drop))
}

impl Package {
    fn ensure(&self) -> Result<(PathBuf, String)> {
        let programs = self.build.ensure()?;
        let key = programs.file_name().context("a build has a name")?.to_string_lossy();
        let folder = cache::ensure("packages", &key, |partial| self.pack(&programs, partial))?;
        let digest = fs::read_to_string(folder.join("sha256"))?;
        let file = match self.form {
            Form::Program => programs.join(self.component),
            Form::Archive(_) => folder.join("archive.tar.gz"),
        };
        Ok((file, digest))
    }

    fn pack(&self, programs: &Path, partial: &Path) -> Result<()> {
        let file = match self.form {
            Form::Program => programs.join(self.component),
            Form::Archive(folder) => {
                let names = self.build.programs.iter().map(|(name, _)| *name).collect::<Vec<_>>();
                let archive = partial.join("archive.tar");
                pack(&archive, programs, &names, folder)?;
                partial.join("archive.tar.gz")
            }
        };
        let digest = process::run_to_end(Command::new("sha256sum").arg(&file))?;
        let digest = digest.split_whitespace().next().context("sha256sum prints a digest")?;
        Ok(fs::write(partial.join("sha256"), digest)?)
    }
}

/// Makes `ARCHIVE.gz`, in which `programs` of the folder `from` lie in the folder `to`. The same programs give the same
/// bytes.
pub(crate) fn pack(archive: &Path, from: &Path, programs: &[&str], to: &str) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--owner=0", "--group=0", "--numeric-owner", "--mode=755", "--mtime=@0"]);
    tar.arg(format!("--transform=s,^,{to}/,")).arg("--file").arg(archive).arg("--directory").arg(from);
    process::run_to_end(tar.args(programs))?;
    process::run_to_end(Command::new("gzip").args(["--no-name", "--fast", "--force"]).arg(archive)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_the_version_that_its_wrapper_pins() {
        for package in ALL {
            let pinned = package.build.version().unwrap();
            assert_eq!(pinned, format!("v{}", package.version), "{}", package.component);
        }
    }
}
