//! `DisruptionPolicy`: how many machines of a failure domain may be disrupted, how often, and when.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::calendar::Window;
use crate::machine::Truth;
use crate::meta::{Meta, Parsed, SpecError};
use crate::quantity::CountOrPercent;
use crate::selector::Selector;
use crate::time::Timestamp;

/// A `DisruptionPolicy` as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyObject {
    /// Its metadata.
    pub meta: Meta,
    /// The desired state.
    pub spec: Parsed<PolicySpec>,
    /// What we recorded.
    pub status: PolicyStatus,
}

/// What is allowed on some machines. All policies that select a machine count: the smallest limit wins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySpec {
    /// The Machines that it is about.
    pub selector: Selector,
    /// In what the limits count. Machines without a value are in no domain, and no limit counts for them.
    pub per: Domain,
    /// How many of a domain's machines at once; `None` for any number.
    pub in_flight: Option<CountOrPercent>,
    /// On how many of them work may begin within any hour; `None` for any number.
    pub per_hour: Option<CountOrPercent>,
    /// On how many of them work may begin within any day; `None` for any number.
    pub per_day: Option<CountOrPercent>,
    /// When they may be disrupted; at any time if there are none.
    pub windows: Vec<Window>,
    /// When they must not be.
    pub freezes: Vec<Freeze>,
    /// While it is set, nothing is started on them.
    pub paused: bool,
}

impl PolicySpec {
    /// The selected machines start nothing at all.
    #[must_use]
    pub const fn is_kill_switch(&self) -> bool {
        self.paused && self.selector.is_everything()
    }
}

/// What makes a failure domain, or a pool: machines with the same value are in one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Domain {
    /// All machines that are selected.
    #[default]
    Fleet,
    /// The data centre of the Machine's address.
    Idc,
    /// The rack of the Machine's address.
    Rack,
    /// The label of the Machine with this key.
    Label(Arc<str>),
}

/// A time in which nothing is disrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeze {
    /// Its first instant.
    pub from: Timestamp,
    /// The first instant after it.
    pub until: Timestamp,
    /// Why, in people's words.
    pub reason: Arc<str>,
}

impl Freeze {
    /// The longest reason, in bytes.
    pub const REASON_MAX: usize = 256;
}

/// Why a policy lets nothing be disrupted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// It is paused.
    Paused,
    /// Its spec is invalid, and no valid one is known.
    Invalid,
    /// A freeze, until then.
    Frozen(Timestamp),
    /// No window is open for long enough before then.
    OutsideWindow(Timestamp),
}

impl PolicySpec {
    /// Why nothing that takes so long may begin now, if it may not; and until when this answer holds.
    #[must_use]
    pub fn stop(&self, now: Timestamp, length: Duration) -> (Option<Stop>, Timestamp) {
        if self.paused {
            return (Some(Stop::Paused), Timestamp::MAX);
        }
        if let Some(until) = self.thaw(now, length) {
            return (Some(Stop::Frozen(until)), until);
        }
        let next_freeze = self.freezes.iter().map(|freeze| freeze.from - length).filter(|from| *from > now);
        let next_freeze = next_freeze.min().unwrap_or(Timestamp::MAX);
        if self.windows.is_empty() {
            return (None, next_freeze);
        }
        let spans = Window::spans(&self.windows, now);
        let fits = |(from, until): &&(Timestamp, Timestamp)| *from + length <= *until;
        let mut spans = spans.iter().filter(fits).filter(|(_, until)| now + length <= *until);
        match spans.next() {
            Some((from, until)) if *from <= now => (None, next_freeze.min(*until - length + MOMENT)),
            Some((from, _)) => (Some(Stop::OutsideWindow(*from)), next_freeze.min(*from)),
            None => {
                let later = now + Window::AHEAD;
                (Some(Stop::OutsideWindow(later)), next_freeze.min(later))
            }
        }
    }

    /// When the freezes are over that begin before `now` + `length` is, if any.
    fn thaw(&self, now: Timestamp, length: Duration) -> Option<Timestamp> {
        let mut thaw = None;
        // Freezes may overlap, in any order.
        for _ in &self.freezes {
            let at = thaw.unwrap_or(now);
            let hit = |freeze: &&Freeze| freeze.until > at && freeze.from < at + length.max(MOMENT);
            match self.freezes.iter().filter(hit).map(|freeze| freeze.until).max() {
                Some(until) => thaw = Some(until),
                None => break,
            }
        }
        thaw
    }

    /// The reason of the freeze that counts now, in people's words.
    #[must_use]
    pub fn freeze_reason(&self, now: Timestamp, length: Duration) -> Option<&Arc<str>> {
        let hit = |freeze: &&Freeze| freeze.until > now && freeze.from < now + length.max(MOMENT);
        self.freezes.iter().find(hit).map(|freeze| &freeze.reason)
    }
}

/// The smallest step of time.
const MOMENT: Duration = Duration::from_millis(1);

/// What is recorded about a policy. It is for people: nothing is decided by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyStatus {
    /// The generation of the spec that was last judged.
    pub observed_generation: u64,
    /// The conditions, at most one of each kind.
    pub conditions: Vec<PolicyCondition>,
}

/// A condition of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyCondition {
    /// Which.
    pub kind: PolicyConditionKind,
    /// Whether it holds.
    pub truth: Truth,
    /// Why.
    pub reason: PolicyReason,
    /// Detail beyond the reason. It is written, and not read back.
    pub detail: Option<PolicyDetail>,
    /// When `truth` last changed, in whole seconds.
    pub since: Timestamp,
    /// The generation of the spec that this condition is about.
    pub observed_generation: u64,
}

/// The kind of a condition of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PolicyConditionKind {
    /// The policy is in force as it is written.
    Ready,
    /// It lets machines be disrupted now, within its limits.
    Permitting,
}

impl PolicyConditionKind {
    /// Every kind, in the order in which they are written.
    pub const ALL: [Self; 2] = [Self::Ready, Self::Permitting];
}

/// The reason of a condition of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PolicyReason {
    /// The spec is valid and counts.
    InForce,
    /// The spec is invalid.
    InvalidSpec,
    /// Machines may be disrupted, within the limits.
    Open,
    /// It is paused.
    PolicyPaused,
    /// A freeze.
    Frozen,
    /// No window is open, or the open one closes too soon.
    OutsideWindow,
}

impl PolicyReason {
    /// Every reason.
    pub const ALL: [Self; 6] =
        [Self::InForce, Self::InvalidSpec, Self::Open, Self::PolicyPaused, Self::Frozen, Self::OutsideWindow];
}

/// Detail of a condition of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyDetail {
    /// What is wrong with the spec.
    Faults(Arc<[SpecError]>),
    /// When that ends.
    Until(Timestamp),
    /// When that ends, and why it is so, in people's words.
    Frozen(Timestamp, Arc<str>),
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::calendar::{Days, Zone};

    const HOUR: Duration = Duration::from_secs(3600);
    /// 2026-11-23, a Monday, at midnight in UTC.
    const MONDAY: Timestamp = Timestamp::from_millis(1_795_392_000_000);

    fn spec() -> PolicySpec {
        PolicySpec {
            selector: Selector::default(),
            per: Domain::Fleet,
            in_flight: None,
            per_hour: None,
            per_day: None,
            windows: Vec::new(),
            freezes: Vec::new(),
            paused: false,
        }
    }

    fn nightly() -> PolicySpec {
        let window =
            Window { days: Days::ALL, start: 22 * 3600, duration: HOUR * 6, zone: Arc::new(Zone::utc()) };
        PolicySpec { windows: vec![window], ..spec() }
    }

    #[test]
    fn nothing_begins_that_would_overrun_the_window() {
        let at = |hours: u32| nightly().stop(MONDAY + HOUR * hours, HOUR);
        assert_eq!(at(12), (Some(Stop::OutsideWindow(MONDAY + HOUR * 22)), MONDAY + HOUR * 22));
        assert_eq!(at(22), (None, MONDAY + HOUR * 27 + MOMENT));
        assert_eq!(at(27), (None, MONDAY + HOUR * 27 + MOMENT), "it ends with the window");
        assert_eq!(at(28).0, Some(Stop::OutsideWindow(MONDAY + HOUR * 46)));
        let (stop, _) = nightly().stop(MONDAY + HOUR * 27 + MOMENT, HOUR);
        assert_eq!(stop, Some(Stop::OutsideWindow(MONDAY + HOUR * 46)));
    }

    #[test]
    fn a_window_that_is_shorter_than_the_work_never_opens() {
        let (stop, _) = nightly().stop(MONDAY + HOUR * 22, HOUR * 7);
        assert!(matches!(stop, Some(Stop::OutsideWindow(_))));
    }

    #[test]
    fn freezes_count_in_windows_and_out_of_them() {
        let freeze = |from: u32, until: u32| Freeze {
            from: MONDAY + HOUR * from,
            until: MONDAY + HOUR * until,
            reason: "sale".into(),
        };
        let mut frozen = spec();
        frozen.freezes = vec![freeze(14, 20), freeze(10, 15)];
        assert_eq!(frozen.stop(MONDAY, HOUR), (None, MONDAY + HOUR * 9));
        assert_eq!(frozen.stop(MONDAY + HOUR * 9, HOUR), (None, MONDAY + HOUR * 13));
        let inside = MONDAY + HOUR * 11;
        assert_eq!(frozen.stop(inside, HOUR), (Some(Stop::Frozen(MONDAY + HOUR * 20)), MONDAY + HOUR * 20));
        assert_eq!(frozen.freeze_reason(inside, HOUR).map(|reason| &**reason), Some("sale"));
        assert_eq!(frozen.stop(MONDAY + HOUR * 20, HOUR), (None, Timestamp::MAX));
        frozen.paused = true;
        assert_eq!(frozen.stop(inside, HOUR).0, Some(Stop::Paused));
    }
}
