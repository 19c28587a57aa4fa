//! What people are told of a path or unit that a component may not have. The rules are those of
//! [`seaworthy_model::host_path`]; the API server, the parser and the host say the same.

/// Of a link.
pub const LINKABLE: &str = "must be on a disk, and not where it is decided who may log in, how the host starts, or what Seaworthy does";

/// Of the file of a node's identity.
pub const IDENTITY_PLACE: &str =
    "must be in a directory of the component's own in /etc or /var/lib, such as /var/lib/kubelet";

/// Of a path that is deleted with the component.
pub const REMOVABLE: &str =
    "must be the component's own in /etc, /opt, /run, /var/lib or /var/log, such as /var/lib/kubelet";

/// Of a unit.
pub const COMPONENT_UNIT: &str = "must not be a unit of Seaworthy, systemd, D-Bus or SSH";
