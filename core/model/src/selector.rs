//! Label selectors, as Kubernetes has them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::labels::Labels;

/// Selects objects by their labels: those that meet every requirement. Without a requirement it selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selector {
    /// What all have to hold.
    pub requirements: Vec<LabelRequirement>,
}

/// What has to hold of one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelRequirement {
    /// The key of the label.
    pub key: Arc<str>,
    /// How its value is judged.
    pub operator: LabelOperator,
}

/// How the value of a label is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelOperator {
    /// The object has the label, with one of these values.
    In(Vec<Arc<str>>),
    /// The object does not have the label, or has it with another value.
    NotIn(Vec<Arc<str>>),
    /// The object has the label.
    Exists,
    /// The object does not have the label.
    DoesNotExist,
}

impl Selector {
    /// Whether it selects an object with these labels.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.holds(labels))
    }

    /// Whether it selects all objects, whatever their labels.
    #[must_use]
    pub const fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl LabelRequirement {
    /// Whether it holds of an object with these labels.
    #[must_use]
    pub fn holds(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match &self.operator {
            LabelOperator::In(values) => value.is_some_and(|value| values.contains(value)),
            LabelOperator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn labels(all: &[(&str, &str)]) -> Labels {
        all.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    fn selector(operator: LabelOperator) -> Selector {
        Selector { requirements: vec![LabelRequirement { key: "pool".into(), operator }] }
    }

    #[test]
    fn each_operator_judges_as_that_of_kubernetes_does() {
        let [without, blue, green] = [&[][..], &[("pool", "blue")], &[("pool", "green")]].map(labels);
        let judged = |operator| {
            let selector = selector(operator);
            [&without, &blue, &green].map(|labels| selector.matches(labels))
        };
        assert_eq!(judged(LabelOperator::In(vec!["blue".into(), "red".into()])), [false, true, false]);
        assert_eq!(judged(LabelOperator::NotIn(vec!["blue".into(), "red".into()])), [true, false, true]);
        assert_eq!(judged(LabelOperator::Exists), [false, true, true]);
        assert_eq!(judged(LabelOperator::DoesNotExist), [true, false, false]);
    }

    #[test]
    fn all_requirements_hold_at_once_and_none_select_everything() {
        let mut both = selector(LabelOperator::Exists);
        let zone = LabelOperator::In(vec!["b".into()]);
        both.requirements.push(LabelRequirement { key: "zone".into(), operator: zone });
        assert!(both.matches(&labels(&[("pool", "blue"), ("zone", "b")])));
        assert!(!both.matches(&labels(&[("pool", "blue"), ("zone", "c")])));
        assert!(!both.matches(&labels(&[("zone", "b")])));
        assert!(!both.is_everything());
        assert!(Selector::default().is_everything());
        assert!(Selector::default().matches(&labels(&[])));
        assert!(Selector::default().matches(&labels(&[("pool", "blue")])));
    }
}
