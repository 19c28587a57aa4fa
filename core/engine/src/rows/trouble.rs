//! Why a contact, a write or an operation failed. Kept until one succeeds.

use alloc::sync::Arc;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::detail::Detail;

/// Why something failed: as another party reported it, or as the engine concludes from the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The class, on which decisions depend.
    pub kind: CauseKind,
    /// Further detail.
    pub detail: Option<Arc<Detail>>,
}

impl Trouble {
    /// A cause that the engine itself concludes.
    pub(crate) fn new(kind: CauseKind, detail: Detail) -> Self {
        Self { kind, detail: Some(Arc::new(detail)) }
    }
}

impl From<Cause> for Trouble {
    fn from(cause: Cause) -> Self {
        Self { kind: cause.kind, detail: Detail::reported(&cause.detail) }
    }
}
