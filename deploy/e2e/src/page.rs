//! The commands of a page of the documentation, as people run them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// What begins a block of commands that can be run as it stands. Other blocks show output, or what people have to adapt.
const BEGIN: &str = "```sh";
const END: &str = "```";

/// The root of the repository, from which the commands of the documentation are run.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All commands of a page in `docs/src`, as one script. Each block says first in which line of the page it begins, so that a
/// failure can be found there.
///
/// # Errors
/// There is no such page, it has no commands, or a block does not end.
pub fn commands(name: &str) -> Result<String> {
    let path = root().join("docs/src").join(name);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    script(name, &text)
}

fn script(name: &str, text: &str) -> Result<String> {
    let (mut script, mut inside) = (String::new(), false);
    for (number, line) in (1..).zip(text.lines()) {
        if inside && line == END {
            inside = false;
        } else if inside {
            script.push_str(line);
            script.push('\n');
        } else if line == BEGIN {
            inside = true;
            script.push_str(&format!(": {name}, line {number}\n"));
        }
    }
    ensure!(!inside, "{name}: the last block does not end");
    ensure!(!script.is_empty(), "{name} has no block that begins with {BEGIN}");
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_for_a_shell_are_run_in_their_order() {
        let page = "# A\n```sh\none\n\n  two\n```\n```console\n$ no\n```\ntext\n```sh\nthree\n```\n";
        assert_eq!(script("a.md", page).unwrap(), ": a.md, line 2\none\n\n  two\n: a.md, line 11\nthree\n");
        assert!(script("a.md", "text\n").is_err() && script("a.md", "```sh\none\n").is_err());
    }
}
