//! Watch lag: for how long faults can keep an operator from observing changes. Outages that overlap or touch add up; of
//! several delays, the longest counts.

use std::time::Duration;

use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;

/// A window in which the operator's knowledge falls behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The kind that is affected; `None` for every kind.
    pub(super) kind: Option<Kind>,
    /// From when.
    pub(super) from: Timestamp,
    /// Until when.
    pub(super) until: Timestamp,
    /// By how much.
    pub(super) lag: Duration,
    /// Whether every change is delayed by `lag`, instead of being held until the end of the window.
    pub(super) is_delay: bool,
}

/// All windows of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Blindness {
    windows: Vec<Window>,
}

impl Blindness {
    /// Adds a window. Returns how far the operator falls behind through it and all windows that it touches.
    pub(super) fn add(&mut self, window: Window) -> Duration {
        let (mut from, mut until) = (window.from, window.until);
        let (mut outage, mut delay) = (Duration::ZERO, Duration::ZERO);
        let mut count = |window: &Window| {
            if window.is_delay {
                delay = delay.max(window.lag);
            } else {
                outage = outage.saturating_add(window.lag);
            }
        };
        count(&window);
        let of_kind = |other: &&Window| other.kind.zip(window.kind).is_none_or(|(one, two)| one == two);
        let mut apart: Vec<Window> = self.windows.iter().filter(of_kind).copied().collect();
        let mut grows = true;
        while grows {
            let before = apart.len();
            apart.retain(|other| {
                let touches = other.from <= until && other.until >= from;
                if touches {
                    (from, until) = (from.min(other.from), until.max(other.until));
                    count(other);
                }
                !touches
            });
            grows = apart.len() < before;
        }
        self.windows.push(window);
        outage.saturating_add(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_adds_up() {
        let window = |kind, from: u64, until: u64| Window {
            kind,
            from: Timestamp::from_millis(from * 1000),
            until: Timestamp::from_millis(until * 1000),
            lag: Duration::from_secs(until - from),
            is_delay: false,
        };
        let mut blindness = Blindness::default();
        let seconds = |lag: Duration| lag.as_secs();
        assert_eq!(seconds(blindness.add(window(Some(Kind::Node), 0, 10))), 10);
        assert_eq!(seconds(blindness.add(window(Some(Kind::Node), 20, 30))), 10, "they are apart");
        assert_eq!(seconds(blindness.add(window(Some(Kind::Machine), 5, 25))), 20, "of another kind");
        assert_eq!(seconds(blindness.add(window(Some(Kind::Node), 10, 20))), 30, "it joins both");
        assert_eq!(seconds(blindness.add(window(None, 24, 26))), 52, "of all kinds");
        let delay = Window { is_delay: true, ..window(Some(Kind::Lease), 40, 45) };
        assert_eq!(seconds(blindness.add(delay)), 5);
        assert_eq!(
            seconds(blindness.add(Window { from: delay.until, ..delay })),
            5,
            "one delay after the other"
        );
    }
}
