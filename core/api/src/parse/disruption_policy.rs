//! `DisruptionPolicy`.

use std::sync::Arc;

use seaworthy_model::calendar::{Days, Window};
use seaworthy_model::id::{Kind, PolicyId};
use seaworthy_model::meta::Parsed;
use seaworthy_model::policy::{
    Domain, Freeze, PolicyCondition, PolicyConditionKind, PolicyObject, PolicySpec, PolicyStatus,
};
use seaworthy_model::time::Timestamp;

use super::faults::{Faults, Field};
use super::label_selector::label_selector;
use super::metadata::{MetadataError, metadata};
use super::package_version::count_or_percent;
use super::zone::zone;
use super::{status, text};
use crate::names::Names;
use crate::object::DisruptionPolicy;
use crate::prefix::prefix;
use crate::render::policy_words;
use crate::v1alpha1::{self, DisruptionPolicySpec, IntOrString};

/// Reads a `DisruptionPolicy`.
///
/// # Errors
/// When the metadata is invalid. Faults of the spec are part of the result.
pub fn disruption_policy(
    object: &DisruptionPolicy,
    names: &mut Names,
) -> Result<(PolicyId, PolicyObject), MetadataError> {
    let meta = metadata(Kind::DisruptionPolicy, &object.metadata)?;
    let id = names.id(&object.metadata.name);
    let status = object.status.as_ref().map(policy_status).unwrap_or_default();
    Ok((id, PolicyObject { meta, spec: spec(&object.spec), status }))
}

fn spec(read: &DisruptionPolicySpec) -> Parsed<PolicySpec> {
    let mut faults = Faults::default();
    let root = Field::root("spec");
    let selector = read.selector.as_ref();
    let selector = selector.map(|selector| label_selector(root.name("selector"), selector, &mut faults));
    let per = domain(root, read, &mut faults);
    let mut limit = |name, limit: &Option<IntOrString>| {
        limit.as_ref().map(|limit| count_or_percent(root.name(name), limit, &mut faults))
    };
    let in_flight = limit("inFlight", &read.in_flight);
    let (per_hour, per_day) = (limit("perHour", &read.per_hour), limit("perDay", &read.per_day));
    let list = root.name("windows");
    faults.at_most(list, read.windows.len(), 16);
    let windows = read.windows.iter().enumerate();
    let windows = windows.filter_map(|(index, read)| window(list.index(index), read, &mut faults)).collect();
    let list = root.name("freezes");
    faults.at_most(list, read.freezes.len(), 32);
    let freezes = read.freezes.iter().enumerate();
    let freezes = freezes.filter_map(|(index, read)| freeze(list.index(index), read, &mut faults)).collect();
    let paused = read.paused;
    let selector = selector.unwrap_or_default();
    faults.result(Some(Arc::new(PolicySpec {
        selector,
        per,
        in_flight,
        per_hour,
        per_day,
        windows,
        freezes,
        paused,
    })))
}

fn domain(root: Field<'_>, read: &DisruptionPolicySpec, faults: &mut Faults) -> Domain {
    let field = root.name("labelKey");
    if let Some(key) = &read.label_key {
        faults.require(field, text::is_label_key(key), text::LABEL_KEY);
    }
    let is_by_label = read.per == "Label";
    let message = "must be given for per: Label, and for nothing else";
    faults.require(field, is_by_label == read.label_key.is_some(), message);
    match (read.per.as_str(), &read.label_key) {
        ("Fleet", _) => Domain::Fleet,
        ("Idc", _) => Domain::Idc,
        ("Rack", _) => Domain::Rack,
        ("Label", key) => Domain::Label(key.as_deref().unwrap_or_default().into()),
        _ => {
            faults.add(root.name("per"), "must be Fleet, Idc, Rack or Label");
            Domain::Fleet
        }
    }
}

fn window(field: Field<'_>, read: &v1alpha1::DisruptionWindow, faults: &mut Faults) -> Option<Window> {
    let list = field.name("days");
    faults.unique(list, "", read.days.iter().map(String::as_str));
    let mut days = if read.days.is_empty() { Days::ALL } else { Days::default() };
    for (index, name) in read.days.iter().enumerate() {
        match (0..).zip(Days::NAMES).find(|(_, known)| known == name) {
            Some((day, _)) => days = days.with(day),
            None => faults.add(list.index(index), "must be a day of the week in English, such as Monday"),
        }
    }
    let start = time_of_day(&read.start);
    faults.require(field.name("start"), start.is_some(), "must be a time such as 22:00, up to 23:59");
    let duration = text::duration(&read.duration).filter(|duration| *duration <= Window::LONGEST);
    let message = "must be a duration from 1s to 168h, such as 6h or 1h30m";
    faults.require(field.name("duration"), duration.is_some(), message);
    let zone = zone(&read.time_zone);
    let message = "must be the name of a time zone, such as Europe/Berlin or UTC";
    faults.require(field.name("timeZone"), zone.is_some(), message);
    Some(Window { days, start: start?, duration: duration?, zone: zone? })
}

/// Seconds after midnight.
fn time_of_day(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, below: u32| {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|number| is_plain && *number < below)
    };
    Some(number(hours, 24)? * 3600 + number(minutes, 60)? * 60)
}

fn freeze(field: Field<'_>, read: &v1alpha1::DisruptionFreeze, faults: &mut Faults) -> Option<Freeze> {
    let mut time = |name, written: Option<Timestamp>| {
        let message = "must be a time such as 2026-12-24T00:00:00Z";
        faults.require(field.name(name), written.is_some(), message);
        written
    };
    let (from, until) = (time("from", read.from.get()), time("until", read.until.get()));
    if let (Some(from), Some(until)) = (from, until) {
        faults.require(field.name("until"), from < until, "must be later than from");
    }
    Some(Freeze { from: from?, until: until?, reason: prefix(&read.reason, Freeze::REASON_MAX).into() })
}

/// Reads the status of a `DisruptionPolicy`.
#[must_use]
pub fn policy_status(status: &v1alpha1::DisruptionPolicyStatus) -> PolicyStatus {
    let read: Vec<PolicyCondition> = status.conditions.iter().filter_map(condition).collect();
    let last = |kind: PolicyConditionKind| read.iter().rev().find(|read| read.kind == kind).cloned();
    PolicyStatus {
        observed_generation: u64::try_from(status.observed_generation).unwrap_or(0),
        conditions: PolicyConditionKind::ALL.into_iter().filter_map(last).collect(),
    }
}

/// A condition by default has a reason that a policy never has.
fn condition(condition: &v1alpha1::Condition) -> Option<PolicyCondition> {
    Some(PolicyCondition {
        kind: policy_words::kind_from(&condition.r#type)?,
        truth: status::truth(&condition.status)?,
        reason: policy_words::reason_from(&condition.reason)?,
        detail: None,
        since: condition.last_transition_time.get()?,
        observed_generation: u64::try_from(condition.observed_generation).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(written: Value) -> Result<Arc<PolicySpec>, Vec<String>> {
        let read = spec(&serde_json::from_value(written).unwrap());
        read.map_err(|all| all.into_iter().map(|fault| fault.field).collect())
    }

    #[test]
    fn a_policy_without_anything_limits_nothing() {
        let spec = read(json!({})).unwrap();
        assert_eq!((&spec.per, spec.in_flight, spec.paused), (&Domain::Fleet, None, false));
        assert!(spec.selector.is_everything() && spec.windows.is_empty() && spec.freezes.is_empty());
        assert!(read(json!({ "paused": true })).unwrap().is_kill_switch());
        let some = json!({ "paused": true, "selector": { "matchLabels": { "pool": "blue" } } });
        assert!(!read(some).unwrap().is_kill_switch());
    }

    #[test]
    fn windows_and_freezes_are_read() {
        let spec = read(json!({
            "per": "Label",
            "labelKey": "pool",
            "perDay": "10%",
            "windows": [{ "days": ["Monday"], "start": "22:30", "duration": "6h", "timeZone": "Europe/Berlin" }],
            "freezes": [{ "from": "2026-12-23T22:00:00Z", "until": "2026-12-27T00:00:00Z", "reason": "sale" }],
        }));
        let spec = spec.unwrap();
        assert_eq!(spec.per, Domain::Label("pool".into()));
        assert_eq!((spec.windows[0].start, spec.windows[0].days), (81_000, Days::default().with(0)));
        assert_eq!(&*spec.freezes[0].reason, "sale");
    }

    #[test]
    fn every_fault_names_its_field() {
        let faulty = json!({
            "selector": { "matchExpressions": [{ "key": "a", "operator": "Is" }] },
            "per": "Row",
            "labelKey": "pool",
            "inFlight": "101%",
            "perHour": -1,
            "windows": [
                { "days": ["Mon", "Friday", "Friday"], "start": "24:00", "duration": "169h", "timeZone": "Berlin" },
                { "start": "9:00", "duration": "1h" },
            ],
            "freezes": [{ "from": "2026-12-27T00:00:00Z", "until": "2026-12-27T00:00:00Z" }],
        });
        let fields = [
            "spec.selector.matchExpressions[0].operator",
            "spec.labelKey",
            "spec.per",
            "spec.inFlight",
            "spec.perHour",
            "spec.windows[0].days[2]",
            "spec.windows[0].days[0]",
            "spec.windows[0].start",
            "spec.windows[0].duration",
            "spec.windows[0].timeZone",
            "spec.windows[1].start",
            "spec.freezes[0].until",
        ];
        assert_eq!(read(faulty), Err(fields.map(String::from).to_vec()));
        assert_eq!(read(json!({ "per": "Label" })), Err(vec!["spec.labelKey".into()]));
    }
}
