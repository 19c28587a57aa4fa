//! Errors of this crate are the causes of the model: decisions depend on the kind, the detail is for people.

use std::io::{Error, ErrorKind};
use std::path::Path;

use seaworthy_model::cause::{Cause, CauseKind};

/// The result of everything that can fail here.
pub(crate) type Result<T> = std::result::Result<T, Cause>;

/// A failed system call on `path`: "`what` `path`: `error`".
pub(crate) fn on(what: &str, path: &Path, error: &Error) -> Cause {
    let kind = if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        CauseKind::NoSpace
    } else if error.kind() == ErrorKind::PermissionDenied && !rustix::process::geteuid().is_root() {
        CauseKind::PrivilegeDenied
    } else {
        CauseKind::HostFailed
    };
    Cause::new(kind, format!("cannot {what} {}: {error}", path.display()))
}

/// The host's own fault.
pub(crate) fn host(detail: impl Into<String>) -> Cause {
    Cause::new(CauseKind::HostFailed, detail)
}

/// The order's fault.
pub(crate) fn invalid(detail: impl Into<String>) -> Cause {
    Cause::new(CauseKind::OperationInvalid, detail)
}
