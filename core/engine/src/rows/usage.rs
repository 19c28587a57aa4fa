//! What a machine uses a version for.

use seaworthy_model::id::VersionId;

use crate::rows::machine::Machine;

/// What a machine uses a version for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its own spec names it.
    Pinned,
    /// It is installed, as the host reports or as is recorded.
    Installed,
    /// An operation that installs it is or may be in flight.
    BeingInstalled,
}

impl Machine {
    /// What the machine uses a version for, if it does.
    pub(crate) fn uses(&self, version: VersionId) -> Option<Use> {
        let object = self.object.as_ref()?;
        if self.spec().is_some_and(|spec| spec.pins.iter().any(|pin| pin.want.version() == Some(version))) {
            return Some(Use::Pinned);
        }
        let recorded = object.status.components.iter().filter_map(|status| status.installed);
        let reported = self.host.facts.iter().flat_map(|facts| &facts.components);
        let mut installed =
            recorded.map(|installed| installed.version).chain(reported.map(|installed| installed.version));
        if installed.any(|installed| installed == version) {
            return Some(Use::Installed);
        }
        self.may_be_installing(version).then_some(Use::BeingInstalled)
    }

    /// Whether an operation whose outcome is not known installs a version. An operation of a predecessor may install
    /// any version.
    fn may_be_installing(&self, version: VersionId) -> bool {
        let Some(operation) = self.uncertain else { return self.is_unresolved() };
        let report = self.host.facts.as_ref().and_then(|facts| facts.operation.as_ref());
        let running = report.filter(|report| report.id == operation && report.state.is_open());
        match running {
            Some(report) => report.release.is_some_and(|release| release.version == version),
            None => self.installs == Some(version),
        }
    }
}
