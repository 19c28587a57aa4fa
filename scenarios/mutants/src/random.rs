//! A mutated copy of the workspace with random mutants of the engine in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;

use seaworthy_mutants::rust;
use seaworthy_mutants::splice::Change;
use seaworthy_mutants::tree::{Changes, Tree, files};
use serde_json::Value;

use crate::draw::{Draws, Mutation, mutations};

/// What is mutated.
const SOURCES: &str = "core/engine/src/";

/// Random mutants that compile.
pub(crate) struct Random {
    pub(crate) tree: Tree,
    pub(crate) drawn: Vec<Drawn>,
    /// How many others were drawn that do not compile.
    pub(crate) dropped: usize,
}

/// A random mutant, for people.
pub(crate) struct Drawn {
    /// File and line.
    pub(crate) name: String,
    pub(crate) was: String,
    pub(crate) is: String,
}

/// A line of a source, and what may be done to it.
struct Line {
    file: String,
    mutations: Vec<Mutation>,
}

/// A mutant that was drawn.
struct Candidate {
    file: String,
    mutation: Mutation,
}

impl Random {
    /// Draws `count` lines of the engine, and one mutation of each. Those that do not compile are replaced by others.
    pub(crate) fn draw(house: &Path, folder: &Path, count: usize, seed: u64) -> Result<Self, String> {
        let sources = sources(house)?;
        let mut lines: Vec<Line> = Vec::new();
        for (file, text) in &sources {
            lines.extend(mutations(text).into_iter().map(|mutations| Line { file: file.clone(), mutations }));
        }
        let mut draws = Draws(seed);
        let (mut candidates, mut dropped) = (Vec::new(), 0);
        loop {
            while candidates.len() < count
                && let Some(Line { file, mut mutations }) = draws.take(&mut lines)
            {
                let mutation = draws.take(&mut mutations);
                candidates.extend(mutation.map(|mutation| Candidate { file, mutation }));
            }
            let drawn: Vec<Drawn> = candidates.iter().map(|one| one.describe(&sources[&one.file])).collect();
            let names: Vec<&str> = drawn.iter().map(|one| &*one.name).collect();
            let tree = Tree::write(house, folder, &names, &changes(&candidates))?;
            let wrong = wrong(&tree)?;
            if wrong.is_empty() {
                return Ok(Self { tree, drawn, dropped });
            }
            dropped += wrong.len();
            let mut number = 0..;
            candidates.retain(|_| !number.next().is_some_and(|number| wrong.contains(&number)));
        }
    }
}

impl Candidate {
    fn describe(&self, text: &str) -> Drawn {
        let (place, new) = &self.mutation;
        let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[place.end..].find('\n').map_or(text.len(), |at| place.end + at);
        let mutated = format!("{}{new}{}", &text[start..place.start], &text[place.end..end]);
        let file = self.file.strip_prefix(SOURCES).unwrap_or(&self.file);
        Drawn {
            name: format!("{file}:{}", rust::line_of(text, place.start)),
            was: text[start..end].trim().to_owned(),
            is: mutated.trim().to_owned(),
        }
    }
}

fn sources(house: &Path) -> Result<BTreeMap<String, String>, String> {
    let paths = files(&house.join(SOURCES)).map_err(|error| format!("{SOURCES}: {error}"))?;
    let rust = paths.into_iter().filter(|path| path.ends_with(".rs")).map(|path| format!("{SOURCES}{path}"));
    rust.map(|path| {
        let text = fs::read_to_string(house.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        Ok((path, text))
    })
    .collect()
}

fn changes(candidates: &[Candidate]) -> Changes {
    let mut changes = Changes::new();
    for (number, Candidate { file, mutation: (place, replace) }) in candidates.iter().enumerate() {
        let change = Change { number, place: place.clone(), replace: replace.clone() };
        changes.entry(file.clone()).or_default().push(change);
    }
    changes
}

/// The mutants that the compiler does not accept.
fn wrong(tree: &Tree) -> Result<BTreeSet<usize>, String> {
    let mut cargo = tree.cargo();
    cargo.args(["check", "--release", "--package", "seaworthy-engine", "--message-format=json"]);
    let output = cargo.output().map_err(|error| format!("{cargo:?}: {error}"))?;
    if output.status.success() {
        return Ok(BTreeSet::new());
    }
    let mut wrong = BTreeSet::new();
    for message in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(message).map_err(|error| error.to_string())?;
        if message["message"]["level"] == "error" {
            wrong.extend(blamed(tree, &message["message"])?);
        }
    }
    if wrong.is_empty() {
        return Err(format!("{cargo:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(wrong)
}

/// The mutants in which an error stands; or those of the function around it, if it stands in none alone.
fn blamed(tree: &Tree, error: &Value) -> Result<BTreeSet<usize>, String> {
    let (mut inside, mut around) = (BTreeSet::new(), BTreeSet::new());
    for span in error["spans"].as_array().into_iter().flatten() {
        let Some(file) = span["file_name"].as_str().filter(|file| file.starts_with(SOURCES)) else {
            continue;
        };
        let text = fs::read_to_string(tree.root().join(file)).map_err(|error| format!("{file}: {error}"))?;
        let code = rust::mask(&text);
        let byte = |name: &str| usize::try_from(span[name].as_u64().unwrap_or_default()).unwrap_or_default();
        let place = byte("byte_start")..byte("byte_end");
        let function = rust::function_around(&code, &place).map_or(0..0, |function| function.body);
        for (number, body) in mutated_bodies(&code) {
            if body.start <= place.start && place.end <= body.end {
                inside.insert(number);
            } else if function.start <= body.start && body.end <= function.end {
                around.insert(number);
            }
        }
    }
    Ok(if inside.is_empty() { around } else { inside })
}

/// Where mutants stand in masked code, with their numbers.
fn mutated_bodies(code: &str) -> Vec<(usize, Range<usize>)> {
    const ASKS: &str = "::seaworthy_mutants::is(";
    let body = |(at, _): (usize, &str)| {
        let number = rust::first_word(&code[at + ASKS.len()..]).parse().ok()?;
        let (open, close) = rust::block(code, at)?;
        Some((number, open..close + 1))
    };
    code.match_indices(ASKS).filter_map(body).collect()
}
