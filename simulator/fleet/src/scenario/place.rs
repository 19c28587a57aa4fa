//! The lines of a scenario file at which its fields begin.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

/// The fields of a scenario file, by the lines at which they begin.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Places {
    name: Part,
    fleet: Part,
    quiet: Part,
    timeline: Parts,
    workloads: Parts,
    faults: Parts,
    always: Parts,
    eventually: Parts,
    allowed: Parts,
}

type Part = Option<Spanned<IgnoredAny>>;
type Parts = Vec<Spanned<IgnoredAny>>;

impl Places {
    /// Reads a text that is known to be a scenario.
    pub(super) fn of(text: &str) -> Self {
        serde_saphyr::from_str(text).unwrap_or_default()
    }

    /// The text of a problem that begins with a field, preceded by the line of that field.
    pub(super) fn locate(&self, problem: String) -> String {
        match self.line(&problem) {
            Some(line) => format!("line {line}: {problem}"),
            None => problem,
        }
    }

    fn line(&self, problem: &str) -> Option<u64> {
        let field = problem.split(['.', '[', ':']).next()?;
        let index = problem.strip_prefix(field)?.strip_prefix('[').and_then(|rest| rest.split(']').next());
        let part = match field {
            "name" => self.name.as_ref(),
            "fleet" => self.fleet.as_ref(),
            "quiet" => self.quiet.as_ref(),
            list => {
                let list = match list {
                    "timeline" => &self.timeline,
                    "workloads" => &self.workloads,
                    "faults" => &self.faults,
                    "always" => &self.always,
                    "eventually" => &self.eventually,
                    "allowed" => &self.allowed,
                    _ => return None,
                };
                list.get(index?.parse::<usize>().ok()?)
            }
        };
        part.map(|part| part.defined.line())
    }
}
