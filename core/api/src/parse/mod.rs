//! Objects into the model: every fault of a spec, each with the path of its field.
//!
//! The schemas and CEL rules in the API server refuse nearly all of these faults before they are stored. Nothing here
//! depends on that: every object is validated again, and no input can cause a panic.
//!
//! A spec with faults is not an error of the function: the object exists and has a uid, so it is observed with its
//! faults, and they become the condition `InvalidSpec`. Only an object with invalid metadata is refused.

mod certificate_request;
mod component_setting;
mod detail;
mod faults;
mod lease;
mod machine;
mod machine_component;
mod metadata;
mod node;
mod node_attributes;
mod observation;
mod package_version;
mod probe;
mod removal;
mod requirement;
mod status;
mod text;

pub use certificate_request::{ReadRequest, is_of_interest};
pub use lease::lease;
pub use machine::{machine, machine_again};
pub use machine_component::version;
pub use metadata::MetadataError;
pub use node::node;
pub use observation::{gone, observed};
pub use package_version::package_version;
pub use status::{machine_status, package_version_status};
