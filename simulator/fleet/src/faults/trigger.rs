//! Exact moments at which a fault strikes: at the n-th change of an object that matches, before or after the k-th write of
//! an operator, at a step of an operation on a host, and combinations of them.
//!
//! A trigger fires once, at the instant at which it becomes true. Its parts are counted from the start of the run.

use std::collections::BTreeMap;

use seaworthy_api::object::Resource;
use seaworthy_kernel::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::vocabulary::{Author, Destination, KindName, Length, Point, START, Side, Step, Verb};

/// The instant at which a fault strikes. A trigger fires once, when it becomes true.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Trigger {
    /// A change of an object was committed.
    Commit(Commit),
    /// An operator sends a write to the API server, or an order that changes something to a host.
    Write(Write),
    /// A host begins a step of an operation.
    Step(AtStep),
    /// This time has passed since the start of the run.
    After(Length),
    /// All of these have happened, in any order.
    All(Vec<Self>),
    /// One of these has happened.
    Any(Vec<Self>),
}

/// A committed change of an object.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Commit {
    /// The kind of the object.
    pub kind: KindName,
    /// The name of the object, in which `*` stands for any text. Any name if omitted.
    #[serde(default)]
    pub name: Option<String>,
    /// The kind of the change. Any change if omitted.
    #[serde(default)]
    pub verb: Option<Verb>,
    /// The author of the change. Any author if omitted.
    #[serde(default)]
    pub by: Option<Author>,
    /// The values that fields of the object must have after the change. A path is dotted. An element of a list is
    /// addressed by its index, `name`, `type` or `component`: `status.conditions.Ready.status`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, Value>"))]
    pub r#where: BTreeMap<String, Value>,
    /// The fields that the change must alter, as paths.
    #[serde(default)]
    pub changes: Vec<String>,
    /// The number of the matching change at which the trigger fires, counted from one. The first one if omitted.
    #[serde(default = "first")]
    pub nth: u32,
}

/// A write of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Write {
    /// The destination of the write. Any destination if omitted.
    #[serde(default)]
    pub to: Option<Destination>,
    /// The side of the write: before it leaves the operator, or after it took effect and before the reply. `before` if
    /// omitted.
    #[serde(default)]
    pub side: Side,
    /// The number of the matching write at which the trigger fires, counted from one over all operator processes. The
    /// first one if omitted.
    #[serde(default = "first")]
    pub nth: u32,
}

/// A step of an operation on a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AtStep {
    /// The step that begins.
    pub at: Step,
    /// The hosts, by number. Any host if omitted.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The number of the matching step at which the trigger fires, counted from one. The first one if omitted.
    #[serde(default = "first")]
    pub nth: u32,
}

const fn first() -> u32 {
    1
}

/// The progress of a trigger: the number of times that each of its parts has happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    counts: Vec<u32>,
}

impl Progress {
    /// Applies a happening. Returns true if the trigger is now true.
    pub(crate) fn advance(&mut self, trigger: &Trigger, point: &Point<'_>, now: Timestamp) -> bool {
        self.part(trigger, point, now, &mut 0)
    }

    fn part(&mut self, trigger: &Trigger, point: &Point<'_>, now: Timestamp, place: &mut usize) -> bool {
        let (nth, hit) = match trigger {
            // Every part must count, so do not stop at the first one that has not fired.
            Trigger::All(parts) => {
                return parts.iter().filter(|part| !self.part(part, point, now, place)).count() == 0;
            }
            Trigger::Any(parts) => {
                return parts.iter().filter(|part| self.part(part, point, now, place)).count() > 0;
            }
            Trigger::After(length) => return now.since(START) >= length.0,
            Trigger::Commit(commit) => (commit.nth, commit.matches(point)),
            Trigger::Write(write) => (write.nth, write.matches(point)),
            Trigger::Step(step) => (step.nth, step.matches(point)),
        };
        if self.counts.len() <= *place {
            self.counts.resize(*place + 1, 0);
        }
        let count = &mut self.counts[*place];
        *place += 1;
        *count = count.saturating_add(u32::from(hit));
        *count >= nth
    }
}

impl Trigger {
    /// The times at which the trigger may become true without another event.
    pub(crate) fn times(&self) -> Vec<Timestamp> {
        match self {
            Self::After(length) => vec![START + length.0],
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::times).collect(),
            Self::Commit(_) | Self::Write(_) | Self::Step(_) => Vec::new(),
        }
    }

    /// The first problem of the trigger, with its field, in a fleet of this many hosts.
    pub(crate) fn problem(&self, hosts: u32) -> Option<String> {
        let counted = |nth: u32| (nth == 0).then(|| "nth: is counted from one".to_owned());
        match self {
            Self::Commit(commit) => counted(commit.nth),
            Self::Write(write) => counted(write.nth),
            Self::Step(step) => {
                let missing = step.hosts.iter().find(|host| **host >= hosts);
                counted(step.nth)
                    .or_else(|| missing.map(|host| format!("hosts: there is no host {host} among {hosts}")))
            }
            Self::After(_) => None,
            Self::All(parts) | Self::Any(parts) if parts.is_empty() => {
                Some("a combination of nothing never happens".into())
            }
            Self::All(parts) | Self::Any(parts) => parts.iter().find_map(|part| part.problem(hosts)),
        }
    }
}

impl Commit {
    fn matches(&self, point: &Point<'_>) -> bool {
        let Point::Commit { verb, by, object, before } = *point else { return false };
        object.kind() == self.kind.kind()
            && self.verb.is_none_or(|wanted| wanted == verb)
            && self.by.is_none_or(|wanted| wanted == by)
            && self.name.as_ref().is_none_or(|pattern| is_like(&object.metadata().name, pattern))
            && self.fields_match(object, before)
    }

    fn fields_match(&self, object: &Resource, before: Option<&Resource>) -> bool {
        if self.r#where.is_empty() && self.changes.is_empty() {
            return true;
        }
        let (after, before) = (tree(object), before.map_or(Value::Null, tree));
        self.r#where.iter().all(|(path, value)| field(&after, path) == Some(value))
            && self.changes.iter().all(|path| field(&after, path) != field(&before, path))
    }
}

impl Write {
    fn matches(&self, point: &Point<'_>) -> bool {
        let Point::Write { to, side } = *point else { return false };
        side == self.side && self.to.is_none_or(|wanted| wanted == to)
    }
}

impl AtStep {
    fn matches(&self, point: &Point<'_>) -> bool {
        let Point::Step { host, step } = *point else { return false };
        step == self.at && (self.hosts.is_empty() || self.hosts.contains(&host))
    }
}

/// An object as the API shows it.
fn tree(object: &Resource) -> Value {
    serde_json::to_value(object).unwrap_or(Value::Null)
}

/// The field at a dotted path.
fn field<'a>(tree: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(tree, |tree, segment| {
        if let Value::Array(elements) = tree {
            let named = |element: &&Value| {
                let is = |key: &str| element.get(key).and_then(Value::as_str) == Some(segment);
                is("name") || is("type") || is("component")
            };
            let place = segment.parse::<usize>().ok();
            return place.and_then(|place| elements.get(place)).or_else(|| elements.iter().find(named));
        }
        tree.get(segment)
    })
}

/// Whether `text` matches `pattern`, in which `*` stands for anything.
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            let mut starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts.any(|at| is_like(&rest[at..], tail))
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use seaworthy_api::object::{Metadata, Node};

    use super::*;

    fn node(name: &str, ready: &str) -> Resource {
        let mut node = Node { metadata: Metadata::named(name), ..Node::default() };
        let status = format!(r#"{{"conditions": [{{"type": "Ready", "status": "{ready}"}}]}}"#);
        node.status = serde_json::from_str(&status).unwrap();
        Resource::Node(Box::new(node))
    }

    fn update<'a>(object: &'a Resource, before: &'a Resource) -> Point<'a> {
        Point::Commit { verb: Verb::Update, by: Author::Other, object, before: Some(before) }
    }

    fn read(text: &str) -> Trigger {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_nth_change_that_matches_fires() {
        let trigger = read(
            r#"{"commit": {"kind": "Node", "name": "m-*3", "nth": 2, "changes": ["status.conditions.Ready"],
                "where": {"status.conditions.Ready.status": "False"}}}"#,
        );
        let mut progress = Progress::default();
        let (good, bad) = (node("m-03", "True"), node("m-03", "False"));
        let (other, other_bad) = (node("m-04", "True"), node("m-04", "False"));
        let mut fires = |point: Point<'_>| progress.advance(&trigger, &point, START);
        assert!(!fires(update(&bad, &good)));
        assert!(!fires(update(&good, &bad)));
        assert!(!fires(update(&bad, &bad)));
        assert!(!fires(update(&other_bad, &other)));
        assert!(fires(update(&bad, &good)));
    }

    #[test]
    fn combinations_count_all_their_parts() {
        let trigger = read(
            r#"{"all": [{"write": {"nth": 2, "side": "after"}},
                {"any": [{"step": {"at": "swap", "hosts": [7]}}, {"after": "1h"}]}]}"#,
        );
        let mut progress = Progress::default();
        let write = Point::Write { to: Destination::Api, side: Side::After };
        let step = |host| Point::Step { host, step: Step::Swap };
        let later = START + Duration::from_secs(3600);
        assert!(!progress.advance(&trigger, &write, START));
        assert!(!progress.advance(&trigger, &step(6), START));
        assert!(!progress.advance(&trigger, &write, START));
        let mut other = progress.clone();
        assert!(progress.advance(&trigger, &step(7), START));
        assert!(other.advance(&trigger, &Point::Time, later));
        assert_eq!(trigger.times(), [later]);
    }

    #[test]
    fn patterns() {
        for (text, pattern) in
            [("m-00012", "m-*"), ("m-00012", "*2"), ("abc", "a*b*c"), ("abc", "abc"), ("", "*")]
        {
            assert!(is_like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("m-00012", "n-*"), ("abc", "a*d"), ("abc", "ab"), ("abc", "")] {
            assert!(!is_like(text, pattern), "{text} {pattern}");
        }
    }

    #[test]
    fn triggers_that_never_fire_are_refused() {
        let problem = |text: &str| read(text).problem(10).unwrap_or_default();
        assert!(problem(r#"{"write": {"nth": 0}}"#).contains("counted from one"));
        assert!(problem(r#"{"all": []}"#).contains("never happens"));
        assert!(problem(r#"{"any": [{"step": {"at": "probe", "hosts": [10]}}]}"#).contains("no host 10"));
        assert_eq!(problem(r#"{"after": "1h"}"#), "");
    }
}
