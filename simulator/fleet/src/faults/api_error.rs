//! Fault 9: single requests fail: refused with 429 or 5xx before anything was done, or timed out on the way there.

use serde::Deserialize;

use super::{Chance, Model, all};
use crate::vocabulary::{Passage, Portion, RequestFate, Window};

/// Requests of operators to the API server fail before they are executed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiError {
    /// The share of requests that fail. All if omitted.
    #[serde(default = "all")]
    pub share: Portion,
    /// The window in which requests fail, `[from, to]` since the start of the run. Any time before the quiet phase if
    /// omitted.
    #[serde(default)]
    pub between: Window,
    /// The result that the operator observes. One of them, drawn for each request, if omitted.
    #[serde(default)]
    pub answer: Option<Answer>,
}

/// The result that the operator observes when a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// The API server refuses the request with 429 or 5xx: nothing was executed.
    Refused,
    /// The request is lost without an answer, so the operator cannot know whether it was executed.
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
