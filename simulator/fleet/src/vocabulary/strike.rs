//! Strikes: the single actions of faults in a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Injection, Length, Place};

/// Something that a fault did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strike {
    /// At a time of its own.
    Timed(Timed),
    /// At a point of the world.
    Met(Met),
}

/// A strike at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timed {
    /// The fault: its name, and `#2` behind that of the second of this name.
    pub fault: String,
    /// When, since the start.
    pub at: Length,
    /// What it does.
    pub does: Injection,
    /// How it is taken back, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// The end of a strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct End {
    /// When, since the start.
    pub at: Length,
    /// What takes it back.
    pub does: Injection,
}

/// A strike at a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Met {
    /// The fault, as in [`Timed::fault`].
    pub fault: String,
    /// The point.
    pub point: Place,
    /// Which time that the run comes to this point; the first is 1.
    pub nth: u32,
    /// Which of the fault's chances at this point; the first is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub chance: u32,
    /// When it was, since the start. A replay does not look at it.
    pub at: Length,
    /// What the fault drew, by the name of the draw.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drawn: BTreeMap<String, Drawn>,
}

/// What a fault drew.
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
    /// The fault.
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

    /// When it was, since the start.
    #[must_use]
    pub const fn at(&self) -> Length {
        match self {
            Self::Timed(timed) => timed.at,
            Self::Met(met) => met.at,
        }
    }

    /// The host that it hits, if it hits one.
    #[must_use]
    pub fn host(&self) -> Option<u32> {
        match self {
            Self::Timed(timed) => timed.does.host(),
            Self::Met(met) => met.point.host(),
        }
    }

    /// The same on another host.
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

    /// In words.
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
