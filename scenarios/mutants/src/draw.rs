//! Random mutants: small changes at places that nobody chose.

use std::ops::Range;

use seaworthy_mutants::rust;

/// What stands in a line of code, and what may stand there instead.
const SWAPS: &[(&str, &str)] = &[
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " != "),
    (" != ", " == "),
    (" && ", " || "),
    (" || ", " && "),
    (" + ", " - "),
    (" - ", " + "),
    (" + 1", ""),
    ("saturating_sub(", "saturating_add("),
    (".min(", ".max("),
    (".max(", ".min("),
    (".any(", ".all("),
    (".all(", ".any("),
    (".is_some()", ".is_none()"),
    (".is_none()", ".is_some()"),
    (".is_some_and(", ".is_none_or("),
    (".is_none_or(", ".is_some_and("),
    ("!self", "self"),
    ("!(", "("),
];

/// The same for whole words.
const WORDS: &[(&str, &str)] = &[("0", "1"), ("1", "2"), ("true", "false"), ("false", "true")];

/// A place of a text, and what may stand there instead.
pub(crate) type Mutation = (Range<usize>, String);

/// What may be done to each line in the functions of a Rust source; nothing to lines of tests, and nothing to functions
/// that the compiler calls.
pub(crate) fn mutations(source: &str) -> Vec<Vec<Mutation>> {
    let code = rust::mask(source);
    let functions = rust::functions(&code);
    let is_drawn = |line: &Range<usize>| {
        let around = functions.iter().find(|f| f.body.start < line.start && line.end < f.body.end);
        let is_const = |head: usize| code[..head].trim_end().ends_with("const");
        around.is_some_and(|function| !is_const(function.head.start))
            && !rust::is_test(&code, line.start)
            && !code[line.clone()].contains("debug_assert")
    };
    let ends = code.match_indices('\n').map(|(at, _)| at);
    let starts = std::iter::once(0).chain(code.match_indices('\n').map(|(at, _)| at + 1));
    let lines: Vec<Range<usize>> = starts.zip(ends).map(|(start, end)| start..end).collect();
    let next = |index: usize| lines.get(index + 1).map_or("", |line| &code[line.clone()]);
    let drawn = lines.iter().enumerate().filter(|(_, line)| is_drawn(line));
    let of_line = |(index, line): (usize, &Range<usize>)| {
        let inside = of_line(&source[line.clone()], &code[line.clone()], next(index));
        inside
            .into_iter()
            .map(|(place, text)| (line.start + place.start..line.start + place.end, text))
            .collect()
    };
    drawn.map(of_line).filter(|mutations: &Vec<Mutation>| !mutations.is_empty()).collect()
}

/// What may be done to a line, of which `code` is the masked text, and `next` that of the line after it.
fn of_line(line: &str, code: &str, next: &str) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (old, new) in SWAPS {
        found.extend(code.match_indices(old).map(|(at, _)| (at..at + old.len(), (*new).to_owned())));
    }
    for (old, new) in WORDS {
        let is_apart = |at: &usize| !code[..*at].ends_with('.') && !code[at + old.len()..].starts_with('.');
        found.extend(
            rust::words(code, old).filter(is_apart).map(|at| (at..at + old.len(), (*new).to_owned())),
        );
    }
    found.extend(statement(code));
    found.extend(condition(line, code));
    found.extend(arm(code, next));
    found.extend(clause(code));
    found.extend(filter(code));
    found.extend(nothing(code));
    found
}

/// A statement that is executed for its effect is left out.
fn statement(code: &str) -> Option<Mutation> {
    const NOT: &[&str] =
        &["let", "return", "continue", "break", "use", "const", "static", "type", "fn", "pub"];
    let bare = code.trim();
    let is_whole = bare.matches('(').count() == bare.matches(')').count() && !bare.contains('{');
    let begins = bare.starts_with(|first: char| first.is_ascii_alphabetic() || first == '*');
    (bare.ends_with(';') && is_whole && begins && !NOT.contains(&rust::first_word(bare))).then(|| {
        let start = code.len() - code.trim_start().len();
        (start..start + bare.len(), "();".to_owned())
    })
}

/// A condition on one line is negated.
fn condition(line: &str, code: &str) -> Option<Mutation> {
    let bare = code.trim_start();
    let after = bare.strip_prefix("} else if ").or_else(|| bare.strip_prefix("if "))?;
    let tested = after.trim_end().strip_suffix(" {")?;
    let start = code.len() - after.len();
    let place = start..start + tested.len();
    let negated = format!("!({})", &line[place.clone()]);
    (!tested.contains("let ")).then_some((place, negated))
}

/// An arm of a match does what the next one does.
fn arm(code: &str, next: &str) -> Option<Mutation> {
    let does = |line: &str| {
        let (_, does) = line.split_once(" => ")?;
        Some(does.trim_end().strip_suffix(',')?.to_owned())
    };
    let (own, other) = (does(code)?, does(next)?);
    let start = code.find(" => ")? + 4;
    (own != other && !other.contains('"')).then_some((start..start + own.len(), other))
}

/// One of several conditions is left out.
fn clause(code: &str) -> Option<Mutation> {
    let start = code.rfind(" && ")?;
    let rest = &code[start + 4..];
    let end = rest.find([';', '{', '|', '}']).unwrap_or(rest.len());
    let clause = rest[..end].trim_end();
    let is_whole = clause.matches('(').count() == clause.matches(')').count();
    (is_whole && !clause.starts_with("let ")).then(|| (start..start + 4 + clause.len(), String::new()))
}

/// Nothing is filtered out.
fn filter(code: &str) -> Option<Mutation> {
    let start = code.find(".filter(")?;
    Some((start..start + ".filter(".len() + closing(&code[start + ".filter(".len()..])?, String::new()))
}

/// Something becomes nothing.
fn nothing(code: &str) -> Option<Mutation> {
    let start = code.find("Some(")?;
    let end = start + "Some(".len() + closing(&code[start + "Some(".len()..])?;
    let is_pattern =
        code[..start].contains("let ") || code[end..].contains(" =>") || code[end..].starts_with(" |");
    (!is_pattern).then(|| (start..end, "None".to_owned()))
}

/// How much of `code` belongs to a bracket that was opened before it, up to the one that closes it.
fn closing(code: &str) -> Option<usize> {
    let mut depth = 1;
    let close = code.bytes().position(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth == 0
    })?;
    Some(close + 1)
}

/// A stream of numbers that a seed determines (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit.max(1) as u64).unwrap_or_default()
    }

    /// One of them, which is taken out.
    pub(crate) fn take<T>(&mut self, all: &mut Vec<T>) -> Option<T> {
        let chosen = self.below(all.len());
        (chosen < all.len()).then(|| all.swap_remove(chosen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text that a body of this one line may become.
    fn mutants(line: &str, next: &str) -> Vec<String> {
        let source = format!("fn a() {{\n{line}\n{next}\n}}\n");
        let of_line =
            mutations(&source).into_iter().flatten().filter(|(place, _)| place.start < 9 + line.len());
        let mutant = |(place, text): Mutation| {
            let mut mutated = source.clone();
            mutated.replace_range(place, &text);
            mutated[9..].lines().next().unwrap_or_default().to_owned()
        };
        of_line.map(mutant).collect()
    }

    #[test]
    fn every_operator_makes_a_mutant() {
        assert_eq!(mutants("if a < 10 {", "}"), ["if a <= 10 {", "if !(a < 10) {"]);
        let table: &[(&str, &[&str])] = &[
            ("b(1);", &["b(2);", "();"]),
            (
                "let c = true && \"1 < 0\".is_empty();",
                &[
                    "let c = true || \"1 < 0\".is_empty();",
                    "let c = false && \"1 < 0\".is_empty();",
                    "let c = true;",
                ],
            ),
            ("x.filter(|d| *d).any(e)", &["x.filter(|d| *d).all(e)", "x.any(e)"]),
            ("let f = Some(g(h));", &[]),
            ("f = Some(g(h));", &["();", "f = None;"]),
            ("a.0 + b.1 // 0 < 1", &["a.0 - b.1 // 0 < 1"]),
            ("return;", &[]),
        ];
        for (line, expected) in table {
            assert_eq!(mutants(line, ""), *expected, "{line}");
        }
        assert_eq!(mutants("A => b,", "C => d,"), ["A => d,"]);
    }

    #[test]
    fn tests_and_constants_are_left_alone() {
        let source = "const fn a() -> u8 {\n    0 + 1\n}\n#[cfg(test)]\nmod tests {\n    fn b() {\n        c(1);\n    }\n}\n";
        assert_eq!(mutations(source), Vec::<Vec<Mutation>>::new());
    }

    #[test]
    fn a_seed_draws_the_same_again_and_each_once() {
        let drawn = |seed| {
            let (mut draws, mut all) = (Draws(seed), (0..50).collect::<Vec<_>>());
            std::iter::from_fn(|| draws.take(&mut all)).collect::<Vec<i32>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let mut sorted = drawn(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
