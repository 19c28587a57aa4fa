//! The data of each domain, as one row or a small table of rows. Nothing here knows `World`.

pub(crate) mod api_servers;
pub(crate) mod certificates;
pub(crate) mod changes;
pub(crate) mod drain;
pub(crate) mod few;
pub(crate) mod fleet;
pub(crate) mod host;
pub(crate) mod inquiry;
pub(crate) mod leadership;
pub(crate) mod machine;
pub(crate) mod mark;
pub(crate) mod node_use;
pub(crate) mod node_write;
pub(crate) mod note;
pub(crate) mod policy;
pub(crate) mod rank;
pub(crate) mod release;
pub(crate) mod repairs;
pub(crate) mod sample;
pub(crate) mod set;
pub(crate) mod standing;
pub(crate) mod store;
pub(crate) mod ticket;
pub(crate) mod trouble;
pub(crate) mod usage;
pub(crate) mod version;
