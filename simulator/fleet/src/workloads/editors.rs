//! Fault 21: users edit single Machines: they pause and pin them, and forget about it.

use std::collections::BTreeMap;

use seaworthy_api::v1alpha1::{ComponentSetting, MachineSpec};
use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Fleet, Occasion, Range, Scope, Window};

/// Users edit single Machines: they pause, pin and retry them, and revert that.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Editors {
    /// The interval between two edits.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The part of the fleet whose Machines are edited. The whole fleet if omitted.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The components that users pin, each with the versions from which one is drawn.
    #[serde(default)]
    pub pins: BTreeMap<String, Vec<String>>,
    /// Whether users also delete Machines. They create them again at the start of the quiet phase. False if omitted.
    #[serde(default)]
    pub deletes: bool,
}

impl Model for Editors {
    fn act(&self, hands: &mut Hands<'_>) {
        let Some(number) = hands.any_machine(self.scope.as_ref()) else { return };
        let pins: Vec<(&String, &Vec<String>)> = self.pins.iter().collect();
        let pin = hands
            .one_of("component", &pins)
            .and_then(|(component, versions)| Some(setting(component, hands.one_of("version", versions)?)));
        let done = match hands.below("what", if self.deletes { 5 } else { 4 }) {
            0 => hands.edit(number, |spec| spec.paused = !spec.paused),
            1 => hands.restore(number),
            2 => {
                let word = hands.below("retry", 1_000_000).to_string();
                hands.edit(number, |spec| spec.retry = Some(word.as_str().into()))
            }
            3 => hands.edit(number, |spec| spec_with(spec, pin)),
            _ => {
                hands.delete(number);
                false
            }
        };
        if done {
            hands.note(Occasion::MachineEdited);
        }
    }

    /// Reverts the edits.
    fn finish(&self, hands: &mut Hands<'_>) {
        for number in hands.machines(self.scope.as_ref()) {
            hands.restore(number);
            if self.deletes {
                hands.join(number);
            }
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        self.scope
            .as_ref()
            .and_then(|scope| scope.problem(fleet))
            .map(|problem| format!("editors: {problem}"))
    }
}

fn spec_with(spec: &mut MachineSpec, pin: Option<ComponentSetting>) {
    let Some(pin) = pin else { return };
    spec.components.retain(|present| present.name != pin.name);
    spec.components.push(pin);
}

fn setting(component: &str, version: &str) -> ComponentSetting {
    ComponentSetting {
        name: component.into(),
        state: "Present".into(),
        version: Some(version.into()),
        parameters: BTreeMap::new(),
    }
}
