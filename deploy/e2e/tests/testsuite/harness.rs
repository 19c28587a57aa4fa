//! The harness itself, against the real parts.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use seaworthy_e2e::{Health, LossyDisk, PATIENCE, Pace, Run, eventually, scenario, where_supported};

#[test]
fn a_control_plane_answers_kubectl_and_survives_the_death_of_its_parts() -> Result<()> {
    scenario(0, |world| {
        let control_plane = world.control_plane();
        let version = world.kubectl(["version"])?;
        ensure!(version.contains("Server Version: v1."), "{version}");
        control_plane.apply("{apiVersion: v1, kind: Namespace, metadata: {name: harbour}}")?;

        control_plane.kill_api_server()?;
        ensure!(world.kubectl(["get", "namespace", "harbour", "--request-timeout=2s"]).is_err());
        control_plane.start_api_server()?;
        control_plane.kill_etcd()?;
        control_plane.start_etcd()?;
        control_plane.wait_until_ready(Duration::from_secs(60))?;
        let names = world.kubectl(["get", "namespaces", "-o", "name"])?;
        ensure!(names.contains("namespace/harbour"), "{names}");

        let refused =
            control_plane.kubectl_output(["create", "-f", "-"], "{apiVersion: v1, kind: Namespace}")?;
        ensure!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("name"));
        Ok(())
    })
}

#[test]
fn a_user_may_only_what_rbac_allows() -> Result<()> {
    scenario(0, |world| {
        let kubeconfig = world.control_plane().kubeconfig_for("stowaway", &["crew"])?;
        let kubeconfig = kubeconfig.to_str().context("path")?;
        let who = world.kubectl(["--kubeconfig", kubeconfig, "auth", "whoami", "-o", "json"])?;
        ensure!(who.contains("\"stowaway\"") && who.contains("\"crew\""), "{who}");
        let refusal = world.kubectl(["--kubeconfig", kubeconfig, "get", "secrets", "-A"]).unwrap_err();
        ensure!(format!("{refusal:#}").contains("cannot list resource \"secrets\""), "{refusal:#}");
        Ok(())
    })
}

#[test]
fn a_host_answers_ssh_and_comes_back_from_a_power_cut_without_what_was_not_synced() -> Result<()> {
    scenario(1, |world| {
        let host = world.host("host-1")?;
        ensure!(world.ssh("host-1", "hostname")?.trim() == "host-1");
        eventually("a settled systemd", PATIENCE, || host.sh("systemctl is-system-running"))?;
        let transient = world.ssh("host-1", "systemd-run --quiet --wait --pipe echo from a unit")?;
        ensure!(transient.trim() == "from a unit", "{transient}");

        let boot = host.boot_id()?;
        host.write("/srv/kept", "synced")?;
        host.sh("echo lost > /srv/lost")?;
        host.power_off()?;
        ensure!(!host.is_on() && host.boot_id().is_err());
        ensure!(world.ssh("host-1", "true").is_err());
        ensure!(host.read("/srv/kept")? == "synced", "a host that is off can be inspected");
        host.power_on()?;
        let second = host.boot_id()?;
        ensure!(second != boot);
        ensure!(host.read("/srv/kept")? == "synced");
        ensure!(host.sh("cat /srv/lost 2>/dev/null || true")?.is_empty());

        world.ssh("host-1", "systemctl --no-block reboot")?;
        eventually("another boot", PATIENCE, || {
            let id = world.ssh("host-1", "cat /proc/sys/kernel/random/boot_id")?;
            if id.trim() == second { bail!("still the old one") } else { Ok(()) }
        })
    })
}

#[test]
fn hosts_differ_and_a_cut_cable_parts_them() -> Result<()> {
    scenario(2, |world| {
        let (one, two) = (world.host("host-1")?, world.host("host-2")?);
        ensure!(one.public_key() != two.public_key());
        ensure!(one.read("/etc/machine-id")? != two.read("/etc/machine-id")?);
        ensure!(one.ssh_from(two.endpoint(), "hostname")?.trim() == "host-1");
        one.cut_network()?;
        ensure!(one.ssh_from(two.endpoint(), "hostname").is_err());
        one.restore_network()?;
        eventually("the cable", Duration::from_secs(30), || one.ssh_from(two.endpoint(), "hostname"))?;
        Ok(())
    })
}

#[test]
fn a_host_runs_the_daemon_that_the_artefact_server_serves() -> Result<()> {
    scenario(1, |world| {
        let (host, server) = (world.host("host-1")?, world.artefacts());
        let well = server.publish_webd("1.0.0", Health::Healthy)?;
        let sick = server.publish_webd("2.0.0", Health::Sick)?;
        ensure!(well.sha256 != sick.sha256 && well == server.publish_webd("1.0.0", Health::Healthy)?);

        host.write("/etc/webd.conf", "listen = :8000\ngreeting = ahoy\n")?;
        for (version, status) in [("1.0.0", 200), ("2.0.0", 503)] {
            let archive = server.folder().join(format!("webd-{version}.tar.gz"));
            let inside = unpack(world.run().state(), &archive)?;
            host.sh("systemctl stop webd 2>/dev/null; true")?;
            host.write("/usr/local/bin/webd", std::fs::read(&inside)?)?;
            host.sh("chmod 755 /usr/local/bin/webd && systemd-run --quiet --unit=webd /usr/local/bin/webd")?;
            let get = |path| world.control_plane().endpoint().http_get(host.endpoint().address(), 8000, path);
            eventually("webd", Duration::from_secs(20), || get("/version"))?;
            ensure!(get("/version")? == (200, format!("{version}\n")));
            ensure!(get("/")? == (200, "ahoy\n".to_owned()));
            ensure!(get("/healthz")?.0 == status);
        }
        Ok(())
    })
}

#[test]
fn a_download_can_be_held_in_the_middle() -> Result<()> {
    scenario(0, |world| {
        let server = world.artefacts();
        let artefact = server.publish("cargo", &vec![b'x'; 3_000_000])?;
        let cargo = |server: &seaworthy_e2e::ArtefactServer| -> Result<_> {
            Ok(server
                .downloads()?
                .into_iter()
                .filter(|download| download.path == "/cargo")
                .collect::<Vec<_>>())
        };
        ensure!(artefact.size == 3_000_000);
        let address = server.endpoint().address();
        let fetch = || world.control_plane().endpoint().http_get(address, 8080, "/cargo");

        // Held: the client gives up after its 5 s, and the server notices.
        server.set_pace(Pace::Stalled)?;
        ensure!(fetch().is_err());
        eventually("the aborted download", Duration::from_secs(10), || {
            let seen = cargo(server)?;
            ensure!(seen.len() == 1 && !seen[0].complete && seen[0].bytes == 0, "{seen:?}");
            Ok(())
        })?;

        // Slowed down: 3 MB at 3 MB/s take 1 s at least. The client gives up after its 5 s.
        server.set_pace(Pace::BytesPerSecond(3_000_000))?;
        let start = std::time::Instant::now();
        ensure!(fetch()?.1.len() == 3_000_000);
        ensure!(start.elapsed() > Duration::from_millis(900), "{:?}", start.elapsed());
        server.set_pace(Pace::Full)?;
        ensure!(fetch()?.0 == 200 && cargo(server)?.iter().filter(|download| download.complete).count() == 2);
        ensure!(world.control_plane().endpoint().http_get(address, 8080, "/../pki/ca.crt")?.0 == 404);
        Ok(())
    })
}

#[test]
fn a_lossy_disk_keeps_what_was_synced_and_loses_the_rest() -> Result<()> {
    where_supported(|| {
        let run = Run::begin()?;
        let disk = LossyDisk::create(run.state(), "disk", 64 << 20)?;
        let synced = std::fs::File::create(disk.path().join("synced"))?;
        std::io::Write::write_all(&mut &synced, b"kept")?;
        synced.sync_all()?;
        std::fs::File::open(disk.path())?.sync_all()?;
        std::fs::write(disk.path().join("unsynced"), "lost")?;

        let after = disk.after_power_loss(run.state(), "after")?;
        ensure!(std::fs::read(after.path().join("synced"))? == b"kept");
        ensure!(std::fs::read(after.path().join("unsynced")).unwrap_or_default().is_empty());
        ensure!(std::fs::read(disk.path().join("unsynced"))? == b"lost", "the disk itself goes on");
        disk.sync()?;
        let later = disk.after_power_loss(run.state(), "later")?;
        ensure!(std::fs::read(later.path().join("unsynced"))? == b"lost");
        Ok(())
    })
}

/// Unpacks the one file of a webd archive.
fn unpack(folder: &Path, archive: &Path) -> Result<std::path::PathBuf> {
    let mut tar = std::process::Command::new("tar");
    tar.arg("--extract").arg("--file").arg(archive).arg("--directory").arg(folder).arg("bin/webd");
    seaworthy_e2e::run_to_end(&mut tar)?;
    Ok(folder.join("bin/webd"))
}
