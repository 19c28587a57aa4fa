//! Patterns and rules that the schemas of several kinds share. The same limits are enforced once more, with the
//! same words, in [`parse`](crate::parse).

use std::collections::BTreeSet;

use schemars::Schema;
use seaworthy_model::calendar::Days;
use seaworthy_model::host_path::{HOMES, IDENTITY_HOMES, SYSTEM, UNITS, UNLINKED};
use seaworthy_model::package_version::Rollout;
use seaworthy_model::strategy::Strategy;
use serde_json::{Value, json};

use crate::host_path::{COMPONENT_UNIT, IDENTITY_PLACE, LINKABLE, REMOVABLE};

/// A number of at most 65535.
macro_rules! number {
    () => {
        "(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
    };
}

/// A DNS label: component names.
pub(crate) const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A DNS subdomain: versions (they end object names), Secret names, host names.
pub(crate) const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// Three numbers of at most 65535: what rules about versions compare.
pub(crate) const VERSION_NUMBER: &str = concat!("^", number!(), r"\.", number!(), r"\.", number!(), "$");
/// A label value: data centres, racks.
pub(crate) const LABEL_VALUE: &str = "^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$";
/// A label value, or none.
pub(crate) const ANY_LABEL_VALUE: &str = "^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$";
/// The rule for the key of a label: at most 253 characters of prefix and 63 of name.
pub(crate) const QUALIFIED: &str = r"self.indexOf('/') <= 253 && self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$')";
/// The message for a text that cannot be the key of a label.
pub(crate) const LABEL_KEY: &str = "keys must be a name of at most 63 letters, digits and -_. that starts and ends with a \
                                    letter or digit, after a DNS subdomain and '/' or alone";
/// The message for a key that a Machine may not set.
pub(crate) const RESERVED_KEY: &str = "keys in kubernetes.io, k8s.io and seaworthy.dev are reserved, but for \
                                       node-role.kubernetes.io/ and node-restriction.kubernetes.io/";
/// The message for values that do not fit the operator of a label selector.
pub(crate) const SELECTOR_VALUES: &str =
    "must not be empty for In and NotIn, and must be left out for Exists and DoesNotExist";
/// The message for a selector of a set that selects everything.
pub(crate) const EMPTY_SELECTOR: &str =
    "must not be empty: what all machines have belongs into the ClusterPackageVersion";
/// A SHA-256 digest.
pub(crate) const SHA256: &str = "^[0-9a-f]{64}$";

/// Makes a field a list of at most `most` items that server-side apply merges item by item: those with the same values of
/// `keys` are one item. `keys` are names of fields, separated by commas: an attribute takes no array.
pub(crate) fn list_map(most: u32, keys: &'static str) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.insert("maxItems".into(), most.into());
        schema.insert("x-kubernetes-list-type".into(), "map".into());
        schema.insert("x-kubernetes-list-map-keys".into(), keys.split(',').collect());
    }
}

/// Makes a field a list of the ranks of machines.
pub(crate) fn ranks() -> impl FnMut(&mut Schema) {
    |schema| {
        schema.insert("maxItems".into(), Rollout::RANKS_MAX.into());
        schema.insert(
            "items".into(),
            json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX }),
        );
        schema.insert("x-kubernetes-list-type".into(), "atomic".into());
    }
}

/// Makes a field a list of at most so many items that is written as a whole.
pub(crate) fn atomic_list(most: u32) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.insert("maxItems".into(), most.into());
        schema.insert("x-kubernetes-list-type".into(), "atomic".into());
    }
}

/// Makes a field a list of days of the week.
pub(crate) fn days() -> impl FnMut(&mut Schema) {
    |schema| {
        schema.insert("maxItems".into(), Days::NAMES.len().into());
        schema.insert("items".into(), json!({ "type": "string", "enum": Days::NAMES }));
        schema.insert("x-kubernetes-list-type".into(), "set".into());
    }
}

/// Makes a field a list of at most so many values of labels.
pub(crate) fn label_values(most: u32) -> impl FnMut(&mut Schema) {
    move |schema| {
        atomic_list(most)(schema);
        let item = json!({ "type": "string", "maxLength": 63, "pattern": ANY_LABEL_VALUE });
        schema.insert("items".into(), item);
    }
}

/// Makes a field a list of at most so many texts of at most so many characters.
pub(crate) fn texts(most: u32, longest: u32) -> impl FnMut(&mut Schema) {
    move |schema| {
        atomic_list(most)(schema);
        let item = json!({ "type": "string", "minLength": 1, "maxLength": longest });
        schema.insert("items".into(), item);
    }
}

/// Makes a field a list of the ends of batches.
pub(crate) fn batches() -> impl FnMut(&mut Schema) {
    atomic_list(u32::try_from(Strategy::BATCHES_MAX).unwrap_or(u32::MAX))
}

/// Makes a field a text of `least` to `most` characters that keeps `rules`.
pub(crate) fn text(least: u32, most: u32, rules: Value) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.insert("minLength".into(), least.into());
        schema.insert("maxLength".into(), most.into());
        schema.insert("x-kubernetes-validations".into(), rules.clone());
    }
}

/// A rule in CEL.
pub(crate) struct Rule {
    /// What must hold.
    pub(crate) rule: &'static str,
    /// The field to blame, relative to where the rule stands: `.version`; empty for that place itself.
    pub(crate) field: &'static str,
    /// The message for a person who broke it.
    pub(crate) message: &'static str,
}

/// Rules as a schema has them.
pub(crate) fn rules(rules: &[Rule]) -> Value {
    let rules = rules.iter().map(|Rule { rule, field, message }| {
        let mut value = json!({ "rule": rule, "message": message });
        if !field.is_empty() {
            value["fieldPath"] = json!(field);
        }
        value
    });
    rules.collect()
}

/// A single rule about the place where it stands.
pub(crate) fn rule(rule: &'static str, message: &'static str) -> Value {
    rules(&[Rule { rule, field: "", message }])
}

/// The rule for a path inside a release.
pub(crate) fn relative_path() -> Value {
    rule(
        r"self.matches('^\\.?[A-Za-z0-9_@+%=,:-][A-Za-z0-9._@+%=,:-]*(/\\.?[A-Za-z0-9_@+%=,:-][A-Za-z0-9._@+%=,:-]*)*$')",
        "must be a relative path without '..', made of letters, digits and ._@+%=,:-",
    )
}

/// The rule for a path on the host.
pub(crate) fn absolute_path() -> Value {
    rule(
        r"self.matches('^(/\\.?[A-Za-z0-9_@+%=,:-][A-Za-z0-9._@+%=,:-]*)+$')",
        "must be an absolute path without '..', made of letters, digits and ._@+%=,:-",
    )
}

/// The rules for a link on the host.
pub(crate) fn linkable_path() -> Value {
    let above: BTreeSet<&str> = UNLINKED.into_iter().flat_map(above).collect();
    let above: Vec<String> = above.into_iter().map(|path| format!("'{path}'")).collect();
    let rule = format!(
        "!self.matches('^({})(/|$)') && !self.matches('/systemd/(.*/)?({})') && !(self in [{}])",
        alternatives(&UNLINKED),
        alternatives(&UNITS),
        above.join(", ")
    );
    absolute_path_that(&rule, LINKABLE)
}

/// The rules for the file of a node's identity.
pub(crate) fn identity_path() -> Value {
    let rule = format!(
        "self.matches('^({})/[^/]+/') && !self.matches('^({})(/|$)')",
        alternatives(&IDENTITY_HOMES),
        alternatives(&SYSTEM)
    );
    absolute_path_that(&rule, IDENTITY_PLACE)
}

/// The rules for a path that hosts delete.
pub(crate) fn removable_path() -> Value {
    let (homes, system) = (alternatives(&HOMES), alternatives(&SYSTEM));
    let rule = format!("self.matches('^({homes})/') && !self.matches('^({system})(/|$)')");
    absolute_path_that(&rule, REMOVABLE)
}

/// The rule for a path on the host, and one more.
fn absolute_path_that(rule: &str, message: &str) -> Value {
    let mut rules = absolute_path();
    if let Value::Array(rules) = &mut rules {
        rules.push(json!({ "rule": rule, "message": message }));
    }
    rules
}

/// The rules for the name of a unit.
pub(crate) fn component_unit() -> Value {
    let rule = format!("!self.matches('^({})')", alternatives(&UNITS));
    Value::Array(vec![json!({ "rule": rule, "message": COMPONENT_UNIT })])
}

/// Texts as a regular expression that matches each of them, inside a text in CEL.
fn alternatives(texts: &[&str]) -> String {
    texts.join("|").replace('.', r"\\.")
}

/// A path and all directories above it.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(index, _)| index).skip(1).chain([path.len()]);
    ends.map(|end| &path[..end])
}

/// The rules for a duration.
pub(crate) fn duration() -> Value {
    rule(
        "self.matches('^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$') && duration(self) >= duration('1s') \
         && duration(self) <= duration('8760h')",
        "must be a duration from 1s to 8760h, such as 24h or 1h30m",
    )
}

/// The rules for a duration of at most a week.
pub(crate) fn week() -> Value {
    rule(
        "self.matches('^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$') && duration(self) >= duration('1s') \
         && duration(self) <= duration('168h')",
        "must be a duration from 1s to 168h, such as 6h or 1h30m",
    )
}

/// The rules for a limit that is a number or a percentage.
pub(crate) fn count_or_percent() -> Value {
    rule(
        "type(self) == int ? self >= 0 && self <= 1000000 : self.matches('^(100|[1-9]?[0-9])%$')",
        "must be a number from 0 to 1000000, or a percentage from \"0%\" to \"100%\"",
    )
}
