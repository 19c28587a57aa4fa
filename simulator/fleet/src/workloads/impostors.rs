//! A client requests certificates of nodes although it is not a node, or is another one.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Guise, Range, Window};

/// A client requests certificates of the machines of the fleet under false identities.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Impostors {
    /// The interval between two requests.
    pub every: Range,
    /// The window in which the workload acts, `[from, to]` since the start of the run. Any time before the quiet phase
    /// if omitted.
    #[serde(default)]
    pub between: Window,
    /// The false identities, of which one is drawn for each request. All if omitted.
    #[serde(default)]
    pub guises: Vec<Guise>,
}

impl Model for Impostors {
    fn act(&self, hands: &mut Hands<'_>) {
        let guises = if self.guises.is_empty() { &Guise::ALL[..] } else { &self.guises };
        if let (Some(&guise), Some(number)) = (hands.one_of("guise", guises), hands.any_machine(None)) {
            hands.impersonate(guise, number);
        }
    }
}
