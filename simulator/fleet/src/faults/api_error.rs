//! Fault 9: single requests fail: refused with 429 or 5xx before anything was done, or timed out on the way there.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Passage, Portion, RequestFate, Window};

/// Requests to the API server that fail before they are executed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiError {
    /// What share of them; all when left out.
    #[serde(default = "all")]
    pub share: Portion,
    /// When.
    #[serde(default)]
    pub between: Window,
    /// Whether the operator is told; any when left out.
    #[serde(default)]
    pub answer: Option<Answer>,
}

/// What the operator is told of a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// 429 or 5xx: nothing happened.
    Refused,
    /// Nothing: the request is lost, and it may have been executed as far as the operator knows.
    Lost,
}

impl Model for ApiError {
    fn on_request(&self, chance: &Chance<'_>, fate: &mut RequestFate) {
        if fate.passage == Passage::Arrives && chance.hits(self.between, self.share.0) {
            let drawn = if chance.below("answer", 2) == 0 { Answer::Refused } else { Answer::Lost };
            fate.passage = match self.answer.unwrap_or(drawn) {
                Answer::Refused => Passage::Refused,
                Answer::Lost => Passage::Lost,
            };
        }
    }
}
