//! Damage on real nodes is repaired without anybody, and the pods of the node keep running where they can.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    Fleet, Host, Nodes, Operation, PATIENCE, Pace, Purpose, Workload, eventually, eventually_every,
    find_condition, run_to_end, scenario_for,
};
use serde_json::{Value, json};

/// So short that a node that is off for the rest of the test comes back with a certificate that has expired.
const SIGNED_FOR: &str = "150s";

/// From when on a certificate is one of those that are signed for a year again.
const LONG: u64 = 24 * 3600;

/// What a host is like, but for what differs from start to start: units, files, and the binaries that run.
const LOOKS: &str = r#"cd /opt/seaworthy/current
for unit in kubelet containerd; do
  systemctl show --property=Id,LoadState,ActiveState,SubState,UnitFileState $unit.service
  sha256sum $unit/bin/$unit $unit/etc/config.* /etc/systemd/system/$unit.service 2>&1
  pid=$(systemctl show --value --property=MainPID $unit.service)
  sha256sum /proc/$pid/exe 2>&1 | cut --delimiter=' ' --fields=1
done"#;

/// What changes with every start too.
const STARTS: &str = "systemctl show --property=MainPID,ActiveState kubelet.service containerd.service";

/// How long systemd may take to see that a process has died. It takes milliseconds on a quiet machine.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// What somebody or something does to a host.
const BREAKAGES: [(&str, &str); 5] = [
    ("kubelet is killed", "kill -KILL $(systemctl show --value --property=MainPID kubelet)"),
    ("containerd is killed", "kill -KILL $(systemctl show --value --property=MainPID containerd)"),
    (
        "kubelet is stopped and masked",
        "systemctl stop kubelet && ln -sfn /dev/null /etc/systemd/system/kubelet.service && systemctl daemon-reload",
    ),
    (
        "the config of kubelet is edited",
        "sed -i 's/^maxPods: .*/maxPods: 3/' /opt/seaworthy/current/kubelet/etc/config.yaml && systemctl restart kubelet",
    ),
    (
        "the binary of kubelet is replaced",
        "cd /opt/seaworthy/current/kubelet/bin && printf '#!/bin/sh\\nexec sleep infinity\\n' > new && chmod 755 new && \
         mv new kubelet && systemctl restart kubelet",
    ),
];

#[test]
fn what_breaks_on_a_node_heals_by_itself() -> Result<()> {
    scenario_for(Purpose::Nodes, 3, |world| {
        world.control_plane().sign_for(Some(SIGNED_FOR))?;
        let mut fleet = Fleet::start(world)?;
        let mut nodes = fleet.scene("three nodes whose certificates end soon", |fleet| {
            Nodes::join(fleet, &[("kubelet", "1.36.1")], "5s")
        })?;
        let workload = Workload::start(world, 3)?;
        workload.answers_everywhere(world)?;

        let away = world.host("host-3")?;
        let expires = end_of_certificate(away)?;
        fleet.note(&format!("the certificate of host-3 ends in {} s", expires.saturating_sub(now()?)))?;
        away.power_off()?;
        world.control_plane().sign_for(None)?;
        let (one, two) = (world.host("host-1")?, world.host("host-2")?);
        for (index, (what, line)) in BREAKAGES.iter().enumerate() {
            let host = if index % 2 == 0 { one } else { two };
            let pod = host.sh("pgrep --oldest --exact webd")?;
            fleet.scene(what, |fleet| heals(fleet, &nodes, host, what, line))?;
            ensure!(
                host.sh("pgrep --oldest --exact webd")? == pod,
                "{what}: a pod of {} was touched",
                host.name()
            );
        }
        fleet.scene("power cuts in the middle of an upgrade", |fleet| power_cuts(fleet, &mut nodes))?;
        fleet.scene("kubelets renew their certificates", |fleet| {
            [one, two].into_iter().try_for_each(|host| renews(fleet, host))
        })?;
        fleet.scene("a node is back whose certificate has expired", |fleet| {
            comes_back(fleet, &nodes, away, expires)
        })?;
        fleet
            .scene("more nodes break than may be unavailable", |fleet| broken_together(fleet, &mut nodes))?;
        fleet.scene("a disk is full while an upgrade begins", |fleet| full_disk(fleet, &mut nodes, two))?;
        fleet.stop_operator()
    })
}

/// Breaks a host, and waits until it is again what it was.
fn heals(fleet: &Fleet<'_>, nodes: &Nodes, host: &Host, what: &str, line: &str) -> Result<()> {
    let (sound, ran) = (host.sh(LOOKS)?, host.sh(STARTS)?);
    let start = Instant::now();
    host.sh(line)?;
    eventually(format!("that {what}"), NOTICED_WITHIN, || {
        let runs = host.sh(STARTS)?;
        ensure!(runs != ran, "nothing is broken: {runs}");
        Ok(())
    })?;
    eventually_every(Duration::from_millis(200), what, PATIENCE, || {
        let now = host.sh(LOOKS)?;
        ensure!(now == sound, "{now}\ninstead of\n{sound}");
        Ok(())
    })?;
    let looks = start.elapsed();
    nodes.is_in_order(fleet, host)?;
    fleet.note(&format!(
        "{what} on {}: as it was after {looks:.1?}, machine and Node Ready after {:.1?}",
        host.name(),
        start.elapsed()
    ))
}

/// One host loses power while it downloads, the other after it has started the new kubelet.
fn power_cuts(fleet: &Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    let (one, two) = (world.host("host-1")?, world.host("host-2")?);
    let (of_one, of_two) = (one.operations()?.len(), two.operations()?.len());
    // So slow that neither has fetched its 60 MB before the first has lost its power, which takes seconds.
    world.artefacts().set_pace(Pace::BytesPerSecond(1_000_000))?;
    nodes.want(fleet, "kubelet", "1.36.3")?;
    reaches(one, of_one, "started")?;
    one.power_off()?;
    world.artefacts().set_pace(Pace::Full)?;
    reaches(two, of_two, "restarted")?;
    two.power_off()?;
    for (host, before, wanted) in [(one, of_one, "started"), (two, of_two, "restarted")] {
        let cut = host.operations()?;
        let cut = cut.get(before).with_context(|| format!("{} lost its journal", host.name()))?;
        fleet.note(&format!("{} lost power in {}", host.name(), cut.summary()))?;
        ensure!(cut.end().is_none() && cut.count(wanted) == 1, "not in the middle: {}", cut.summary());
    }
    let start = Instant::now();
    one.power_on()?;
    two.power_on()?;
    for host in [one, two] {
        nodes.is_in_order(fleet, host)?;
        let name = host.name();
        fleet.note(&format!("{name}: upgraded and Ready {:.1?} after power was back", start.elapsed()))?;
    }
    Ok(())
}

/// Waits until the operation after so many has come to this step. The host itself looks, and often: some steps take no second.
fn reaches(host: &Host, after: usize, step: &str) -> Result<()> {
    const LOOK: &str = r#"cd /opt/seaworthy/state/operations || exit
        until grep -q "\"$1\"" "$(ls -v | grep '\.journal$' | sed -n "${0}p")" 2>/dev/null; do sleep 0.02; done"#;
    let mut command = host.command("timeout")?;
    command.args([&PATIENCE.as_secs().to_string(), "sh", "-c", LOOK, &(after + 1).to_string(), step]);
    run_to_end(&mut command).with_context(|| format!("{step} on {}", host.name())).map(drop)
}

/// When the client certificate of a node ends, in seconds since the Unix epoch.
fn end_of_certificate(host: &Host) -> Result<u64> {
    let line = format!(
        "date --date=\"$(openssl x509 -noout -enddate -in {CERTIFICATE} | cut --delimiter== --fields=2)\" +%s"
    );
    host.sh(&line)?.trim().parse().context("no time")
}

fn now() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}

/// Waits until kubelet has a certificate that lasts.
fn renewed(host: &Host) -> Result<()> {
    eventually(format!("the renewal of the certificate on {}", host.name()), PATIENCE, || {
        let left = end_of_certificate(host)?.saturating_sub(now()?);
        ensure!(left > LONG, "{left} s left");
        Ok(())
    })
}

/// Waits until kubelet has renewed its certificate by a request of its own, which the operator approved.
fn renews(fleet: &Fleet<'_>, host: &Host) -> Result<()> {
    renewed(host)?;
    let node = format!("system:node:{}", host.name());
    let name = fleet.eventually(&format!("an approved request of {node}"), || {
        let list: Value = serde_json::from_str(&fleet.world().kubectl(["get", "csr", "-o", "json"])?)?;
        let requests = list["items"].as_array().context("no list")?.iter().filter(|request| {
            request["spec"]["username"] == node.as_str()
                && request["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client-kubelet"
        });
        let own = requests.collect::<Vec<_>>();
        let approved =
            own.iter().find(|request| request["status"]["conditions"][0]["reason"] == "SeaworthyApproved");
        Ok(approved.with_context(|| format!("{own:?}"))?["metadata"]["name"].clone())
    })?;
    fleet.note(&format!("{}: {name} was approved", host.name()))
}

/// Gives a node power after its certificate has expired, which only the operator can replace.
fn comes_back(fleet: &Fleet<'_>, nodes: &Nodes, host: &Host, expires: u64) -> Result<()> {
    eventually("the end of the certificate", PATIENCE, || {
        ensure!(now()? > expires, "{} s left", expires - now()?);
        Ok(())
    })?;
    host.power_on()?;
    let start = Instant::now();
    nodes.is_in_order(fleet, host)?;
    renewed(host)?;
    let node = fleet.get("node", host.name())?;
    ensure!(node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3", "{}", node["status"]["nodeInfo"]);
    fleet.note(&format!(
        "{}: new certificate, upgraded and Ready {:.1?} after power was back",
        host.name(),
        start.elapsed()
    ))
}

/// Two of three Nodes break in the middle of a rollout that allows one: their repairs do not wait for each other.
fn broken_together(fleet: &mut Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    let (broken, rest) = ([world.host("host-1")?, world.host("host-2")?], world.host("host-3")?);
    let pause = |paused: bool| {
        let patch = format!(r#"{{"spec":{{"paused":{paused}}}}}"#);
        world.kubectl(["patch", "machine", rest.name(), "--type=merge", "--patch", &patch])
    };
    nodes.set(fleet, "maxUnavailable", json!(1))?;
    pause(true)?;
    // A rollout that has changed both, and cannot end without the third.
    nodes.want(fleet, "kubelet", "1.36.1")?;
    broken.into_iter().try_for_each(|host| nodes.is_in_order(fleet, host))?;
    fleet.kill_operator()?;
    for host in broken {
        host.sh("systemctl stop kubelet.service")?;
    }
    for host in broken {
        fleet.eventually(&format!("the end of Node {}", host.name()), || {
            let node = fleet.get("node", host.name())?;
            let ready = find_condition(&node, "Ready").context("no condition Ready")?;
            ensure!(ready["status"] != "True", "{ready}");
            Ok(())
        })?;
    }
    fleet.start_operator()?;
    let start = Instant::now();
    for host in broken {
        nodes.is_in_order(fleet, host)?;
        fleet.note(&format!("{}: repaired and Ready after {:.1?}", host.name(), start.elapsed()))?;
    }
    pause(false)?;
    nodes.set(fleet, "maxUnavailable", json!(3))?;
    nodes.are_in_order(fleet)
}

/// Fills the disk of a host, which is a file system of its own, and asks for an upgrade.
fn full_disk(fleet: &Fleet<'_>, nodes: &mut Nodes, host: &Host) -> Result<()> {
    const FILL: &str = "mkdir /var/tmp/ballast && cd /var/tmp/ballast && for size in 64M 4M 256K 4K; do \
        while fallocate --length $size $(ls | wc -l) 2>/dev/null; do :; done; done";
    // What journald and others give up on a full disk would be enough for an operation that needs hardly any.
    const KEEP_FULL: &str = "systemd-run --quiet --collect --unit=ballast --working-directory=/var/tmp/ballast sh -c \
        'while sleep 0.05; do while fallocate --length 4K $(ls | wc -l) 2>/dev/null; do :; done; done'";
    host.sh(FILL)?;
    host.sh(KEEP_FULL)?;
    let before = host.operations()?.len();
    nodes.want(fleet, "kubelet", "1.36.3")?;
    fleet.await_condition(("machine", host.name()), ["Ready", "False", "NoSpace"])?;
    for other in fleet.world().hosts().filter(|other| other.name() != host.name()) {
        nodes.is_in_order(fleet, other)?;
    }
    host.sh("systemctl stop ballast && rm -r /var/tmp/ballast")?;
    let start = Instant::now();
    nodes.is_in_order(fleet, host)?;
    let tries = host.operations()?.split_off(before).iter().map(Operation::summary).collect::<Vec<_>>();
    fleet.note(&format!(
        "{}: upgraded and Ready {:.1?} after there was room: {tries:#?}",
        host.name(),
        start.elapsed()
    ))
}
