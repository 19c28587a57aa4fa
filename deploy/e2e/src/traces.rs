//! What software leaves on a host: files, units, mounts, interfaces, rules, processes. To compare two moments.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::deadline::eventually;
use crate::host::Host;
use crate::process::run_to_end;
use crate::world::World;

/// How long what is about to end may take: a process, a unit, a mount. What is there after that was left behind.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// Prints one trace per line, each after the word for its kind. Left out is what changes by itself: logs, what systemd and
/// sshd keep about sessions and boots, and the short-lived processes of a look at the host.
const PRINT: &str = r#"
find / /var/lib -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run/systemd -o -path /var/log/journal \
    -o -path /run/log -o -path /run/udev -o -path /run/user -o -path /var/lib/systemd -o -path '/tmp/systemd-private-*' \
    -o -path '/var/tmp/systemd-private-*' -o -path /var/cache \) -prune -o -printf 'file %p %l\n'
find /run -mindepth 1 -maxdepth 2 \( -path /run/systemd -o -path /run/log -o -path /run/udev -o -path /run/user \
    -o -path /run/utmp -o -path /run/motd.dynamic \) -prune -o -printf 'file %p %l\n'
systemctl list-unit-files --no-legend --no-pager | awk '{print "unit file " $1 " " $2}'
systemctl list-units --all --no-legend --plain --no-pager --type=service | awk '$3 != "inactive" {print "unit " $1 " " $3}'
awk '{print "mount " $5}' /proc/self/mountinfo
ip -o link show | awk -F': ' '{sub(/@.*/, "", $2); print "interface " $2}'
ip -o address show | awk '{print "address " $2 " " $4}' | grep -v fe80
ip route show | sed 's/^/route /'
for save in iptables-save ip6tables-save; do
    "$save" 2>/dev/null | sed -n "s/^\(-A .*\)/$save \1/p; s/^\(:[^ ]* -\).*/$save \1/p"
done
find /sys/fs/cgroup -type d \( -name 'kubepods*' -o -name 'k8s.io' \) -printf 'cgroup %p\n'
ps -eo comm= | grep -v -x -e ps -e sh -e sed -e awk -e grep -e sort -e find -e sshd -e nsenter -e '(sd-pam)' | sed 's/^/process /'
"#;

/// What is on a host at one moment: files, units, mounts, interfaces, addresses, routes, packet filters, cgroups of pods and
/// processes; of files only their names, and where links lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces(BTreeSet<String>);

impl Traces {
    /// Looks at a host.
    ///
    /// # Errors
    /// It does not answer.
    pub fn of(host: &Host) -> Result<Self> {
        host.settle()?;
        let text = run_to_end(host.command("bash")?.args(["-c", PRINT]))?;
        Ok(Self(text.lines().map(|line| line.trim_end().to_owned()).collect()))
    }

    /// The same without those that begin with one of these words.
    #[must_use]
    pub fn without(mut self, beginnings: &[&str]) -> Self {
        self.0.retain(|line| !beginnings.iter().any(|beginning| line.starts_with(beginning)));
        self
    }

    /// What is there that was not there before.
    #[must_use]
    pub fn since(&self, before: &Self) -> Vec<&str> {
        self.0.iter().filter(|line| !before.0.contains(*line)).map(String::as_str).collect()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a host is like before anybody does anything to it.
///
/// The host's own system leaves traces too, and not all of them before the first look: some services wait for the end of the
/// boot, and timers start others. So a second host of the same image stands by, to which nobody does anything. What appears
/// on both comes from the system itself.
#[derive(Debug)]
pub struct Bare {
    before: Traces,
    witness: Host,
}

impl Bare {
    /// Looks at a host, and boots the witness.
    ///
    /// # Errors
    /// One of the two does not answer.
    pub fn look(world: &World, host: &Host) -> Result<Self> {
        let witness = world.witness()?;
        Ok(Self { before: Traces::of(host)?, witness })
    }

    /// Waits until a host is bare again, but for traces that begin with one of these words.
    ///
    /// # Errors
    /// Something was left behind; the error lists it.
    pub fn is_again(&self, host: &Host, but: &[&str]) -> Result<()> {
        eventually(format!("that {} is bare", host.name()), GONE_WITHIN, || {
            let now = Traces::of(host)?.without(but);
            let by_itself = Traces::of(&self.witness)?;
            let left = now.since(&self.before).into_iter().filter(|trace| !by_itself.0.contains(*trace));
            let left = left.collect::<Vec<_>>();
            ensure!(left.is_empty(), "left behind on {}: {left:#?}", host.name());
            Ok(())
        })
    }
}

impl fmt::Display for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
