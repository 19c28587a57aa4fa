//! The model into what people read: the only code that spells the type, reason or message of a condition.
//!
//! The message of a condition in the model is a detail ("connection refused"), often empty. Rendered, it follows the
//! explanation of the reason, which says what to do; parsing takes the explanation off again.

mod blocker;
mod certificate;
pub(crate) mod fleet_words;
mod lease;
pub(crate) mod recent;
mod status;
pub(crate) mod words;

pub use blocker::{Explanation, blocker, subject};
pub(crate) use certificate::{approval, certificate_request, event};
pub use lease::lease;
pub use status::{machine_status, package_version_status};
pub use words::reason;
