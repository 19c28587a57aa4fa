//! How long files and functions may be, and which are the longest.

use std::io::Write as _;

use seaworthy_mutants::rust::{self, Function};

use crate::tree::{self, File, Offence};

/// Lines of a source file. Good ones have 90 to 220.
const FILE_MAX: usize = 600;
/// Lines of code of a function, in tests as well; the threshold of clippy in `.clippy.toml` is the same.
const FUNCTION_MAX: usize = 70;
/// Lines of the README: it is a map.
const README_MAX: usize = 200;

/// Files that people write line by line.
fn is_source(file: &File) -> bool {
    [".rs", ".go", ".sh"].iter().any(|ending| file.path.ends_with(ending))
}

fn too_long(file: &File) -> Option<Offence> {
    let length = file.text.lines().count();
    if file.path == "README.md" {
        return (length > README_MAX).then(|| {
            file.offence(
                README_MAX + 1,
                format!(
                    "the README has {length} lines, {README_MAX} at most: move details into the rooms' own"
                ),
            )
        });
    }
    (is_source(file) && length > FILE_MAX).then(|| {
        file.offence(
            FILE_MAX + 1,
            format!(
                "{length} lines, {FILE_MAX} at most: move a part that has a name of its own into its own file"
            ),
        )
    })
}

fn functions(file: &File) -> Vec<Function> {
    if file.is_rust() { rust::functions(&file.code) } else { Vec::new() }
}

fn too_long_functions(file: &File) -> Vec<Offence> {
    let long = functions(file).into_iter().filter(|function| function.length > FUNCTION_MAX);
    long.map(|Function { name, line, length, .. }| {
        file.offence(
            line,
            format!(
                "`{name}` has {length} lines of code, {FUNCTION_MAX} at most: name its steps as functions"
            ),
        )
    })
    .collect()
}

#[test]
fn files_and_functions_are_short() {
    let mut offences: Vec<Offence> = tree::files().iter().filter_map(too_long).collect();
    offences.extend(tree::files().iter().flat_map(too_long_functions));
    tree::assert_none(&offences);
}

/// Prints the files and functions that are likely to be too long next, and never fails. It bypasses the test harness, which
/// shows output only after a failure.
#[test]
fn the_longest_are_printed() {
    let mut files: Vec<_> = tree::files().iter().filter(|file| is_source(file)).collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.text.lines().count()));
    let mut longest: Vec<_> = files
        .iter()
        .flat_map(|file| functions(file).into_iter().map(move |function| (function, file)))
        .collect();
    longest.sort_by_key(|(function, _)| std::cmp::Reverse(function.length));

    let mut text =
        format!("\n{} source files, {} functions in Rust\nlongest files:\n", files.len(), longest.len());
    for file in files.iter().take(10) {
        text += &format!("  {:4} {}\n", file.text.lines().count(), file.path);
    }
    text += "longest functions (lines of code):\n";
    for (Function { name, line, length, .. }, file) in longest.iter().take(10) {
        text += &format!("  {length:4} {name} ({}:{line})\n", file.path);
    }
    std::io::stdout().lock().write_all(text.as_bytes()).expect("standard output can be written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_inclusive() {
        let lines = |count: usize| "x\n".repeat(count);
        assert_eq!(too_long(&File::new("core/a.rs", &lines(600))), None);
        assert_eq!(too_long(&File::new("core/a.rs", &lines(601))).map(|offence| offence.line), Some(601));
        assert_eq!(too_long(&File::new("Cargo.lock", &lines(9000))), None);
        assert!(too_long(&File::new("README.md", &lines(201))).is_some());
    }

    #[test]
    fn a_long_function_is_found_with_its_line() {
        let function =
            |count: usize| format!("\nfn long() {{\n{}}}\n", "    x();\n    // why\n".repeat(count));
        assert!(too_long_functions(&File::new("a.rs", &function(70))).is_empty());
        let found = too_long_functions(&File::new("a.rs", &function(71)));
        assert_eq!(found.iter().map(|offence| offence.line).collect::<Vec<_>>(), [2]);
    }
}
