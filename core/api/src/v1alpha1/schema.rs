//! Patterns and rules that the schemas of several kinds share. The same limits are enforced once more, with the
//! same words, in [`parse`](crate::parse).

use serde_json::{Value, json};

/// A DNS label: component names.
pub(crate) const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A DNS subdomain: versions (they end object names), Secret names, host names.
pub(crate) const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A label value: data centres, racks.
pub(crate) const LABEL_VALUE: &str = "^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$";
/// A SHA-256 digest.
pub(crate) const SHA256: &str = "^[0-9a-f]{64}$";

/// A rule in CEL.
pub(crate) struct Rule {
    /// What must hold.
    pub(crate) rule: &'static str,
    /// The field to blame, relative to where the rule stands: `.version`; empty for that place itself.
    pub(crate) field: &'static str,
    /// What a person who broke it is told.
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

/// The rules for a limit that is a number or a percentage.
pub(crate) fn count_or_percent() -> Value {
    rule(
        "type(self) == int ? self >= 0 && self <= 1000000 : self.matches('^(100|[1-9]?[0-9])%$')",
        "must be a number from 0 to 1000000, or a percentage from \"0%\" to \"100%\"",
    )
}
