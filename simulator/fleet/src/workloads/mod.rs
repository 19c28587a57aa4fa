//! Other actors on the fleet, each for its own reasons: users, an autoscaler, a GitOps tool, a publisher of versions, a
//! descheduler.
//! Each is one file with a serde struct and a [`Model`], and one line in the registry below.
//!
//! Each struct has the fields `every` and `between`: they act at random times in there until the quiet phase starts.
//! Then each leaves the fleet in its final state.

pub mod autoscaler;
pub mod cordoners;
pub mod deployers;
pub mod editors;
pub mod evictors;
pub mod gitops;
mod hands;
pub mod impostors;
pub mod labellers;
pub mod publisher;
pub mod set_editors;

use serde::Deserialize;

pub use hands::Hands;
pub(crate) use hands::Reach;

use crate::vocabulary::{Fleet, Range, Window};

/// The behaviour of a workload.
pub trait Model {
    /// Acts once on the fleet.
    fn act(&self, hands: &mut Hands<'_>);

    /// The quiet phase starts: leaves everything in its final state.
    fn finish(&self, _hands: &mut Hands<'_>) {}

    /// The first part of a fleet that the workload names and that the fleet does not have.
    fn out_of_range(&self, _fleet: &Fleet) -> Option<String> {
        None
    }
}

macro_rules! registry {
    ($($name:ident => $module:ident),* $(,)?) => {
        /// A workload as scenario files write it: its name, and its settings.
        #[derive(Clone, Debug, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        pub enum Workload {
            $(
                #[doc = concat!("See `workloads/", stringify!($module), ".rs`.")]
                $name($module::$name),
            )*
        }

        impl Workload {
            /// The name of the workload.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($module),)*
                }
            }

            /// The interval between two actions of the workload.
            #[must_use]
            pub const fn every(&self) -> Range {
                match self {
                    $(Self::$name(model) => model.every,)*
                }
            }

            /// The window in which the workload acts.
            #[must_use]
            pub const fn between(&self) -> Window {
                match self {
                    $(Self::$name(model) => model.between,)*
                }
            }

            /// The behaviour of the workload.
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
    Autoscaler => autoscaler,
    Cordoners => cordoners,
    Deployers => deployers,
    Editors => editors,
    Evictors => evictors,
    Gitops => gitops,
    Impostors => impostors,
    Labellers => labellers,
    Publisher => publisher,
    SetEditors => set_editors,
}
