//! Fault 18: the SSH session to a host breaks: before the order arrives, after it (and the command continues), or such
//! that the order arrives after the operator has stopped waiting.

use std::time::Duration;

use seaworthy_kernel::Span;
use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{OrderFate, Portion, SessionFate, Window};

/// Sessions to hosts are lost while an order is on its way or under way.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionLost {
    /// The share of orders whose session is lost. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which sessions are lost, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
}

/// The time from the sending of the order to the detection of the loss: from at once to the end of TCP keep-alives.
const NOTICED: Span = Span::millis(500, 45_000);
/// The additional time after which a late order arrives: a stalled connection recovers.
const LATE: Span = Span::millis(10, 60_000);

impl Model for SessionLost {
    fn on_order(&self, chance: &Chance<'_>, fate: &mut OrderFate) {
        if !chance.hits(self.between, self.share.0) {
            return;
        }
        let noticed: Duration = chance.within("noticed", NOTICED);
        fate.session = match chance.below("kind", 3) {
            0 => SessionFate::LostBefore(noticed),
            1 => SessionFate::LostAfter(noticed),
            _ => SessionFate::Late(noticed, noticed + chance.within("late", LATE)),
        };
    }
}
