//! A scenario as data that programs change: the swarm draws other faults and fleets, and the shrinker removes parts.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::scenario::{Scenario, ScenarioError};

/// A scenario as data. It is validated when it becomes a [`Scenario`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document(pub(crate) Value);

impl Document {
    /// Reads the text of a scenario file.
    ///
    /// # Errors
    /// When the file is no scenario.
    pub fn read(file: &str, text: &str) -> Result<Self, ScenarioError> {
        // Validate the original text first: it gives better messages.
        Scenario::read(file, text)?;
        let value = serde_saphyr::from_str(text).map_err(|error| ScenarioError::malformed(file, &error))?;
        let document = Self(value);
        document.scenario(file)?;
        Ok(document)
    }

    /// The scenario.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn scenario(&self, file: &str) -> Result<Scenario, ScenarioError> {
        let text = serde_saphyr::to_string(&self.0)
            .map_err(|error| ScenarioError::unacceptable(file, vec![error.to_string()]))?;
        Scenario::read(file, &text)
    }

    /// The name of the scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// The number of machines.
    #[must_use]
    pub fn machines(&self) -> u32 {
        let number = self.0.pointer("/fleet/machines").and_then(Value::as_u64).unwrap_or_default();
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// Changes the size of the fleet. Actions of the timeline on machines that no longer exist are dropped.
    pub fn set_machines(&mut self, machines: u32) {
        self.set_fleet("machines", machines);
        let exists = |number: &Value| number.as_u64().is_none_or(|number| number < u64::from(machines));
        for moment in self.list_mut("timeline") {
            let Some(moment) = moment.as_object_mut() else { continue };
            if let Some(edits) = moment.get_mut("edit").and_then(Value::as_array_mut) {
                for edit in edits.iter_mut() {
                    if let Some(numbers) = edit.get_mut("machines").and_then(Value::as_array_mut) {
                        numbers.retain(exists);
                    }
                }
            }
            for named in ["cordon", "uncordon", "clear", "release"] {
                if let Some(numbers) = moment.get_mut(named).and_then(Value::as_array_mut) {
                    numbers.retain(exists);
                }
            }
            if let Some(deleted) = moment.get_mut("delete").and_then(Value::as_array_mut) {
                deleted.retain(|reference| machine_number(reference).is_none_or(|number| number < machines));
            }
        }
        for found in ["/hosts/found", "/hosts/identities"] {
            let found = self.0.pointer_mut(found).and_then(Value::as_array_mut);
            for found in found.into_iter().flatten() {
                if let Some(numbers) = found.pointer_mut("/on/machines").and_then(Value::as_array_mut) {
                    numbers.retain(exists);
                }
            }
        }
        for check in self.list_mut("eventually") {
            for numbers in ["/installedOn/machines", "/unschedulable"] {
                if let Some(numbers) = check.pointer_mut(numbers).and_then(Value::as_array_mut) {
                    numbers.retain(exists);
                }
            }
        }
        for fault in self.list_mut("faults") {
            let Some(fault) = fault_mut(fault) else { continue };
            for hosts in ["/hosts", "/scope/hosts"] {
                if let Some(hosts) = fault.pointer_mut(hosts).and_then(Value::as_array_mut) {
                    hosts.retain(exists);
                }
            }
        }
    }

    /// Whether the fleet runs pods.
    pub(crate) fn has_pods(&self) -> bool {
        self.0.pointer("/fleet/pods").is_some()
    }

    /// Sets a property of the pods of the fleet, if it has pods.
    pub(crate) fn set_pods(&mut self, field: &str, value: Value) {
        if let Some(pods) = self.0.pointer_mut("/fleet/pods").and_then(Value::as_object_mut) {
            pods.insert(field.to_owned(), value);
        }
    }

    /// Sets a number of the fleet's shape.
    pub(crate) fn set_fleet(&mut self, field: &str, number: u32) {
        if let Some(fleet) = self.0.get_mut("fleet").and_then(Value::as_object_mut) {
            fleet.insert(field.to_owned(), Value::from(number));
        }
    }

    /// Drops what holds only for the history that the file describes: expectations on the way, required occasions, and
    /// counts. What must hold at the end of any history stays. Returns the names of the dropped checks, sorted.
    pub fn relax(&mut self) -> BTreeSet<String> {
        let defaults = self.last_defaults().cloned();
        let mut dropped = BTreeSet::new();
        let is_lasting = |check: &Value| is_lasting(check, defaults.as_ref());
        for field in ["eventually", "always"] {
            let checks = std::mem::take(self.list_mut(field));
            let (kept, others): (Vec<_>, Vec<_>) = checks.into_iter().partition(is_lasting);
            dropped.extend(others.iter().filter_map(name_of).map(str::to_owned));
            *self.list_mut(field) = kept;
        }
        for moment in self.list_mut("timeline") {
            let expected = moment.as_object_mut().and_then(|moment| moment.remove("expect"));
            let checks = expected.as_ref().and_then(Value::as_array).into_iter().flatten();
            dropped.extend(checks.filter_map(name_of).map(|name| format!("{name} on the way")));
        }
        self.fields_mut().remove("sometimes");
        dropped
    }

    /// The fleet's defaults at the end, if there are any.
    fn last_defaults(&self) -> Option<&Value> {
        let mut defaults = self.list("manifests").iter().rfind(is_defaults);
        for moment in self.list("timeline") {
            let listed = |field| moment.get(field).and_then(Value::as_array).into_iter().flatten();
            if listed("delete").any(|reference| is_defaults(&reference)) {
                defaults = None;
            }
            defaults = listed("apply").rfind(is_defaults).or(defaults);
        }
        defaults
    }

    /// A list of the scenario.
    #[must_use]
    pub(crate) fn list(&self, field: &str) -> &[Value] {
        self.0.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// A list of the scenario. It is empty if omitted.
    pub(crate) fn list_mut(&mut self, field: &str) -> &mut Vec<Value> {
        let list = self.fields_mut().entry(field).or_insert_with(|| Value::Array(Vec::new()));
        if !list.is_array() {
            *list = Value::Array(Vec::new());
        }
        let Value::Array(items) = list else { unreachable!("it was made an array") };
        items
    }

    pub(crate) fn fields_mut(&mut self) -> &mut Map<String, Value> {
        if !self.0.is_object() {
            self.0 = Value::Object(Map::new());
        }
        let Value::Object(fields) = &mut self.0 else { unreachable!("it was made an object") };
        fields
    }
}

/// The fields next to a fault in its map: its trigger, and the time for which it strikes after that.
const TRIGGER_FIELDS: [&str; 2] = ["when", "during"];

/// The name of a fault as a scenario file writes it; empty when it has none.
pub(crate) fn fault_name(fault: &Value) -> &str {
    let names = fault.as_object().into_iter().flat_map(Map::keys);
    names.map(String::as_str).find(|name| !TRIGGER_FIELDS.contains(name)).unwrap_or_default()
}

/// The settings of a fault.
pub(crate) fn fault_mut(fault: &mut Value) -> Option<&mut Value> {
    let fields = fault.as_object_mut()?.iter_mut();
    let mut faults = fields.filter(|(name, _)| !TRIGGER_FIELDS.contains(&name.as_str()));
    faults.next().map(|(_, fault)| fault)
}

/// The number of the machine that a reference names, if it names one.
fn machine_number(reference: &Value) -> Option<u32> {
    if reference.get("kind")?.as_str()? != "Machine" {
        return None;
    }
    reference.get("name")?.as_str()?.strip_prefix("m-")?.parse().ok()
}

/// Whether a check holds at the end of any history that ends with these defaults. What is installed is certain only if
/// the defaults name it: where they do not, it depends on what could be reached or has failed before.
fn is_lasting(check: &Value, defaults: Option<&Value>) -> bool {
    const LASTING: [&str; 4] = ["converged", "nothingRemoved", "gone", "installedOn"];
    if let Some(installed) = check.get("installed").and_then(Value::as_object) {
        let settings = defaults.and_then(|defaults| defaults.pointer("/spec/components")?.as_array());
        return installed.iter().all(|(component, version)| {
            let names = |setting: &&Value| setting["name"] == **component;
            settings
                .and_then(|settings| settings.iter().find(names))
                .is_some_and(|setting| asks(setting, version))
        });
    }
    name_of(check).is_some_and(|name| LASTING.contains(&name))
}

/// Whether a setting of the defaults asks for this version, which is `none` for a removal.
fn asks(setting: &Value, version: &Value) -> bool {
    if setting["state"] == "Absent" { version == "none" } else { setting["version"] == *version }
}

/// Whether an object, or a reference to one, is the fleet's defaults.
fn is_defaults(object: &&Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("ClusterPackageVersion")
}

/// The name of a check.
fn name_of(check: &Value) -> Option<&str> {
    check.as_str().or_else(|| Some(check.as_object()?.keys().next()?.as_str()))
}
