//! The recording so far.

use std::collections::BTreeMap;

use super::faults::Faults;
use super::gates::Known;
use super::leader::Operator;
use super::owners::Owners;
use super::policies::Policies;
use super::{Component, Event, History, Millis, Version, What};
use crate::world::host::{ComponentNumber, Host};

/// The recording so far, and the state that is needed to detect changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    pub(super) history: History,
    pub(super) operator: Operator,
    pub(super) faults: Faults,
    pub(super) owners: Owners,
    pub(super) policies: Policies,
    /// What is known of the course of each rollout in the history.
    pub(super) courses: Vec<Known>,
    /// The rollouts that exist.
    pub(super) open: Vec<usize>,
    pub(super) installed: BTreeMap<(u32, ComponentNumber), Version>,
    /// The run of each host that was recorded as resumed.
    pub(super) resumed: BTreeMap<u32, u32>,
}

pub(super) fn small(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX - 1)
}

impl Recording {
    /// Records the installed version of a component, if it has changed.
    pub(super) fn compare(&mut self, at: Millis, number: u32, host: &Host, component: ComponentNumber) {
        let installed = host.installed_of(component);
        let version = installed.map_or(Version::NONE, |installed| Version(small(installed.version.0)));
        let before = self.installed.insert((number, component), version).unwrap_or(Version::NONE);
        if before != version {
            let what = What::Installed(Component(small(component.0)), version);
            self.history.events.push(Event { at, host: number, what });
        }
    }
}
