//! Label selectors.

use std::sync::Arc;

use seaworthy_model::selector::{LabelOperator, LabelRequirement, Selector};

use super::faults::{Faults, Field};
use super::text;
use crate::v1alpha1;

/// The message for values that do not fit their operator.
const VALUES: &str = "must not be empty for In and NotIn, and must be left out for Exists and DoesNotExist";

/// Reads a label selector. The result is not used if there is a fault.
pub(super) fn label_selector(
    field: Field<'_>,
    read: &v1alpha1::LabelSelector,
    faults: &mut Faults,
) -> Selector {
    let labels = field.name("matchLabels");
    faults.at_most(labels, read.match_labels.len(), 16);
    let mut selector = Selector::default();
    for (key, value) in &read.match_labels {
        faults.require(labels.key(key), text::is_label_key(key), text::LABEL_KEY);
        faults.require(labels.key(key), is_value(value), text::LABEL_VALUE);
        let operator = LabelOperator::In(vec![value.as_str().into()]);
        selector.requirements.push(LabelRequirement { key: key.as_str().into(), operator });
    }
    let list = field.name("matchExpressions");
    faults.at_most(list, read.match_expressions.len(), 16);
    for (index, expression) in read.match_expressions.iter().enumerate() {
        selector.requirements.extend(requirement(list.index(index), expression, faults));
    }
    selector
}

fn requirement(
    field: Field<'_>,
    read: &v1alpha1::LabelExpression,
    faults: &mut Faults,
) -> Option<LabelRequirement> {
    faults.require(field.name("key"), text::is_label_key(&read.key), text::LABEL_KEY);
    let list = field.name("values");
    faults.at_most(list, read.values.len(), 32);
    for (index, value) in read.values.iter().enumerate() {
        faults.require(list.index(index), is_value(value), text::LABEL_VALUE);
    }
    let values = || read.values.iter().map(|value| Arc::from(value.as_str())).collect();
    let (operator, has_values) = match read.operator.as_str() {
        "In" => (LabelOperator::In(values()), true),
        "NotIn" => (LabelOperator::NotIn(values()), true),
        "Exists" => (LabelOperator::Exists, false),
        "DoesNotExist" => (LabelOperator::DoesNotExist, false),
        _ => {
            faults.add(field.name("operator"), "must be In, NotIn, Exists or DoesNotExist");
            return None;
        }
    };
    faults.require(list, has_values != read.values.is_empty(), VALUES);
    Some(LabelRequirement { key: read.key.as_str().into(), operator })
}

fn is_value(value: &str) -> bool {
    value.is_empty() || text::is_label_value(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(selector: Value) -> Result<Selector, Vec<String>> {
        let mut faults = Faults::default();
        let written = serde_json::from_value(selector).unwrap();
        let read = label_selector(Field::root("spec").name("selector"), &written, &mut faults);
        faults.result(Some(read)).map_err(|all| all.into_iter().map(|fault| fault.field).collect())
    }

    #[test]
    fn labels_and_expressions_are_requirements() {
        let both = json!({
            "matchLabels": { "pool": "blue" },
            "matchExpressions": [
                { "key": "example.com/zone", "operator": "NotIn", "values": ["b", ""] },
                { "key": "spare", "operator": "DoesNotExist" },
            ],
        });
        let requirement = |key: &str, operator| LabelRequirement { key: key.into(), operator };
        let requirements = vec![
            requirement("pool", LabelOperator::In(vec!["blue".into()])),
            requirement("example.com/zone", LabelOperator::NotIn(vec!["b".into(), "".into()])),
            requirement("spare", LabelOperator::DoesNotExist),
        ];
        assert_eq!(read(both), Ok(Selector { requirements }));
        assert_eq!(read(json!({})), Ok(Selector::default()));
    }

    #[test]
    fn every_fault_names_its_field() {
        let faulty = json!({
            "matchLabels": { "-": "blue", "pool": "not ok" },
            "matchExpressions": [
                { "key": "", "operator": "Exists" },
                { "key": "a", "operator": "in", "values": ["x"] },
                { "key": "a", "operator": "In" },
                { "key": "a", "operator": "Exists", "values": ["x"] },
                { "key": "a", "operator": "In", "values": ["x", "y z"] },
            ],
        });
        let fields = [
            "spec.selector.matchLabels[\"-\"]",
            "spec.selector.matchLabels[\"pool\"]",
            "spec.selector.matchExpressions[0].key",
            "spec.selector.matchExpressions[1].operator",
            "spec.selector.matchExpressions[2].values",
            "spec.selector.matchExpressions[3].values",
            "spec.selector.matchExpressions[4].values[1]",
        ];
        assert_eq!(read(faulty), Err(fields.map(String::from).to_vec()));
    }
}
