//! What may go wrong. Each fault is one file with a serde struct and a [`Model`], and one line in the registry below.
//!
//! Faults compose. Each fault sees every point at which something may go wrong and adds to what happens there. No fault
//! knows another one. All draws are keyed by the fault and by what it strikes, so leaving one fault out changes no
//! other. Each fault strikes at random, or when its [trigger] fires.
//!
//! The fault numbers in the files refer to this list of what a fleet controller must survive:
//!
//! | no. | what goes wrong | here |
//! |---|---|---|
//! | 1 | stale watch | `staleWatch` |
//! | 2 | time travel | `timeTravel` |
//! | 3 | transitions that no watch showed | `unobserved` |
//! | 4 | crash between two side effects | `operatorCrash` |
//! | 5 | lost reply to a write that was executed | `lostReply` |
//! | 6 | request delivered twice, or late | `duplicate`, `lateRequest` |
//! | 7 | conflict | `conflict` |
//! | 8 | own writes seen late | `outOfOrder`, `staleWatch` |
//! | 9 | 429, 5xx, timeout | `throttle`, `apiError`, `apiDown` |
//! | 10 | 410, every watch lists again | `compaction` |
//! | 11 | lost event (a bug of the server) | `lostEvent` |
//! | 12 | no ordering between kinds, or between a watch and a reply | `outOfOrder`, `slowReply` |
//! | 13 | name is reused | the workload `autoscaler`, `timeline` |
//! | 14 | finalizers of other controllers | `finalizerRace` |
//! | 15 | two leaders | `processPause`, `staleWatch` |
//! | 16 | clocks that differ, or run at different rates | `clockSkew` |
//! | 17 | operation that stops halfway, lock of another program | `hostBreaks`, `programKilled`, `hostBusy` |
//! | 18 | lost session | `sessionLost` |
//! | 19 | wrong status, of a Node or of a host | `nodeLies`, `hostLies` |
//! | 20 | failure of a whole domain, or of a shared service | `domainDown`, `registryDown`, `metricsDown`, `hostDown` |
//! | 21 | other writers | `handEdit`, the workloads |
//! | 24 | slow, not dead | `hostSlow` |
//! | | no room on the disk | `diskFull` |
//! | | a release that harms its Node later, a Node that flaps | `lateFailure`, `nodeFlaps` |

pub mod api_down;
pub mod api_error;
pub mod clock_skew;
pub mod compaction;
pub mod conflict;
pub mod disk_full;
pub mod domain_down;
pub mod duplicate;
pub mod finalizer_race;
pub mod hand_edit;
pub mod host_breaks;
pub mod host_busy;
pub mod host_down;
pub mod host_lies;
pub mod host_slow;
pub mod late_failure;
pub mod late_request;
pub mod lost_event;
pub mod lost_reply;
pub mod metrics_down;
pub mod node_flaps;
pub mod node_lies;
pub mod operator_crash;
pub mod out_of_order;
pub mod process_pause;
pub mod program_killed;
pub mod registry_down;
pub mod session_lost;
pub mod slow_reply;
pub mod stale_watch;
pub mod throttle;
pub mod time_travel;
pub mod unobserved;

mod ledger;
mod plan;
mod rule;
pub mod trigger;

use seaworthy_kernel::Share;
use serde::Deserialize;

pub use ledger::Ledger;
pub(crate) use ledger::VisitNote;
pub use plan::{Aim, Chance, Moment, Plan, Target, When};
pub use rule::Rule;
pub(crate) use rule::Rules;
pub use trigger::Trigger;

use crate::vocabulary::{Fleet, KindName, OperationFate, OperationSite, OrderFate, Portion, RequestFate};

/// The behaviour of a fault. Every method is optional: a fault acts at times of its own, at points of the world, or
/// both.
pub trait Model {
    /// Schedules what the fault does at times of its own.
    fn schedule(&self, _plan: &mut Plan<'_>) {}

    /// An operator sends a request to the API server.
    fn on_request(&self, _chance: &Chance<'_>, _fate: &mut RequestFate) {}

    /// An operator sends an order to a host.
    fn on_order(&self, _chance: &Chance<'_>, _fate: &mut OrderFate) {}

    /// A host begins an operation.
    fn on_operation(&self, _chance: &Chance<'_>, _site: &OperationSite<'_>, _fate: &mut OperationFate) {}

    /// A watch of a kind is about to deliver a change. Called only if the fault [loses events](Self::loses_events).
    fn on_event(&self, _chance: &Chance<'_>, _kind: KindName, _lost: &mut bool) {}

    /// Whether [`on_event`](Self::on_event) does anything. The call costs time for every change that is delivered.
    fn loses_events(&self) -> bool {
        false
    }

    /// The first part of a fleet that the fault names and that the fleet does not have.
    fn out_of_range(&self, _fleet: &Fleet) -> Option<String> {
        None
    }
}

/// The default share of a fault: it strikes every time.
const fn all() -> Portion {
    Portion(Share::ALL)
}

macro_rules! registry {
    ($($name:ident => $module:ident),* $(,)?) => {
        /// A fault as scenario files write it: its name, and its settings.
        #[derive(Clone, Debug, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        pub enum Fault {
            $(
                #[doc = concat!("See `faults/", stringify!($module), ".rs`.")]
                $name($module::$name),
            )*
        }

        impl Fault {
            /// Reads the settings of the fault that scenario files call `name`; `None` when there is no such fault.
            pub(super) fn read<'de, M: serde::de::MapAccess<'de>>(
                name: &str,
                map: &mut M,
            ) -> Result<Option<Self>, M::Error> {
                match name {
                    $(name if rule::is_spelled(stringify!($name), name) => {
                        map.next_value().map(|model| Some(Self::$name(model)))
                    })*
                    _ => Ok(None),
                }
            }

            /// The names of all faults, in Rust's spelling.
            const SPELLED: &[&str] = &[$(stringify!($name)),*];

            /// The names of all faults.
            pub const NAMES: &[&str] = &[$(stringify!($module)),*];

            /// The name of the fault.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($module),)*
                }
            }

            /// The name of the fault in Rust's spelling.
            const fn spelled(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)*
                }
            }

            /// The behaviour of the fault.
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
    ApiDown => api_down,
    ApiError => api_error,
    ClockSkew => clock_skew,
    Compaction => compaction,
    Conflict => conflict,
    DomainDown => domain_down,
    Duplicate => duplicate,
    FinalizerRace => finalizer_race,
    HandEdit => hand_edit,
    HostBreaks => host_breaks,
    HostBusy => host_busy,
    HostDown => host_down,
    HostLies => host_lies,
    DiskFull => disk_full,
    HostSlow => host_slow,
    LateFailure => late_failure,
    LateRequest => late_request,
    LostEvent => lost_event,
    LostReply => lost_reply,
    MetricsDown => metrics_down,
    NodeFlaps => node_flaps,
    NodeLies => node_lies,
    OperatorCrash => operator_crash,
    OutOfOrder => out_of_order,
    ProcessPause => process_pause,
    ProgramKilled => program_killed,
    RegistryDown => registry_down,
    SessionLost => session_lost,
    SlowReply => slow_reply,
    StaleWatch => stale_watch,
    Throttle => throttle,
    TimeTravel => time_travel,
    Unobserved => unobserved,
}
