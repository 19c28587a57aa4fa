//! A release passes its probe, and makes its Node not ready minutes or hours later: a leak, a full table, a deadlock. No
//! host reports a failure. Only the Nodes show it.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{
    Fleet, HarmForm, LateHarm, OperationFate, OperationSite, Portion, Range, Scope, Window,
};

/// Releases make Nodes not ready some time after they were installed.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LateFailure {
    /// The versions that fail, by the names of their MachineComponents. All if omitted.
    #[serde(default)]
    pub versions: Vec<String>,
    /// The share of the hosts on which they fail, drawn once for each host. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The part of the fleet where they fail: by zone, rack, pool or number. Everywhere if omitted.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The window of the operations whose releases fail, `[from, to]` since the start of the run, or since the fault's
    /// trigger fired. Any time before the quiet phase if omitted.
    #[serde(default)]
    pub between: Window,
    /// The time from the end of the operation until the Node is not ready.
    pub after: Range,
    /// The time until the Node can be ready again. It ends earlier if the component is changed.
    pub lasting: Range,
    /// If set, the Node is not ready for this long, then ready for as long, and so on.
    #[serde(default)]
    pub flaps: Option<Range>,
    /// If true, the service of the release ends at that time, once, instead of making the Node not ready. Only a read of the
    /// host shows it.
    #[serde(default)]
    pub crashes: bool,
    /// If true, the service of the release ends at that time, and its host starts it again at once. With `flaps` that happens
    /// again and again, after twice that time each. Only the count of restarts that the host reports shows it.
    #[serde(default)]
    pub restarts: bool,
    /// If true, the release fills the disk of its host instead: the Node stays ready, and reports `DiskPressure`.
    #[serde(default)]
    pub fills: bool,
    /// If true, only the metrics of the cluster show it: the query of a gate finds one series for each such host.
    #[serde(default)]
    pub measured: bool,
    /// If true, no new pod starts on the host, and its Node stays ready.
    #[serde(default)]
    pub stalls: bool,
}

impl LateFailure {
    const fn form(&self) -> HarmForm {
        if self.crashes {
            HarmForm::Crashes
        } else if self.restarts {
            HarmForm::Restarts
        } else if self.fills {
            HarmForm::Fills
        } else if self.measured {
            HarmForm::Measured
        } else if self.stalls {
            HarmForm::Stalls
        } else {
            HarmForm::Unready
        }
    }
}

impl Model for LateFailure {
    fn on_operation(&self, chance: &Chance<'_>, site: &OperationSite<'_>, fate: &mut OperationFate) {
        let Some(version) = site.version else { return };
        let is_named = self.versions.is_empty() || self.versions.iter().any(|name| name == version);
        let is_there = self.scope.as_ref().is_none_or(|scope| scope.has(site.host, site.fleet, chance.draws));
        // A release fails on a host, and not in an operation.
        let of_host = Chance { occurrence: 0, ..*chance };
        if fate.late.is_none() && is_named && is_there && of_host.hits(self.between, self.share.0) {
            fate.late = Some(LateHarm {
                after: chance.within("after", self.after.0),
                lasting: chance.within("lasting", self.lasting.0),
                flaps: self.flaps.map(|range| chance.within("flaps", range.0)),
                form: self.form(),
            });
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        let forms = [self.crashes, self.restarts, self.fills, self.measured, self.stalls];
        if forms.into_iter().filter(|is_set| *is_set).count() > 1 {
            return Some("only one of crashes, restarts, fills, measured and stalls may be true".into());
        }
        self.scope.as_ref().and_then(|scope| scope.problem(fleet))
    }
}
