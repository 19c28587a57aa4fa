//! Those who write to the API server.

/// Who writes to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// An operator process.
    Operator,
    /// People, kubelets, other programs.
    Other,
}
