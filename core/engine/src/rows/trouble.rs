//! Why something outside did not work, as it is kept until it works.

use alloc::sync::Arc;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::detail::Detail;

/// Why something did not work: as somebody else has reported it, or as the engine concludes from how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The class, on which decisions depend.
    pub kind: CauseKind,
    /// What there is to say besides.
    pub detail: Option<Arc<Detail>>,
}

impl Trouble {
    /// What the engine concludes itself.
    pub(crate) fn new(kind: CauseKind, detail: Detail) -> Self {
        Self { kind, detail: Some(Arc::new(detail)) }
    }
}

impl From<Cause> for Trouble {
    fn from(cause: Cause) -> Self {
        Self { kind: cause.kind, detail: Detail::reported(&cause.detail) }
    }
}
