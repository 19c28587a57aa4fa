//! The path of a stranger: the commands of the install page, as they stand there, in a cluster that has never seen us.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{Fleet, Host, Nodes, Purpose, World, ensure_helm, oci, page, scenario_for};
use serde_json::{Value, json};

/// Where kube-proxy gets its rights from in a cluster that has never seen us.
const PROXIER: &str = "node-proxier";

#[test]
fn the_install_page_does_what_it_says() -> Result<()> {
    scenario_for(Purpose::Nodes, 1, |world| {
        a_cluster_of_somebody_else(world)?;
        let stranger = Stranger::new(world)?;
        stranger.run(&page::commands("install.md")?)?;
        let left = stranger.host.sh("ls -d /etc/systemd/system/hello* /opt/hello* 2>/dev/null || true")?;
        ensure!(left.is_empty(), "the host still has {left}");
        Ok(())
    })
}

/// A cluster with a Node. Nothing in it shows how that Node was made.
fn a_cluster_of_somebody_else(world: &World) -> Result<()> {
    let mut fleet = Fleet::start(world)?;
    Nodes::join(&fleet, &[], "1h")?;
    fleet.stop_operator()?;
    for kind in ["machines", "machinecomponents", "clusterpackageversions"] {
        let names = world.kubectl(["get", kind, "-o", "name"])?;
        for name in names.lines() {
            let nobody = ["--type=merge", r#"--patch={"metadata":{"finalizers":[]}}"#];
            world.kubectl(["patch", name].into_iter().chain(nobody))?;
        }
    }
    let binding = world.kubectl(["get", "clusterrolebinding/seaworthy-node-proxier", "-o", "json"])?;
    let mut binding: Value = serde_json::from_str(&binding)?;
    binding["metadata"] = json!({ "name": PROXIER });
    world.control_plane().apply(&binding.to_string())?;
    world.kubectl(["delete", "clusterrolebinding/seaworthy-node-proxier"])?;
    let folder = |name: &str| page::root().join("deploy").join(name).display().to_string();
    for name in ["crds", "operator"] {
        world.kubectl(["delete", "--ignore-not-found", "--timeout=120s", "-f", &folder(name)])?;
    }
    Ok(())
}

/// A person with a shell, a cluster, and a host that nobody has worked on.
struct Stranger<'w> {
    world: &'w World,
    host: Host,
    /// The programs that the page asks for.
    programs: PathBuf,
}

impl<'w> Stranger<'w> {
    fn new(world: &'w World) -> Result<Self> {
        let programs = world.run().state().join("stranger");
        fs::create_dir_all(&programs)?;
        let stranger = Self { world, host: world.witness()?, programs };
        stranger.program(
            "kubectl",
            &format!("exec {} \"$@\"", world.control_plane().write_kubectl_script()?.display()),
        )?;
        stranger.program("helm", &format!("exec {} \"$@\"", ensure_helm()?.display()))?;
        stranger.program("ctr", &stranger.import_on_each_node()?)?;
        Ok(stranger)
    }

    /// "Import it on each node": people carry the archive there.
    fn import_on_each_node(&self) -> Result<String> {
        const LINE: &str = "--namespace k8s.io images import";
        let image = oci::operator()?;
        let there = format!(
            "cat >/var/tmp/image.tar; ctr {LINE} /var/tmp/image.tar; s=$?; rm /var/tmp/image.tar; exit $s"
        );
        let mut script = format!("[ \"$*\" = '{LINE} target/image/image.tar' ] || exit 64\n");
        for node in self.world.hosts() {
            let ssh = self.world.control_plane().write_ssh_script(node)?;
            script += &format!("{} '{there}' <{} || exit\n", ssh.display(), image.archive().display());
        }
        Ok(script)
    }

    fn program(&self, name: &str, script: &str) -> Result<()> {
        let path = self.programs.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755)).context("a program of the stranger")
    }

    /// Runs commands in one shell, from the root of the repository, until one fails.
    fn run(&self, commands: &str) -> Result<()> {
        let script = self.programs.join("commands.sh");
        fs::write(&script, commands)?;
        let log = self.world.run().log("stranger");
        let output = File::create(&log)?;
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.programs.display());
        let artefacts = self.world.artefacts();
        let status = self
            .world
            .command(Path::new("/bin/sh"))
            .args(["-eux".as_ref(), script.as_os_str()])
            .current_dir(page::root())
            .env("PATH", path)
            .env("KUBECONFIG", self.world.control_plane().kubeconfig())
            .env("HOST_NAME", self.host.name())
            .env("HOST_ADDRESS", self.host.address())
            .env("HOST_KEY", self.host.public_key())
            .env("SSH_KEY_FILE", self.world.ssh_key().private_file())
            .env("ARTEFACT_FOLDER", artefacts.folder())
            .env("ARTEFACT_URL", artefacts.url())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .status()?;
        ensure!(status.success(), "the commands of the page ended with {status}: see {}", log.display());
        Ok(())
    }
}
