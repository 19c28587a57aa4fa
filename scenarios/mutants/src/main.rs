//! What people do with mutants.
//!
//! `hunt COUNT SEED` draws random mutants of the engine, and says who finds each:
//!
//! | who | what it runs |
//! |---|---|
//! | swarm | 500 seeds over `scenarios/fast`, with at most 60 machines |
//! | files | every file of `scenarios/fast`, `incidents` and `regressions`, with its fault-free twin |
//! | unit tests | those of `core/engine` and `core/check` |
//! | nobody | it is for a person to judge: the same program, a mere delay, or something that nothing looks at |
//!
//! `simulator` builds a simulator with all mutants that have files, and prints its path. The variable `SEAWORTHY_MUTANT` names
//! the one that is on, for example `SEAWORTHY_MUTANT=cordon-left .../seaworthy sim run scenarios/fast/drain.yaml`.

mod draw;
mod finders;
mod random;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use finders::{Finder, Finders};
use random::{Drawn, Random};
use seaworthy_mutants::Tree;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(|argument| &**argument).collect();
    let done = match arguments[..] {
        ["simulator"] => simulator(),
        ["hunt", count, seed] => match (count.parse(), seed.parse()) {
            (Ok(count), Ok(seed)) => hunt(count, seed),
            _ => Err(format!("{count} and {seed} have to be numbers")),
        },
        _ => Err("give it `simulator`, or `hunt COUNT SEED`".into()),
    };
    if let Err(error) = done {
        eprintln!("mutants: {error}");
        std::process::exit(1);
    }
}

/// The root of the workspace.
fn house() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where mutated copies lie.
fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| house().join("target"), PathBuf::from).join("mutants")
}

fn simulator() -> Result<(), String> {
    println!("{}", Tree::of_all(&house(), &folder())?.simulator()?.display());
    Ok(())
}

fn hunt(count: usize, seed: u64) -> Result<(), String> {
    let Random { tree, drawn, dropped } = Random::draw(&house(), &folder().join("random"), count, seed)?;
    println!("{} mutants of seed {seed}; {dropped} others do not compile", drawn.len());
    let finders = Finders::build(&tree)?;
    let finder = finders.find(None)?;
    if finder != Finder::Nobody {
        return Err(format!("the {finder} fail without a mutant, and so with each: mend that first"));
    }
    let found = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
        while let Some(mutant) = drawn.get(next.fetch_add(1, Ordering::Relaxed)) {
            let finder = finders.find(Some(&mutant.name))?;
            tell(mutant, finder);
            found.lock().unwrap_or_else(|error| error.into_inner()).push(finder);
        }
        Ok(())
    };
    let jobs = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into())))
    })?;
    let found = found.into_inner().unwrap_or_else(|error| error.into_inner());
    for finder in Finder::ALL {
        println!("{:4} {finder}", found.iter().filter(|by| *by == finder).count());
    }
    Ok(())
}

/// One line per mutant, as soon as it is known who finds it.
fn tell(Drawn { name, was, is }: &Drawn, finder: Finder) {
    let mut out = std::io::stdout().lock();
    let told = writeln!(out, "{finder:10} | {name} | {was} | {is}").and_then(|()| out.flush());
    drop(told);
}
