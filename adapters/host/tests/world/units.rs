//! A stand-in for systemd: it starts the process that a unit file names, knows unit files only as it last read them, and
//! its clock runs as fast as it is waited for.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use seaworthy_host::{Host, Layout, Site, Steps, System, UnitState, UnitStatus, Unobserved};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::{BootId, OperationId};

use super::LAUNCHER;

/// Processes that this process started and must collect.
static CHILDREN: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// The file that says what is mounted where, a line for each.
pub const MOUNTS: &str = "mounts";

/// So long a wait really lasts at most.
const REAL: Duration = Duration::from_millis(2);

pub struct Units<'a> {
    files: PathBuf,
    volatile: PathBuf,
    steps: &'a dyn Steps,
    clock: Cell<Duration>,
    /// Whether what runs detached runs beside this, in a thread, or before this goes on.
    pub beside: bool,
    /// Whether it sets alarms.
    pub alarms: bool,
}

impl<'a> Units<'a> {
    pub fn new(prefix: &Path, volatile: &Path, steps: &'a dyn Steps) -> Self {
        fs::create_dir_all(volatile.join("loaded")).unwrap();
        let files = prefix.join("etc/systemd/system");
        let clock = Cell::new(Duration::ZERO);
        Self { files, volatile: volatile.to_owned(), steps, clock, beside: false, alarms: true }
    }

    /// What systemd does at a boot: everything that is wanted is read and started.
    pub fn boot_up(&self) {
        let boot = self.boots() + 1;
        stop_all(&self.volatile);
        let _ = fs::remove_dir_all(&self.volatile);
        fs::create_dir_all(self.volatile.join("loaded")).unwrap();
        fs::write(self.volatile.join("boot"), boot.to_string()).unwrap();
        let Ok(wanted) = fs::read_dir(self.files.join("multi-user.target.wants")) else { return };
        for entry in wanted {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.starts_with("seaworthy-") || name.starts_with('.') {
                continue;
            }
            // A unit that does not start is found by whoever looks after it.
            let _ = self.start(&name);
        }
    }

    /// Lets time pass on the host; the operations whose alarm rings then are to be executed.
    pub fn pass(&self, span: Duration) -> Vec<OperationId> {
        let now = self.uptime() + span;
        fs::write(self.volatile.join("uptime"), now.as_millis().to_string()).unwrap();
        let names = fs::read_dir(&self.volatile).unwrap().map(|entry| entry.unwrap().path());
        let mut rings = Vec::new();
        for path in names.filter(|path| path.extension().is_some_and(|extension| extension == "alarm")) {
            let at = Duration::from_millis(fs::read_to_string(&path).unwrap().parse().unwrap());
            if at <= now {
                fs::remove_file(&path).unwrap();
                rings.extend(OperationId::parse(path.file_stem().unwrap().to_str().unwrap()));
            }
        }
        rings
    }

    /// How often the host was started.
    fn boots(&self) -> u128 {
        fs::read_to_string(self.volatile.join("boot")).map_or(1, |text| text.parse().unwrap())
    }

    /// A service dies, and is started again by itself.
    pub fn crash(&self, unit: &str) {
        let restarts = self.restarts(unit) + 1;
        self.stop(unit).unwrap();
        self.start(unit).unwrap();
        fs::write(self.volatile.join(format!("{unit}.restarts")), restarts.to_string()).unwrap();
    }

    /// How often a unit was started again by itself since it was started by an order.
    fn restarts(&self, unit: &str) -> u32 {
        let text = fs::read_to_string(self.volatile.join(format!("{unit}.restarts")));
        text.map_or(0, |text| text.parse().unwrap())
    }

    /// The unit file as it was last read.
    pub fn loaded(&self, unit: &str) -> Option<String> {
        fs::read_to_string(self.volatile.join("loaded").join(unit)).ok()
    }

    /// What a service has read as its configuration.
    pub fn configuration(&self, unit: &str) -> Option<String> {
        fs::read_to_string(self.volatile.join(format!("{unit}.read"))).ok()
    }

    /// A service reads its configuration, by the command that is there for that.
    fn read_configuration(&self, unit: &str) -> Result<(), Cause> {
        let text = self.loaded(unit).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("ExecReload="));
        let program = line.ok_or_else(|| failed(unit, "no ExecReload"))?;
        let output = Command::new(program).output().map_err(|error| failed(unit, &error.to_string()))?;
        if !output.status.success() {
            return Err(failed(unit, "it cannot be reloaded"));
        }
        fs::write(self.volatile.join(format!("{unit}.read")), output.stdout).unwrap();
        Ok(())
    }

    fn start(&self, unit: &str) -> Result<(), Cause> {
        let loaded = self.volatile.join("loaded").join(unit);
        if !loaded.exists() {
            let text = fs::read(self.files.join(unit)).map_err(|error| failed(unit, &error.to_string()))?;
            fs::write(&loaded, text).unwrap();
        }
        let text = fs::read_to_string(&loaded).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap_or_default();
        let mut words = line.split_whitespace();
        let program = words.next().ok_or_else(|| failed(unit, "no ExecStart"))?;
        if text.contains("Type=oneshot") {
            let status = Command::new(program).args(words).status();
            if !status.is_ok_and(|status| status.success()) {
                return Err(failed(unit, "it failed"));
            }
            fs::write(self.volatile.join(format!("{unit}.done")), "").unwrap();
            return Ok(());
        }
        let child = Command::new(program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(unit, &error.to_string()))?;
        fs::write(self.volatile.join(format!("{unit}.pid")), child.id().to_string()).unwrap();
        CHILDREN.lock().unwrap().push(child);
        // What it cannot read it does without.
        let _ = self.read_configuration(unit);
        Ok(())
    }
}

fn failed(unit: &str, why: &str) -> Cause {
    Cause::new(CauseKind::HostFailed, format!("{unit}: {why}"))
}

fn pid(volatile: &Path, unit: &str) -> Option<u32> {
    let pid: u32 = fs::read_to_string(volatile.join(format!("{unit}.pid"))).ok()?.parse().ok()?;
    is_alive(pid).then_some(pid)
}

fn is_alive(pid: u32) -> bool {
    collect();
    // The state follows the name in parentheses. A zombie does not live.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().unwrap_or("Z").starts_with(['Z', 'X']))
}

fn collect() {
    CHILDREN.lock().unwrap().retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
}

fn kill(pid: u32) {
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    while is_alive(pid) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Stops all units that were started from here.
pub fn stop_all(volatile: &Path) {
    let Ok(entries) = fs::read_dir(volatile) else { return };
    for entry in entries {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(pid) = name.strip_suffix(".pid").and_then(|unit| pid(volatile, unit)) {
            kill(pid);
        }
    }
}

impl System for Units<'_> {
    fn boot(&self) -> Result<BootId, Cause> {
        Ok(BootId(self.boots()))
    }

    fn reload(&self) -> Result<(), Cause> {
        let loaded = self.volatile.join("loaded");
        fs::remove_dir_all(&loaded).unwrap();
        fs::create_dir_all(&loaded).unwrap();
        // What runs is read anew at once, the others when they are started.
        for entry in fs::read_dir(&self.volatile).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if let Some(unit) = name.strip_suffix(".pid")
                && let Ok(text) = fs::read(self.files.join(unit))
            {
                fs::write(loaded.join(unit), text).unwrap();
            }
        }
        Ok(())
    }

    fn restart(&self, unit: &str) -> Result<(), Cause> {
        self.stop(unit)?;
        let _ = fs::remove_file(self.volatile.join(format!("{unit}.restarts")));
        self.start(unit)
    }

    fn reload_unit(&self, unit: &str) -> Result<(), Cause> {
        if self.unit(unit)? == UnitState::Stopped {
            return Err(failed(unit, "it does not run"));
        }
        self.read_configuration(unit)
    }

    fn can_reload(&self, unit: &str) -> Result<bool, Cause> {
        Ok(self.loaded(unit).is_some_and(|text| text.contains("ExecReload=")))
    }

    fn stop(&self, unit: &str) -> Result<(), Cause> {
        if let Some(pid) = pid(&self.volatile, unit) {
            kill(pid);
        }
        let _ = fs::remove_file(self.volatile.join(format!("{unit}.pid")));
        let _ = fs::remove_file(self.volatile.join(format!("{unit}.done")));
        let _ = fs::remove_file(self.volatile.join(format!("{unit}.read")));
        Ok(())
    }

    fn status(&self, unit: &str) -> Result<UnitStatus, Cause> {
        let state = if self.volatile.join(format!("{unit}.done")).exists() {
            UnitState::Exited
        } else {
            pid(&self.volatile, unit).map_or(UnitState::Stopped, |pid| UnitState::Running { pid })
        };
        Ok(UnitStatus { state, restarts: Some(self.restarts(unit)) })
    }

    fn mounts(&self) -> Result<Vec<PathBuf>, Cause> {
        let text = fs::read_to_string(self.volatile.join(MOUNTS)).unwrap_or_default();
        Ok(text.lines().map(PathBuf::from).collect())
    }

    fn unmount(&self, path: &Path) -> Result<(), Cause> {
        let mut mounts = self.mounts()?;
        let top = mounts.iter().rposition(|mount| mount == path);
        mounts.remove(top.ok_or_else(|| failed("unmount", "nothing is mounted there"))?);
        let lines = mounts.iter().map(|mount| format!("{}\n", mount.display()));
        fs::write(self.volatile.join(MOUNTS), lines.collect::<String>()).unwrap();
        Ok(())
    }

    fn reboot(&self) -> Result<(), Cause> {
        self.boot_up();
        Ok(())
    }

    fn detach(&self, layout: &Layout, operation: OperationId, _: bool) -> Result<(), Cause> {
        let layout = layout.clone();
        if self.beside {
            let (prefix, volatile) = (layout.prefix().to_owned(), self.volatile.clone());
            thread::spawn(move || {
                let units = Units::new(&prefix, &volatile, &Unobserved);
                let program = &*LAUNCHER;
                Host::new(Site { layout, system: &units, steps: &Unobserved, program }).execute(operation)
            });
            return Ok(());
        }
        Host::new(Site { layout, system: self, steps: self.steps, program: &LAUNCHER }).execute(operation)
    }

    fn alarm(&self, _: &Layout, operation: OperationId, after: Duration) -> Result<(), Cause> {
        if !self.alarms {
            return Err(failed("alarm", "it sets none"));
        }
        let at = self.uptime() + after;
        fs::write(self.volatile.join(format!("{operation}.alarm")), at.as_millis().to_string()).unwrap();
        Ok(())
    }

    fn uptime(&self) -> Duration {
        let text = fs::read_to_string(self.volatile.join("uptime"));
        text.map_or(Duration::ZERO, |text| Duration::from_millis(text.parse().unwrap()))
    }

    fn now(&self) -> Duration {
        self.clock.get()
    }

    fn wait(&self, span: Duration) {
        thread::sleep(span.min(REAL));
        self.clock.set(self.clock.get() + span);
    }
}
