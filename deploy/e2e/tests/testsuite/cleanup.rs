//! A run leaves nothing behind on the machine, however it ends.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    Process, Run, Sweep, cache_folder, ensure_image, ensure_parts, eventually, run_to_end, scenario, sweep,
    where_supported,
};

const UP_WITHIN: Duration = Duration::from_secs(240);
const DOWN_WITHIN: Duration = Duration::from_secs(60);

#[test]
fn after_a_panic() -> Result<()> {
    where_supported(|| {
        let id = std::sync::Mutex::new(String::new());
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            scenario(1, |world| {
                world.run().id().clone_into(&mut id.lock().unwrap());
                panic!("on purpose")
            })
        }));
        ensure!(result.is_err());
        let id = id.into_inner()?;
        ensure!(traces(&id)?.is_empty(), "{:?}", traces(&id)?);
        Ok(())
    })
}

#[test]
fn after_sigterm_of_e2e_up() -> Result<()> {
    up(false, |process, id| {
        ensure!(process.terminate(DOWN_WITHIN)?.success());
        ensure!(traces(id)?.is_empty(), "{:?}", traces(id)?);
        Ok(())
    })
}

#[test]
fn after_a_kill_the_next_run_sweeps() -> Result<()> {
    up(false, |process, id| {
        // Before the kill: afterwards any run that starts may be the first to sweep, and the lock makes us wait for it.
        ensure!(!traces(id)?.is_empty());
        process.kill()?;
        sweep(&Sweep::Abandoned)?;
        ensure!(traces(id)?.is_empty(), "{:?}", traces(id)?);
        Ok(())
    })
}

#[test]
fn kept_on_request_until_it_is_removed() -> Result<()> {
    up(true, |process, id| {
        ensure!(process.terminate(DOWN_WITHIN)?.success());
        sweep(&Sweep::Abandoned)?;
        let kubectl = cache_folder()?.join("runs").join(id).join("kubectl");
        let readiness = run_to_end(Command::new(kubectl).args(["get", "--raw", "/readyz"]))?;
        ensure!(readiness == "ok", "{readiness}");
        ensure!(sweep(&Sweep::Run(id.to_owned()))? == [id]);
        ensure!(traces(id)?.is_empty(), "{:?}", traces(id)?);
        Ok(())
    })
}

/// Starts `e2e-up` with one host, waits until it is up, and hands over its process and the id of its run.
fn up(keep: bool, act: impl FnOnce(&mut Process, &str) -> Result<()>) -> Result<()> {
    where_supported(|| {
        // These may take minutes, the start does not.
        ensure_parts()?;
        ensure_image()?;
        let own = Run::begin()?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_e2e-up"));
        command.args(["--bare", "--hosts", "1"]).env("SEAWORTHY_E2E_KEEP", if keep { "1" } else { "0" });
        let mut process = Process::spawn("e2e-up", &mut command, &own.log("e2e-up"))?;
        eventually("e2e-up", UP_WITHIN, || {
            process.must_run()?;
            let text = fs::read_to_string(process.log())?;
            text.contains("Ctrl-C removes everything").then_some(()).context("not up yet")
        })?;
        let id = format!("seaworthy-{}-0", process.id());
        act(&mut process, &id)
    })
}

/// Whatever on this machine carries the id of a run: namespaces, mounts, cgroups, folders, processes.
fn traces(id: &str) -> Result<Vec<String>> {
    let namespaces = run_to_end(Command::new("ip").args(["netns", "list"]))?;
    // Cgroups of other runs may vanish while it searches, which find calls a failure.
    let find = format!("find /sys/fs/cgroup -type d -name '{id}*' 2>/dev/null || true");
    let cgroups = run_to_end(Command::new("sh").args(["-c", &find]))?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let processes = run_to_end(Command::new("ps").args(["-e", "-o", "pid=,args="]))?;
    let all = [namespaces, cgroups, mounts, processes].concat();
    let mut lines = all.lines().filter(|line| line.contains(id)).map(str::to_owned).collect::<Vec<_>>();
    let state = cache_folder()?.join("runs").join(id);
    if state.exists() {
        lines.push(state.display().to_string());
    }
    Ok(lines)
}
