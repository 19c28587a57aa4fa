//! The first command of a session: it looks for the host program and becomes it, all in one.
//!
//! The host does what [`crate::delivery`] does step by step: it compares the digest of the program for its architecture, and who
//! may write there. If all is well it says so, and only then gets the request. Whatever else it says or does not say, the
//! steps are gone through one by one, for they tell what is wrong.

use seaworthy_model::component::Architecture;

use crate::delivery::{MARK, ancestors, marked};
use crate::exec::{Flow, Sink};
use crate::program::{Place, Programs, architecture, machine};

/// The most that a login shell may print before the program is called, in bytes.
const GREETING_MAX: usize = 16 * 1024;

/// The exit code of a look that was not satisfied.
const UNSATISFIED: u32 = 3;

/// The line that looks for one of `programs` and calls it.
pub(crate) fn line(programs: &Programs) -> String {
    let above = ancestors(programs.directory()).join(" ");
    let cases: String = Architecture::ALL
        .into_iter()
        .filter_map(|architecture| Some((machine(architecture), programs.get(architecture)?)))
        .map(|(machine, program)| format!("{machine}) p={}; d={};; ", programs.path(program), program.digest))
        .collect();
    let look = format!(
        "LC_ALL=C; export LC_ALL; m=$(uname -m); d=; case $m in {cases}esac; [ \"$d\" ] || exit {UNSATISFIED}; \
         l=$(stat -L -c %u:%a {above} $p) || exit {UNSATISFIED}; \
         for a in $l; do [ \"${{a%%:*}}\" = 0 ] && [ $((0${{a#*:}} & 022)) = 0 ] || exit {UNSATISFIED}; done; \
         [ \"$(sha256sum < $p)\" = \"$d  -\" ] || exit {UNSATISFIED}; \
         echo; echo \"{MARK} ready $1 $m\"; exec $p serve"
    );
    format!(
        "/bin/sh -c 'u=$(id -u); s=\"sudo -n\"; if [ \"$u\" = 0 ]; then s=; fi; exec $s /bin/sh -c \"$1\" sh \"$u\"' \
         sh '{look}'"
    )
}

/// What the host says before it has become the program.
pub(crate) struct Greeting {
    heard: Vec<u8>,
}

impl Greeting {
    pub(crate) const fn new() -> Self {
        Self { heard: Vec::new() }
    }

    /// Where the program is, and what it has said already, if it was called.
    pub(crate) fn read<'g>(&'g self, programs: &Programs) -> Option<(Place, &'g [u8])> {
        let (start, rest) = self.split()?;
        let text = String::from_utf8_lossy(start);
        let words = marked(&text).find_map(|line| line.strip_prefix("ready "))?;
        let (user, machine) = words.split_once(' ')?;
        let program = programs.get(architecture(machine)?)?;
        Some((Place::new(user == "0", &programs.path(program)), rest))
    }

    /// What comes up to the end of the line that was waited for, and what comes after it.
    fn split(&self) -> Option<(&[u8], &[u8])> {
        let ready = format!("\n{MARK} ready ");
        let at = self.heard.windows(ready.len()).position(|window| window == ready.as_bytes())?;
        let after = at + ready.len();
        let length = self.heard[after..].iter().position(|byte| *byte == b'\n')?;
        Some(self.heard.split_at(after + length + 1))
    }
}

impl Sink for Greeting {
    fn take(&mut self, piece: &[u8]) -> Flow {
        self.heard.extend_from_slice(piece);
        match self.split() {
            Some(_) => Flow::Enough,
            None if self.heard.len() > GREETING_MAX => Flow::Abandon,
            None => Flow::More,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> Programs {
        Programs::new().with(Architecture::Amd64, b"binary".to_vec())
    }

    fn heard(pieces: &[&str]) -> (Greeting, Flow) {
        let mut greeting = Greeting::new();
        let last = pieces.iter().map(|piece| greeting.take(piece.as_bytes())).last();
        (greeting, last.unwrap())
    }

    #[test]
    fn the_program_is_called_once_the_host_has_said_so() {
        let (greeting, flow) = heard(&["Welcome!\n", "no newline\nseaworthy: re", "ady 0 x86_64\nab"]);
        let programs = programs();
        let (place, rest) = greeting.read(&programs).unwrap();
        assert_eq!((flow, rest), (Flow::Enough, b"ab".as_slice()));
        assert!(place.line.starts_with("/opt/seaworthy/bin/seaworthy-host-"), "{}", place.line);
        let (greeting, _) = heard(&["\nseaworthy: ready 1000 x86_64\n"]);
        assert!(greeting.read(&programs).unwrap().0.line.starts_with("sudo -n /opt"));
    }

    #[test]
    fn anything_else_is_not_the_program() {
        for other in
            ["", "\nseaworthy: ready 0 x86_64", "x seaworthy: ready 0 x86_64\n", "\nseaworthy: ready\n"]
        {
            let (greeting, flow) = heard(&[other]);
            assert!(flow == Flow::More && greeting.read(&programs()).is_none(), "{other}");
        }
        let (greeting, _) = heard(&["\nseaworthy: ready 0 aarch64\n"]);
        assert!(greeting.read(&programs()).is_none(), "there is no program of that kind");
        assert_eq!(heard(&["x".repeat(GREETING_MAX + 1).as_str()]).1, Flow::Abandon);
    }

    #[test]
    fn the_line_quotes_nothing_that_ends_its_quotes() {
        let line = line(&programs());
        assert_eq!(line.matches('\'').count(), 4, "{line}");
        assert!(line.contains("x86_64) ") && !line.contains("aarch64) "), "{line}");
    }
}
