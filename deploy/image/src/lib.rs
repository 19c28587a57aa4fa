//! Container images of static programs, without a container engine.
//!
//! An image has one layer for each platform, with nothing in it but its files: no shell, no packages. The same files make
//! the same bytes, so the same digest: times are 1970, owners are root, and the order is that of the names.

mod archive;
mod bill;

pub use archive::{Archive, File, Image, Platform};
pub use bill::bill_of_materials;
