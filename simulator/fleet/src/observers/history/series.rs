//! A value over time in bounded memory: of many changes in a short time, only the worst and the last value stay.

use super::{Budget, Millis};

/// Above this number of points, the span of time that two points stand for is doubled.
const POINTS_MAX: usize = 6_000;
/// The first span of time within which values are merged.
const WIDTH: Millis = 100;

/// A value of a [`Series`].
pub trait Sample: Copy + PartialEq {
    /// The rank of a value: when only one of two can be kept, the higher one stays.
    fn gravity(&self) -> i64;
}

impl Sample for Budget {
    fn gravity(&self) -> i64 {
        i64::from(self.occupied.max(self.used)) - i64::from(self.limit)
    }
}

/// A value over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series<T> {
    points: Vec<(Millis, T)>,
    width: Millis,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { points: Vec::new(), width: WIDTH }
    }
}

impl<T: Sample> Series<T> {
    /// The values, each with the time since which it holds.
    #[must_use]
    pub fn points(&self) -> &[(Millis, T)] {
        &self.points
    }

    /// The value from `at` on. Times must not decrease.
    pub(super) fn push(&mut self, at: Millis, value: T) {
        if self.points.last().is_some_and(|(_, last)| *last == value) {
            return;
        }
        self.place(at, value);
        if self.points.len() > POINTS_MAX {
            self.width = self.width.saturating_mul(2);
            for (at, value) in std::mem::take(&mut self.points) {
                self.place(at, value);
            }
        }
    }

    /// Keeps two values of each span of time: the worst, and the last.
    fn place(&mut self, at: Millis, value: T) {
        let span = at / self.width;
        if let [.., (grave_at, grave), last] = self.points.as_mut_slice()
            && *grave_at / self.width == span
            && last.0 / self.width == span
        {
            if last.1.gravity() > grave.gravity() {
                *grave = last.1;
            }
            *last = (at, value);
        } else {
            self.points.push((at, value));
        }
    }
}
