//! Errors of this crate are the causes of the model: decisions depend on the kind, the detail is for people.

use std::io::{Error, ErrorKind};
use std::path::Path;

use seaworthy_model::cause::{Cause, CauseKind};

/// The most bytes of a cause's words that are told: more are of no use in a status.
const DETAIL_MAX: usize = 4096;

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

/// A cause as it is written down and told: without control characters, and not longer than a status may be. Its words may be
/// those of strangers: of a request, an artefact server, or a program of a release.
pub(crate) fn told(cause: Cause) -> Cause {
    let is_fine = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    if cause.detail.len() <= DETAIL_MAX && cause.detail.chars().all(is_fine) {
        return cause;
    }
    let mut detail = String::new();
    for character in cause.detail.chars() {
        if detail.len() + character.len_utf8() > DETAIL_MAX {
            detail.push_str(" ...");
            break;
        }
        detail.push(if is_fine(character) { character } else { ' ' });
    }
    Cause { detail, ..cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_strangers_are_cut_and_cleaned() {
        let told = |detail: &str| told(invalid(detail)).detail;
        assert_eq!(told("plain\nwords"), "plain\nwords");
        assert_eq!(told("\u{1b}[31mred\0"), " [31mred ");
        let long = told(&"ä".repeat(1 << 20));
        assert!(long.len() <= DETAIL_MAX + 4 && long.ends_with("ä ..."), "{} bytes", long.len());
    }
}
