//! Developers who deploy a broken version of their app and take it back: for a while its pods run and are not ready, and
//! its disruption budget protects them all the same.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Range, Window};

/// Developers make the pods of an app unready for a while.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deployers {
    /// The interval between two actions of this workload.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The time until the pods of the app are ready again.
    pub lasting: Range,
}

impl Model for Deployers {
    fn act(&self, hands: &mut Hands<'_>) {
        if let Some(app) = hands.any_app() {
            hands.fail_app(app, self.lasting);
        }
    }
}
