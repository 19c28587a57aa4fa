//! Texts for drift.

use seaworthy_model::host::Drift;

/// The ways in which an installed release differs from its specification, for display.
#[must_use]
pub(crate) fn drift_words(drift: Drift) -> String {
    let parts = [
        (Drift::FILES, "files"),
        (Drift::LINKS, "links"),
        (Drift::NOT_RUNNING, "does not run"),
        (Drift::WRONG_BINARY, "another binary"),
    ];
    let words: Vec<&str> =
        parts.iter().filter(|(part, _)| drift.contains(*part)).map(|(_, word)| *word).collect();
    words.join(", ")
}
