//! Which mutants are on. The choice is one of the thread, so that runs of differently mutated engines go on side by side;
//! a run stays in the thread that began it.

use std::cell::Cell;

use crate::built_in::NAMES;

/// The mutant that is on in every thread from its beginning is named by this variable of the environment.
pub const VARIABLE: &str = "SEAWORTHY_MUTANT";

/// So many may be on at once.
const AT_ONCE: usize = 2;

/// Stands for no mutant.
const NONE: usize = usize::MAX;

thread_local! {
    static ON: Cell<[usize; AT_ONCE]> = Cell::new(from_the_beginning());
}

fn from_the_beginning() -> [usize; AT_ONCE] {
    std::env::var(VARIABLE).map_or([NONE; AT_ONCE], |name| numbers(&[&name]))
}

/// Runs with these mutants on, and no others.
///
/// # Panics
///
/// If one of them is not built in, or if they are too many.
pub fn with<T>(names: &[&str], run: impl FnOnce() -> T) -> T {
    /// Puts back what was on before, also after a panic.
    struct Before([usize; AT_ONCE]);
    impl Drop for Before {
        fn drop(&mut self) {
            ON.set(self.0);
        }
    }
    let _before = Before(ON.replace(numbers(names)));
    run()
}

fn numbers(names: &[&str]) -> [usize; AT_ONCE] {
    assert!(names.len() <= AT_ONCE, "at most {AT_ONCE} mutants are on at once: {names:?}");
    let mut numbers = [NONE; AT_ONCE];
    for (number, name) in numbers.iter_mut().zip(names) {
        let found = NAMES.iter().position(|built_in| built_in == name);
        *number = found.unwrap_or_else(|| panic!("no mutant {name} is built in"));
    }
    numbers
}

/// Whether a mutant is on, by its place in [`NAMES`]. Only mutated code asks.
#[must_use]
pub fn is(number: usize) -> bool {
    ON.get().contains(&number)
}
