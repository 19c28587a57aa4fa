//! Conditions in the form that every Kubernetes tool knows.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::scalar::Time;

// Its words are nearly always our own, so they are borrowed: a fleet holds hundreds of thousands of conditions.
/// One aspect of the state of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which aspect.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 316)))]
    pub r#type: Cow<'static, str>,
    /// Whether it holds: `True`, `False` or `Unknown`.
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["True", "False", "Unknown"])))]
    pub status: Cow<'static, str>,
    /// Why, in one word.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 1024), extend("pattern" = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))
    )]
    pub reason: Cow<'static, str>,
    /// Why, and what to do about it.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(length(max = 32768)))]
    pub message: Cow<'static, str>,
    /// When `status` last changed.
    #[cfg_attr(feature = "crd", schemars(extend("format" = "date-time")))]
    pub last_transition_time: Time,
    /// The `metadata.generation` that this speaks of.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub observed_generation: i64,
}
