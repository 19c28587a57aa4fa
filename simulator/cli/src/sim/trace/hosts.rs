//! The tracks of hosts: operations with their steps, and the times without power.

use std::collections::BTreeSet;

use seaworthy_fleet::history::{Event, History, Phase, Version, What};
use seaworthy_fleet::vocabulary::machine_name;
use seaworthy_fleet::world::host::Ended;

use super::{Group, Trace};

/// The largest number of hosts with unusual events that are shown.
const UNUSUAL_MAX: usize = 1_000;
/// The number of other hosts that are shown.
const SAMPLE: usize = 100;

/// Which hosts are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// Hosts with unusual events.
    pub(super) unusual: usize,
    /// A sample of the other hosts.
    pub(super) sampled: usize,
    /// Hosts with unusual events that are not shown, because there are too many.
    pub(super) left_out: usize,
}

const fn is_unusual(what: What) -> bool {
    match what {
        What::Ended(Ended::Failed(_) | Ended::Interrupted)
        | What::Phase(Phase::Failed | Phase::Blocked, _)
        | What::Resumed
        | What::Spoiled(_)
        | What::Power(_)
        | What::Network(_) => true,
        What::Ended(Ended::Succeeded)
        | What::Phase(..)
        | What::Unit(_)
        | What::Condition(..)
        | What::Began(..)
        | What::Step(_)
        | What::Installed(..)
        | What::Node(_) => false,
    }
}

/// Adds the tracks of hosts.
pub(super) fn hosts(trace: &mut Trace, history: &History, machines: u32) -> Shown {
    let unusual = history.events.iter().filter(|event| is_unusual(event.what)).map(|event| event.host);
    let unusual: BTreeSet<u32> = unusual.collect();
    let mut shown: BTreeSet<u32> = unusual.iter().copied().take(UNUSUAL_MAX).collect();
    let first = shown.len();
    let step = (machines as usize / SAMPLE).max(1);
    shown.extend((0..machines).step_by(step).filter(|host| !unusual.contains(host)));
    trace.name_group(Group::Hosts, "hosts");
    for &host in &shown {
        trace.name_track((Group::Hosts, host + 1), &machine_name(host));
    }
    for event in history.events.iter().filter(|event| shown.contains(&event.host)) {
        add(trace, history, event);
    }
    for &host in &shown {
        trace.end_all((Group::Hosts, host + 1), history.end);
    }
    Shown { unusual: first, sampled: shown.len() - first, left_out: unusual.len() - first }
}

fn add(trace: &mut Trace, history: &History, event: &Event) {
    let (at, track) = (event.at, (Group::Hosts, event.host + 1));
    match event.what {
        What::Began(component, version) => {
            let name =
                |names: &[String], number: u16| names.get(number as usize).cloned().unwrap_or_default();
            trace.end_all(track, at);
            trace.begin(
                track,
                at,
                if version == Version::NONE {
                    format!("remove {}", name(&history.components, component.0))
                } else {
                    format!("install {}", name(&history.versions, version.0))
                },
            );
        }
        What::Step(step) => {
            if depth(trace, track) > 1 {
                trace.end(track, at);
            }
            trace.begin(track, at, format!("{step:?}").to_lowercase());
        }
        What::Resumed => {
            trace.begin(track, at, "resumed by the host".into());
        }
        What::Ended(ended) => {
            trace.end_all(track, at);
            match ended {
                Ended::Succeeded => {}
                Ended::Interrupted => {
                    trace.instant(track, at, "interrupted".into());
                }
                Ended::Failed(cause) => {
                    trace.instant(track, at, format!("failed: {}", cause.name()));
                }
            }
        }
        What::Power(is_on) => {
            trace.end_all(track, at);
            if !is_on {
                trace.begin(track, at, "no power".into());
            }
        }
        What::Network(is_connected) => {
            let name = if is_connected { "connected again" } else { "cut off" };
            trace.instant(track, at, name.into());
        }
        What::Spoiled(_) => {
            trace.instant(track, at, "changed by hand".into());
        }
        What::Phase(Phase::Failed | Phase::Blocked, waits) => {
            let name = seaworthy_fleet::history::WaitsFor::NAMES[waits.number() as usize];
            trace.instant(track, at, format!("the operator waits: {name}"));
        }
        What::Phase(..) | What::Unit(_) | What::Condition(..) | What::Installed(..) | What::Node(_) => {}
    }
}

fn depth(trace: &Trace, track: (Group, u32)) -> u32 {
    trace.open.get(&(track.0 as u32, track.1)).copied().unwrap_or_default()
}
