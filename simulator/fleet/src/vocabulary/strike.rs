//! Strikes: the single actions of faults in a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Injection, Length, Place};

/// A single action of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strike {
    /// The fault struck at a time of its own.
    Timed(Timed),
    /// The fault struck at a point that the run reached.
    Met(Met),
}

/// A strike at a time of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timed {
    /// The label of the fault: its name, with `#2` behind the second of the same name.
    pub fault: String,
    /// The time of the strike, since the start of the run.
    pub at: Length,
    /// The injection that the fault makes.
    pub does: Injection,
    /// The end of the strike, if it is reverted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// The end of a strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct End {
    /// The time of the end, since the start of the run.
    pub at: Length,
    /// The injection that reverts the strike.
    pub does: Injection,
}

/// A strike at a point that the run reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Met {
    /// The label of the fault, as in [`Timed::fault`].
    pub fault: String,
    /// The point at which the fault struck.
    pub point: Place,
    /// The number of times that the run has then reached this point; the first is 1.
    pub nth: u32,
    /// The number of the fault's chance at this point; the first is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub chance: u32,
    /// The time of the strike, since the start of the run. A replay ignores it.
    pub at: Length,
    /// The values that the fault drew, by the name of the draw.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drawn: BTreeMap<String, Drawn>,
}

/// A value that a fault drew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Drawn {
    /// A number.
    Number(u64),
    /// A length of time.
    Length(Length),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Strike {
    /// The label of the fault.
    #[must_use]
    pub fn fault(&self) -> &str {
        match self {
            Self::Timed(timed) => &timed.fault,
            Self::Met(met) => &met.fault,
        }
    }

    pub(crate) fn set_fault(&mut self, name: String) {
        match self {
            Self::Timed(timed) => timed.fault = name,
            Self::Met(met) => met.fault = name,
        }
    }

    /// The time of the strike, since the start of the run.
    #[must_use]
    pub const fn at(&self) -> Length {
        match self {
            Self::Timed(timed) => timed.at,
            Self::Met(met) => met.at,
        }
    }

    /// The number of the host that the strike hits, if it hits one.
    #[must_use]
    pub fn host(&self) -> Option<u32> {
        match self {
            Self::Timed(timed) => timed.does.host(),
            Self::Met(met) => met.point.host(),
        }
    }

    /// The same strike on another host.
    #[must_use]
    pub fn on_host(self, number: u32) -> Self {
        match self {
            Self::Timed(timed) => Self::Timed(Timed {
                does: timed.does.on_host(number),
                end: timed.end.map(|end| End { does: end.does.on_host(number), ..end }),
                ..timed
            }),
            Self::Met(met) => Self::Met(Met { point: met.point.on_host(number), ..met }),
        }
    }

    /// The strike, for display.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Timed(timed) => {
                let end = timed.end.map(|end| format!(", until {}", end.at)).unwrap_or_default();
                format!("{}: {}{end}", spoken(&timed.fault), timed.does.words())
            }
            Self::Met(met) => {
                format!("{}: strikes when {} (time {})", spoken(&met.fault), met.point.words(), met.nth)
            }
        }
    }
}

/// The name of a fault, for display.
fn spoken(fault: &str) -> String {
    fault.replace('_', " ")
}
