//! A mutant as its file describes it.

use std::fs;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use crate::rust;

/// The folder of the mutants, below the root of the workspace.
pub const FOLDER: &str = "scenarios/mutants";

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The name of its file, without `.yaml`.
    pub name: String,
    /// What does not work any more: a sentence for people.
    pub breaks: String,
    /// Why no test has to notice it, if that is so.
    pub harmless: Option<String>,
    /// What is changed.
    pub edits: Vec<Edit>,
}

/// A change of one place in one file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The file, below the root of the workspace.
    pub file: String,
    /// What is replaced. Any white space in it matches any other white space.
    pub find: String,
    /// What replaces it.
    pub replace: String,
}

/// The content of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    breaks: String,
    harmless: Option<String>,
    edits: Vec<Edit>,
}

impl Mutant {
    /// Reads a mutant from the text of its file.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let Document { breaks, harmless, edits } =
            serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let is_sentence = |text: &str| text.ends_with('.') && text.contains(' ');
        if !is_sentence(&breaks) || !harmless.as_deref().is_none_or(is_sentence) {
            return Err("`breaks` and `harmless` are sentences: they end with a full stop".into());
        }
        if edits.is_empty() {
            return Err("it changes nothing: give it `edits`".into());
        }
        Ok(Self { name: name.into(), breaks, harmless, edits })
    }

    /// Reads all mutants of the workspace at `root`, in the order of their names.
    ///
    /// # Errors
    ///
    /// Which file is wrong, and why.
    pub fn read_all(root: &Path) -> Result<Vec<Self>, String> {
        let folder = root.join(FOLDER);
        let wrong = |path: &Path, error: &dyn ToString| format!("{}: {}", path.display(), error.to_string());
        let mut mutants = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|error| wrong(&folder, &error))? {
            let path = entry.map_err(|error| wrong(&folder, &error))?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let text = fs::read_to_string(&path).map_err(|error| wrong(&path, &error))?;
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                mutants.push(Self::read(&name, &text).map_err(|error| wrong(&path, &error))?);
            }
        }
        mutants.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(mutants)
    }
}

impl Edit {
    /// The one place in `source`, the text of its file, that is replaced.
    ///
    /// # Errors
    ///
    /// Why there is no such place.
    pub fn place(&self, source: &str) -> Result<Range<usize>, String> {
        let [place] = &places(source, &self.find)[..] else {
            let times = places(source, &self.find).len();
            return Err(format!("`find` has to match at one place in {}; it matches at {times}", self.file));
        };
        let code = rust::mask(source);
        if rust::function_around(&code, place).is_none() {
            return Err(format!("`find` matches outside the body of a function of {}", self.file));
        }
        Ok(place.clone())
    }
}

/// Every place in `text` that `find` matches. Any white space in it matches any other white space.
#[must_use]
pub fn places(text: &str, find: &str) -> Vec<Range<usize>> {
    let mut words = find.split_whitespace();
    let Some(first) = words.next() else { return Vec::new() };
    let ends_at = |start: usize| {
        words.clone().try_fold(start + first.len(), |end, word| {
            let next = text[end..].trim_start();
            let is_apart = next.len() < text.len() - end;
            (is_apart && next.starts_with(word)).then(|| text.len() - next.len() + word.len())
        })
    };
    text.match_indices(first).filter_map(|(start, _)| Some(start..ends_at(start)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_matches_any_white_space() {
        let text = "if a &&\n        b {}\nif a && b {}\nif a &&b {}";
        assert_eq!(places(text, "a && b {"), [3..19, 24..32]);
        assert_eq!(places(text, "a &&\n  b {}\n"), [3..20, 24..33]);
        assert_eq!(places(text, "c"), []);
        assert_eq!(places(text, "  "), []);
    }

    #[test]
    fn an_edit_has_one_place_and_it_is_in_a_function() {
        let edit = |find: &str| Edit { file: "a.rs".into(), find: find.into(), replace: String::new() };
        let source = "const A: u8 = 1;\nfn b() -> u8 { 2 + 3 + A }\nfn c() { 3; }";
        assert_eq!(edit("2 + 3").place(source), Ok(32..37));
        assert!(edit("3").place(source).unwrap_err().ends_with("it matches at 2"));
        assert!(edit("4").place(source).unwrap_err().ends_with("it matches at 0"));
        assert!(edit("u8 = 1").place(source).unwrap_err().contains("outside"));
    }

    #[test]
    fn a_mutant_says_what_it_breaks_and_changes_something() {
        let edits = "edits:\n  - file: a.rs\n    find: |\n      a\n    replace: b\n";
        let mutant = Mutant::read("a", &format!("breaks: It does not work.\n{edits}")).unwrap();
        assert_eq!((&*mutant.edits[0].find, &*mutant.edits[0].replace), ("a\n", "b"));
        for wrong in [
            format!("breaks: nothing\n{edits}"),
            format!("breaks: It does not work.\nharmless: no\n{edits}"),
            "breaks: It does not work.\nedits: []\n".into(),
            format!("breaks: It does not work.\nfound: false\n{edits}"),
            edits.into(),
        ] {
            assert!(Mutant::read("a", &wrong).is_err(), "{wrong}");
        }
    }
}
