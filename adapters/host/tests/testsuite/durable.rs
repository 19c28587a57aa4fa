//! The order of steps: whenever the journal says that something was done, it is durable by the letter of POSIX, which asks
//! for more than ext4 does. A name is durable once its directory was synced, contents once the file was.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use seaworthy_host::Steps;

use crate::world::artefacts::Artefacts;
use crate::world::scenario::{SCENARIOS, VICTIM};
use crate::world::{World, apply, scratch};

/// All steps, in order.
#[derive(Default)]
struct Trace(RefCell<Vec<String>>);

impl Steps for Trace {
    fn reached(&self, step: &str) {
        self.0.borrow_mut().push(step.to_owned());
    }
}

/// What would be lost if the power failed now.
#[derive(Default)]
struct Undurable {
    files: BTreeSet<PathBuf>,
    directories: BTreeSet<PathBuf>,
}

impl Undurable {
    fn take(&mut self, step: &str) {
        let rest = |verb: &str| step.strip_prefix(verb).map(PathBuf::from);
        if let Some(directory) = rest("sync directory ") {
            self.directories.remove(&directory);
        } else if let Some(file) = rest("sync ") {
            self.files.remove(&file);
        } else if let Some(file) =
            rest("create /").or_else(|| rest("write /")).or_else(|| rest("append to /"))
        {
            let file = Path::new("/").join(file);
            if !step.starts_with("append") {
                self.directories.insert(file.parent().unwrap().to_owned());
            }
            self.files.insert(file);
        } else if let Some(name) =
            ["create link ", "rename to ", "make directory ", "remove directory ", "remove "]
                .into_iter()
                .find_map(rest)
        {
            // Whatever was inside a directory that is gone is of no interest any more.
            self.files.retain(|file| file.exists() || !file.starts_with(&name));
            self.directories.insert(name.parent().unwrap().to_owned());
        }
    }

    fn outside<'a>(&'a self, excepted: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        self.files.iter().chain(&self.directories).filter(move |path| !path.starts_with(excepted))
    }
}

#[test]
fn what_the_journal_says_is_durable() {
    let artefacts = Artefacts::serve();
    for scenario in &SCENARIOS {
        let base = scratch("durable");
        let world = World::make(&base, &base.join("volatile"));
        scenario.set_up(&world, &artefacts);
        let trace = Trace::default();
        let _ = world.handle_with(&apply(scenario.operation(&artefacts, VICTIM)), &trace);
        let root = world.layout().root().to_owned();
        let (staging, releases) = (root.join("staging"), root.join("releases/webd"));
        let (mut undurable, mut lines) = (Undurable::default(), 0);
        for step in trace.0.borrow().iter() {
            if step.starts_with("append to ") {
                lines += 1;
                let lost: Vec<_> = undurable.outside(&staging).collect();
                assert!(lost.is_empty(), "{}: before line {lines} of the journal: {lost:?}", scenario.name);
            }
            let published =
                step.strip_prefix("rename to ").is_some_and(|path| Path::new(path).starts_with(&releases));
            if published {
                let lost: Vec<_> = undurable
                    .outside(Path::new("/nowhere"))
                    .filter(|path| path.components().any(|part| part.as_os_str() == "tree"))
                    .collect();
                assert!(lost.is_empty(), "{}: a release is published without {lost:?}", scenario.name);
            }
            undurable.take(step);
        }
        assert!(lines >= 4, "{}: {lines} lines are too few to be true", scenario.name);
        let lost: Vec<_> = undurable.outside(&staging).collect();
        assert!(lost.is_empty(), "{}: at the end: {lost:?}", scenario.name);
        drop(world);
        fs::remove_dir_all(&base).unwrap();
    }
}
