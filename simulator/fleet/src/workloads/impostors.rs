//! A client requests certificates of nodes although it is not a node, or is another one.

use serde::Deserialize;

use super::{Hands, Model};
use crate::vocabulary::{Guise, Range, Window};

/// Somebody who asks for certificates of the machines of the fleet.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Impostors {
    /// From one request to the next.
    pub every: Range,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// In what guise; in every one when left out.
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
