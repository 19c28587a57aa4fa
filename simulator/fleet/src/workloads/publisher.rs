//! Fault 21: a publisher sets one version of a component after another, forwards and back. Two publishers conflict.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Occasion, Range, Window};

/// A publisher changes the fleet's default version of a component.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Publisher {
    /// The interval between two changes.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The name of the component.
    pub component: String,
    /// The versions of which one is published at a time. Their `MachineComponent`s must be among the manifests. The
    /// last one is published at the start of the quiet phase and stays.
    pub versions: Vec<String>,
}

impl Publisher {
    fn publish(&self, hands: &mut Hands<'_>, version: Option<&String>) {
        let Some(version) = version else { return };
        let changed = hands.edit_defaults(|spec| {
            for setting in spec.components.iter_mut().filter(|setting| setting.name == self.component) {
                setting.version = Some(version.as_str().into());
            }
        });
        if changed {
            hands.note(Occasion::VersionPublished);
        }
    }
}

impl Model for Publisher {
    fn act(&self, hands: &mut Hands<'_>) {
        let version = hands.one_of("version", &self.versions);
        self.publish(hands, version);
    }

    fn finish(&self, hands: &mut Hands<'_>) {
        self.publish(hands, self.versions.last());
    }
}
