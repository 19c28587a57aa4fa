//! Kubernetes objects and host frames, and their translation to and from the model.
//!
//! ```text
//!   object --parse--> Observation        Action --request--> Request
//!                       model status --render--> object status
//! ```
//!
//! Everything here is a pure function of its arguments (and of [`names::Names`], the table of interned names that
//! the driver owns), so the kube adapter and the simulated API server use the very same code.

pub mod base64;
#[cfg(feature = "crd")]
pub mod crd;
pub mod host;
pub mod host_path;
mod import;
mod kubernetes;
pub mod managed;
pub mod manifest;
pub mod names;
pub mod object;
pub mod parse;
pub mod pod;
mod prefix;
pub mod render;
pub mod request;
pub mod rfc3339;
pub mod scalar;
mod shared;
pub mod v1alpha1;
