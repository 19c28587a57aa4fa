//! Fault 21: a publisher sets one version of a component after another, forwards and back. Two publishers conflict.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Occasion, Range, Window};

/// Somebody who changes the fleet's default for a component.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Publisher {
    /// From one change to the next.
    pub every: Range,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// The component.
    pub component: String,
    /// One of these versions, whose `MachineComponent` is among the manifests. The last one stays in the end.
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
