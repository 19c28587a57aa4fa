//! The problems of a scenario file.

use std::fmt;

/// The problems of a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    file: String,
    problems: Vec<String>,
}

impl ScenarioError {
    pub(crate) fn malformed(file: &str, error: &serde_saphyr::Error) -> Self {
        let text = error.to_string();
        let text = text.trim_end().trim_start_matches("error: ").replace("<input>", file);
        Self { file: file.into(), problems: vec![text] }
    }

    pub(crate) fn unacceptable(file: &str, problems: Vec<String>) -> Self {
        Self { file: file.into(), problems }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(f, "{}: {only}", self.file),
            problems => {
                write!(f, "{}: {} problems:", self.file, problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for ScenarioError {}
