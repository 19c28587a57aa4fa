//! Texts that many objects have in common: each is kept in memory once.

use std::collections::HashSet;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

/// The most texts that are remembered, among them all that a large fleet has in common. Those that only one object has make
/// the table forget everything now and then; then some texts are kept twice.
const TEXTS_MAX: usize = 4_096;

/// The texts that were seen lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts(HashSet<Arc<str>, FxBuildHasher>);

impl Texts {
    /// The text, shared with other objects that have it.
    pub(crate) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        if self.0.len() == TEXTS_MAX {
            self.0.clear();
        }
        let text: Arc<str> = text.into();
        self.0.insert(Arc::clone(&text));
        text
    }

    /// The same for a text that an object may not have: then it is empty.
    pub(crate) fn share_any(&mut self, text: Option<&Arc<str>>) -> Arc<str> {
        text.map(|text| self.share(text)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one() {
        let mut texts = Texts::default();
        let first = texts.share("rack-1");
        assert!(Arc::ptr_eq(&first, &texts.share("rack-1")));
        assert!(Arc::ptr_eq(&first, &texts.share_any(Some(&Arc::from("rack-1")))));
        assert_eq!((&*texts.share("rack-2"), &*texts.share_any(None)), ("rack-2", ""));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut texts = Texts::default();
        for number in 0..3 * TEXTS_MAX {
            assert_eq!(*texts.share(&number.to_string()), number.to_string());
            assert!(texts.0.len() <= TEXTS_MAX);
        }
        assert!(Arc::ptr_eq(&texts.share("rack-1"), &texts.share("rack-1")));
    }
}
