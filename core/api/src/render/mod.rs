//! The model into what people read: the only code that spells the type, reason or message of a condition.
//!
//! The message of a condition is the explanation of its reason, which says what to do, and the text of its detail, if
//! it has one. Parsing strips the explanation and reads the detail back.

mod blocker;
mod certificate;
mod course;
pub(crate) mod default_status;
pub(crate) mod detail;
mod event;
pub(crate) mod fleet_words;
mod kstatus;
mod lease;
mod news;
mod policy;
pub(crate) mod policy_words;
pub(crate) mod recent;
mod status;
pub(crate) mod version_words;
pub(crate) mod words;

pub use blocker::{Explanation, blocker, subject};
pub(crate) use certificate::{approval, certificate_request, event};
pub use default_status::default_status;
pub use detail::{detail, evidence};
pub use lease::lease;
pub use news::{News, fleet_news, machine_news, news_event, version_news};
pub use policy::{policy_news, policy_status};
pub use status::{canary_status, fleet_condition, machine_status, package_version_status, version_status};
pub(crate) use status::{identity, pick_result};
pub use words::reason;
