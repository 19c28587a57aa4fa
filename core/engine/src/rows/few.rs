//! Lists that are empty in nearly all rows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Deref;

/// A list that is nearly always empty. Then it is as large as a pointer, a third of a vector: a large fleet has many rows.
#[derive(Clone, Debug)]
#[expect(clippy::box_collection, reason = "the vector is what the row has no room for")]
pub struct Few<T>(Option<Box<Vec<T>>>);

impl<T> Few<T> {
    /// The empty list.
    pub(crate) const NONE: Self = Self(None);

    /// Appends an element.
    pub(crate) fn push(&mut self, value: T) {
        self.0.get_or_insert_default().push(value);
    }

    /// Removes all elements but those that `keeps` accepts.
    pub(crate) fn retain(&mut self, keeps: impl FnMut(&T) -> bool) {
        if let Some(all) = &mut self.0 {
            all.retain(keeps);
        }
    }

    /// Removes all elements.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_is_a_list() {
        let mut few = Few::NONE;
        assert!(few.is_empty());
        few.retain(|_| false);
        (1..4).for_each(|value| few.push(value));
        assert_eq!(*few, [1, 2, 3]);
        few.retain(|value| *value != 2);
        assert_eq!(*few, [1, 3]);
        few.clear();
        assert_eq!((few.len(), size_of_val(&few)), (0, size_of::<usize>()));
    }
}
