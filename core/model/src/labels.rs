//! The labels of an object.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// The labels of an object, sorted by key. No key is there twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels(Option<Arc<[Label]>>);

/// A key with its value.
type Label = (Arc<str>, Arc<str>);

impl Labels {
    /// The value of a label, if the object has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Arc<str>> {
        let all = self.0.as_deref()?;
        let place = all.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        all.get(place).map(|(_, value)| value)
    }
}

impl FromIterator<Label> for Labels {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        let mut all: Vec<Label> = labels.into_iter().collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all.dedup_by(|(later, _), (first, _)| later == first);
        Self((!all.is_empty()).then(|| all.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_by_their_keys() {
        let labels: Labels = [("zone", "b"), ("pool", "blue")]
            .map(|(key, value)| (key.into(), value.into()))
            .into_iter()
            .collect();
        assert_eq!(labels.get("pool").map(|value| &**value), Some("blue"));
        assert_eq!(labels.get("zone").map(|value| &**value), Some("b"));
        assert_eq!(labels.get("rack"), None);
        assert_eq!(Labels::default().get("pool"), None);
    }
}
