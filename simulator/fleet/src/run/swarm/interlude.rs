//! Additional user actions in a member of the swarm, which users revert after a while: they publish a broken version,
//! pause the fleet, or empty its defaults. At the end everything is as the scenario asks.

use std::time::Duration;

use serde_json::{Value, json};

use super::weather::{Climate, Lots};
use crate::run::plan::Document;
use crate::vocabulary::Length;

/// The broken version.
const BAD: &str = "9.9.9";
const KIND: &str = "ClusterPackageVersion";

/// Draws additional user actions.
pub(super) fn draw(document: &mut Document, lots: Lots, climate: Climate) {
    if lots.below("drawn", "bad version", 4) > 0 {
        publish(document, lots, climate);
    }
    if lots.below("drawn", "pause", 4) == 0 {
        play(document, lots, climate, "pause", |spec| {
            spec.insert("paused".into(), json!(true));
        });
    }
    if lots.below("drawn", "nothing", 4) == 0 {
        play(document, lots, climate, "nothing", |spec| {
            spec.insert("components".into(), json!([]));
        });
    }
}

/// A user publishes a version that fails on some hosts or on all.
fn publish(document: &mut Document, lots: Lots, climate: Climate) -> Option<()> {
    // Only components that the final defaults name are replaced on every machine at the end.
    let defaults = in_force(document, u64::MAX)?;
    let (component, version) =
        defaults.pointer("/spec/components")?.as_array()?.iter().find_map(version_of)?;
    let mut bad = component_of(document, &component, &version)?.clone();
    *bad.pointer_mut("/metadata/name")? = json!(format!("{component}-{BAD}"));
    *bad.pointer_mut("/spec/version")? = json!(BAD);
    let hasty = lots.one("hasty", "bad version", &["34%", "100%"]);
    let played = play(document, lots, climate, "bad version", |spec| {
        // Only `maxFailures` should limit it.
        spec.insert("maxUnavailable".into(), json!(hasty));
        for setting in spec.get_mut("components").and_then(Value::as_array_mut).into_iter().flatten() {
            if version_of(setting).is_some_and(|(name, _)| name == component) {
                setting["version"] = json!(BAD);
            }
        }
    });
    played?;
    document.list_mut("manifests").push(bad);
    let share = lots.one("share", "bad version", &["10%", "50%", "100%", "100%"]);
    let hosts = document.fields_mut().entry("hosts").or_insert_with(|| json!({}));
    let failing = hosts.as_object_mut()?.entry("failing").or_insert_with(|| json!([]));
    failing.as_array_mut()?.push(json!({"version": format!("{component}-{BAD}"), "share": share}));
    Some(())
}

/// Users change the fleet's defaults at some time, and later restore the values that they would have otherwise.
fn play(
    document: &mut Document,
    lots: Lots,
    climate: Climate,
    what: &str,
    change: impl FnOnce(&mut serde_json::Map<String, Value>),
) -> Option<()> {
    const LEAST: u64 = 300;
    let room = climate.quiet.checked_sub(3 * LEAST)?;
    let from = LEAST + lots.below("at", what, room + 1);
    let until = from + LEAST + lots.below("lasting", what, room.min(7_200) + 1);
    let (mut begin, end) = (in_force(document, from)?, in_force(document, until.min(climate.quiet))?);
    change(begin.get_mut("spec")?.as_object_mut()?);
    insert(document, from, &begin);
    insert(document, until.min(climate.quiet), &end);
    Some(())
}

/// The fleet's defaults after so many seconds, if only the timeline changes them and never deletes them.
fn in_force(document: &Document, seconds: u64) -> Option<Value> {
    let is_defaults = |object: &&Value| object.get("kind").and_then(Value::as_str) == Some(KIND);
    let mut defaults = document.list("manifests").iter().rfind(is_defaults);
    for moment in document.list("timeline") {
        let listed = |field| moment.get(field).and_then(Value::as_array).into_iter().flatten();
        if listed("delete").any(|reference| is_defaults(&reference)) {
            return None;
        }
        if at(moment)? <= seconds {
            defaults = listed("apply").rfind(is_defaults).or(defaults);
        }
    }
    defaults.cloned()
}

/// Inserts a moment at which users apply an object, after other moments of the same time.
fn insert(document: &mut Document, seconds: u64, object: &Value) {
    let timeline = document.list_mut("timeline");
    let place = timeline.partition_point(|moment| at(moment).is_some_and(|at| at <= seconds));
    let at = Length(Duration::from_secs(seconds)).to_string();
    timeline.insert(place, json!({"at": at, "apply": [object]}));
}

/// The time of a moment, in seconds since the start of the run.
fn at(moment: &Value) -> Option<u64> {
    Some(Length::parse(moment.get("at")?.as_str()?)?.0.as_secs())
}

/// The component and the version of a setting that asks for a version.
fn version_of(setting: &Value) -> Option<(String, String)> {
    let field = |name| setting.get(name).and_then(Value::as_str).map(str::to_owned);
    Some((field("name")?, field("version")?))
}

/// The `MachineComponent` of a version, if it exists from the start.
fn component_of<'a>(document: &'a Document, component: &str, version: &str) -> Option<&'a Value> {
    document.list("manifests").iter().find(|object| {
        let is = |field, value| object.pointer(field).and_then(Value::as_str) == Some(value);
        is("/kind", "MachineComponent") && is("/spec/component", component) && is("/spec/version", version)
    })
}
