//! Files of a host with permissions, owners and digests, to compare two moments.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Result;

use crate::host::Host;

/// Prints a line per file, link and directory (kind, permissions, owner, path, target), and one per file with its
/// digest. `$0` is the `find` expression of what to leave out, the arguments are the folders.
const PRINT: &str = r#"for folder in "$@"; do [ -e "$folder" ] || continue
find "$folder" -xdev \( $0 \) -prune -o -printf '%y %m %U:%G %p %l\n'
find "$folder" -xdev \( $0 \) -prune -o -type f -print0 | xargs -0 --no-run-if-empty sha256sum; done"#;

/// What is in some folders of a host: names, permissions, owners, digests of contents, and targets of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing(BTreeSet<String>);

impl Listing {
    /// Lists `folders` (those that do not exist hold nothing) but for what is below the paths `without`.
    ///
    /// # Errors
    /// The host does not answer.
    pub fn of(host: &Host, folders: &[&str], without: &[&str]) -> Result<Self> {
        let mut expression = "-false".to_owned();
        for path in without {
            expression += &format!(" -o -path {path}");
        }
        let mut command = host.command("sh")?;
        command.args(["-c", PRINT, &expression]).args(folders);
        let text = crate::process::run_to_end(&mut command)?;
        Ok(Self(text.lines().map(|line| line.trim_end().to_owned()).collect()))
    }

    /// The lines that only one of both has, marked with `-` (here) and `+` (there).
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let gone = self.0.difference(&other.0).map(|line| format!("-{line}"));
        let new = other.0.difference(&self.0).map(|line| format!("+{line}"));
        gone.chain(new).collect()
    }

    /// How many lines there are: one per directory and link, two per file.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
