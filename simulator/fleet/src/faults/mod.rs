//! What may go wrong. Each fault is one file with a serde struct and a [`Model`], and one line in the registry below.
//!
//! Faults compose: each sees every point at which something may go wrong and adds to what happens there; none knows of
//! another. All draws are keyed by the fault and by what it strikes, so leaving one fault out changes no other.

pub mod conflict;
pub mod hand_edit;
pub mod host_breaks;
pub mod host_down;
pub mod lost_reply;
pub mod operator_crash;
mod plan;
pub mod session_lost;
pub mod stale_watch;
pub mod zone_down;

use std::time::Duration;

use serde::Deserialize;

pub use plan::{Chance, Plan, When, Window};

use crate::world::{Reply, Step};

/// How a fault works. Everything is optional: a fault acts at times of its own, at points of the world, or both.
pub trait Model {
    /// Plans what it does at times of its own.
    fn schedule(&self, _plan: &mut Plan<'_>) {}

    /// An operator sends a request to the API server.
    fn on_request(&self, _chance: &Chance<'_>, _fate: &mut RequestFate) {}

    /// An operator sends an order to a host.
    fn on_order(&self, _chance: &Chance<'_>, _fate: &mut OrderFate) {}

    /// A host begins an operation.
    fn on_operation(&self, _chance: &Chance<'_>, _fate: &mut OperationFate) {}

    /// The first host or zone that it names and that a fleet of so many hosts and zones does not have.
    fn out_of_range(&self, _hosts: u32, _zones: u32) -> Option<String> {
        None
    }
}

/// What becomes of a request to the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFate {
    /// The operator crashes before the request leaves it.
    pub crashes_before: bool,
    /// What becomes of the reply.
    pub reply: Reply,
    /// Another writer changes the object just before the request arrives.
    pub raced: bool,
}

/// What becomes of an order to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderFate {
    /// The operator crashes before the order leaves it.
    pub crashes_before: bool,
    /// The operator crashes when the order was received.
    pub crashes_after: bool,
    /// What becomes of the session.
    pub session: SessionFate,
}

/// What becomes of a session to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionFate {
    /// It holds.
    #[default]
    Holds,
    /// It is lost before the order arrives, which therefore never does.
    LostBefore(Duration),
    /// It is lost so long after the order was sent; the host goes on.
    LostAfter(Duration),
    /// It is lost at the first, and the order arrives nevertheless at the second time after it was sent.
    Late(Duration, Duration),
}

/// What becomes of an operation on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationFate {
    /// The host loses its power in the middle of this step, for so long.
    pub breaks: Option<(Step, Duration)>,
}

macro_rules! registry {
    ($($name:ident => $module:ident),* $(,)?) => {
        /// A fault as scenario files write it: its name, and what it needs to know.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum Fault {
            $(
                #[doc = concat!("See `faults/", stringify!($module), ".rs`.")]
                $name($module::$name),
            )*
        }

        impl Fault {
            /// Its name.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($module),)*
                }
            }

            /// How it works.
            #[must_use]
            pub fn model(&self) -> &dyn Model {
                match self {
                    $(Self::$name(model) => model,)*
                }
            }
        }
    };
}

registry! {
    Conflict => conflict,
    HandEdit => hand_edit,
    HostBreaks => host_breaks,
    HostDown => host_down,
    LostReply => lost_reply,
    OperatorCrash => operator_crash,
    SessionLost => session_lost,
    StaleWatch => stale_watch,
    ZoneDown => zone_down,
}
