//! Writes many mutants into one text, each behind a condition.
//!
//! The body of a function becomes `{ if is(7) BODY OF MUTANT 7 else BODY }`. So a mutant may change any text inside of a
//! function, and the compiler sees each as it would be alone.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::rust::{self, Function};

/// A change of one place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The number of the mutant that it is a part of.
    pub number: usize,
    /// What is replaced.
    pub place: Range<usize>,
    /// What replaces it.
    pub replace: String,
}

/// The text with all changes in it.
///
/// # Errors
///
/// If a change cannot be made behind a condition.
pub fn splice(text: &str, changes: &[Change]) -> Result<String, String> {
    let code = rust::mask(text);
    let mut functions: BTreeMap<usize, (Function, Vec<&Change>)> = BTreeMap::new();
    for change in changes {
        let function = rust::function_around(&code, &change.place)
            .ok_or_else(|| format!("`{}` is not in the body of a function", &text[change.place.clone()]))?;
        functions.entry(function.body.start).or_insert_with(|| (function, Vec::new())).1.push(change);
    }
    let mut spliced = text.to_owned();
    for (function, changes) in functions.into_values().rev() {
        let body = if code[function.head.clone()].contains("-> impl ") {
            by_expression(text, &function.body, &changes)?
        } else {
            by_body(text, &function.body, &changes)
        };
        spliced.replace_range(function.body.clone(), &body);
        // It is decided when the function runs, so it cannot be `const`.
        let before = code[..function.head.start].trim_end();
        if let Some(rest) = before.strip_suffix("const") {
            spliced.replace_range(rest.len()..before.len(), "");
        }
    }
    Ok(spliced)
}

/// A body that becomes another one as a whole.
fn by_body(text: &str, body: &Range<usize>, changes: &[&Change]) -> String {
    let mut mutants: BTreeMap<usize, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        mutants.entry(change.number).or_default().push(change);
    }
    let mut spliced = String::from("{ ");
    for (number, mut changes) in mutants {
        changes.sort_by_key(|change| change.place.start);
        let mut mutated = text[body.clone()].to_owned();
        for Change { place, replace, .. } in changes.into_iter().rev() {
            mutated.replace_range(place.start - body.start..place.end - body.start, replace);
        }
        spliced.push_str(&format!("if ::seaworthy_mutants::is({number}) {mutated} else "));
    }
    spliced.push_str(&text[body.clone()]);
    spliced.push_str(" }");
    spliced
}

/// A body in which expressions become others: two bodies would return two types where the type is only said to be some
/// implementation of a trait.
fn by_expression(text: &str, body: &Range<usize>, changes: &[&Change]) -> Result<String, String> {
    let mut places: BTreeMap<(usize, usize), Vec<&Change>> = BTreeMap::new();
    for change in changes {
        places.entry((change.place.start, change.place.end)).or_default().push(change);
    }
    let mut spliced = text[body.clone()].to_owned();
    let mut end = body.end;
    for ((from, to), changes) in places.into_iter().rev() {
        if to > end {
            return Err(format!("`{}` overlaps with another change", &text[from..to]));
        }
        end = from;
        let mutated = changes.into_iter().map(|Change { number, replace, .. }| {
            format!("if ::seaworthy_mutants::is({number}) {{ {replace} }} else ")
        });
        let choice = format!("({}{{ {} }})", mutated.collect::<String>(), &text[from..to]);
        spliced.replace_range(from - body.start..to - body.start, &choice);
    }
    Ok(spliced)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str, number: usize, find: &str, replace: &str) -> Change {
        let start = text.find(find).unwrap();
        Change { number, place: start..start + find.len(), replace: replace.into() }
    }

    #[test]
    fn a_body_may_have_several_mutants_and_a_mutant_several_changes() {
        let text = "const fn a() -> u8 { 1 + 2 + 3 }\nfn b() { c(); }\n";
        let changes = [
            change(text, 7, "1 +", "2 +"),
            change(text, 8, "2 + 3", "3"),
            change(text, 7, "+ 3", ""),
            change(text, 8, "c()", "()"),
        ];
        let expected = " fn a() -> u8 { if ::seaworthy_mutants::is(7) { 2 + 2  } else \
            if ::seaworthy_mutants::is(8) { 1 + 3 } else { 1 + 2 + 3 } }\n\
            fn b() { if ::seaworthy_mutants::is(8) { (); } else { c(); } }\n";
        assert_eq!(splice(text, &changes).unwrap(), expected);
    }

    #[test]
    fn an_iterator_is_changed_inside() {
        let text = "fn a() -> impl Iterator<Item = u8> { (1..3).map(|a| a + 1) }";
        let changes =
            [change(text, 1, "a + 1", "a"), change(text, 2, "a + 1", "2"), change(text, 2, "3", "4")];
        let expected = "fn a() -> impl Iterator<Item = u8> { (1..(if ::seaworthy_mutants::is(2) { 4 } else { 3 }))\
            .map(|a| (if ::seaworthy_mutants::is(1) { a } else if ::seaworthy_mutants::is(2) { 2 } \
            else { a + 1 })) }";
        assert_eq!(splice(text, &changes).unwrap(), expected);
        let overlapping = [change(text, 1, "a + 1", "a"), change(text, 2, "1)", "2)")];
        assert!(splice(text, &overlapping).unwrap_err().contains("overlaps"));
    }

    #[test]
    fn what_is_outside_of_functions_cannot_be_chosen_at_run_time() {
        let text = "const A: u8 = 1;\nfn b(c: u8) {}";
        for find in ["u8 = 1", "c: u8"] {
            assert!(splice(text, &[change(text, 0, find, "")]).is_err());
        }
    }
}
