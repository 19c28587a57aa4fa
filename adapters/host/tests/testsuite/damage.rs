//! Damage to each file that the program owns, one after the other: the host can be managed all the same, and the next order
//! puts it right.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use seaworthy_api::host::wire::{Answer, Command, Reply};
use seaworthy_host::Unobserved;
use seaworthy_model::host::{Drift, OperationState};

use crate::world::artefacts::{Artefacts, NEW, OLD, install};
use crate::world::judge::{assert_whole, facts};
use crate::world::{World, apply, request, scratch};

/// Longer than whatever the program reads; a file with a hole, so nothing is written.
const ENDLESS: u64 = 1 << 32;

/// What is done to a file, in words and in deed.
type Damage = (&'static str, fn(&Path));

const DAMAGES: [Damage; 6] = [
    ("removed", |path| fs::remove_file(path).unwrap()),
    ("emptied", |path| fs::write(path, "").unwrap()),
    ("cut", |path| {
        let contents = fs::read(path).unwrap();
        fs::write(path, &contents[..contents.len() / 2]).unwrap();
    }),
    ("overwritten", |path| fs::write(path, "\0\u{ff}nonsense\n").unwrap()),
    ("enlarged", |path| OpenOptions::new().write(true).open(path).unwrap().set_len(ENDLESS).unwrap()),
    ("replaced by a directory", |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir_all(path.join("inside")).unwrap();
    }),
];

/// What is done to a directory.
const DAMAGES_OF_DIRECTORIES: [Damage; 2] = [
    ("removed", |path| fs::remove_dir_all(path).unwrap()),
    ("replaced by a file", |path| {
        fs::remove_dir_all(path).unwrap();
        fs::write(path, "x").unwrap();
    }),
];

/// The files, links and directories of the program, without those in releases: damage there is drift.
struct Own {
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
}

impl Own {
    fn of(world: &World) -> Self {
        let root = world.layout().root().to_owned();
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        let mut unread = vec![root.clone()];
        while let Some(directory) = unread.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let (kind, path) = entry.map(|entry| (entry.file_type().unwrap(), entry.path())).unwrap();
                if kind.is_dir() {
                    directories.push(path.clone());
                    unread.push(path);
                } else {
                    files.push(path);
                }
            }
            unread.retain(|directory| *directory != root.join("releases"));
        }
        files.sort();
        directories.sort();
        Self { files, directories }
    }
}

/// Gives an order. If what the host remembers of its owner is damaged, it is refused with the way out, which is taken.
fn order(world: &World, number: u64, command: Command, what: &str) -> Reply {
    let first = world.handle(&request(number, command.clone()));
    let cause = match &first.answer {
        Answer::Later(cause) | Answer::Refused(cause) => cause.clone(),
        Answer::Done(_) | Answer::Pending => return first,
    };
    assert!(what.contains("memory.json"), "{what}: {cause:?}");
    assert!(cause.detail.contains("disown --force"), "{what}: {}", cause.detail);
    let units = world.units(&Unobserved);
    world.with_host(&units, &Unobserved, |host| host.disown_by_force()).unwrap();
    world.handle(&request(number + 1, command))
}

/// A host with two releases, of which the new one is current.
fn host(artefacts: &Artefacts) -> World {
    let base = scratch("damage");
    let world = World::make(&base, &base.join("volatile"));
    for (number, edition) in [(1, OLD), (10, NEW)] {
        facts(world.handle(&apply(artefacts.install(number, edition))));
    }
    world
}

/// Inflicts a damage on what has that number among those that are chosen, and lets the next order put it right. False when
/// there is none of that number.
fn damage_and_repair(
    artefacts: &Artefacts,
    choose: fn(Own) -> Vec<PathBuf>,
    number: usize,
    (damage, inflict): Damage,
) -> bool {
    let world = host(artefacts);
    let Some(file) = choose(Own::of(&world)).into_iter().nth(number) else { return false };
    let what = format!("{} is {damage}", file.strip_prefix(&world.base).unwrap().display());
    let is_directory = file.is_dir() && !file.is_symlink();
    if file.is_symlink() {
        // A file is in the place of the link, and that is damaged.
        fs::remove_file(&file).unwrap();
        fs::write(&file, "link").unwrap();
    }
    inflict(&file);
    facts(order(&world, 20, Command::Facts, &what));
    let repaired = facts(order(&world, 30, apply(artefacts.install(30, NEW)).command, &what));
    assert_eq!(repaired.operation.unwrap().state, OperationState::Succeeded, "{what}");
    assert_eq!(repaired.components[0].drift, Drift::NONE, "{what}");
    let units = world.units(&Unobserved);
    let left = world.with_host(&units, &Unobserved, |host| host.repair()).unwrap();
    assert!(
        left.iter().all(|found| found.contains("journal") || found.contains("order")),
        "{what}: {left:?}"
    );
    // The release before the current one may be lost with a directory. Without a manifest or a link it is rubbish, and stays
    // until the next one takes its place.
    let has_previous = world.layout().root().join("previous/webd").is_symlink();
    if !is_directory && !what.contains(OLD.version) && has_previous {
        assert_whole(&world, Some(NEW), &[OLD], &what);
    }
    true
}

#[test]
fn whatever_is_damaged_the_next_order_puts_it_right() {
    let artefacts = Artefacts::serve();
    for damage in DAMAGES {
        let each = (0..).take_while(|number| damage_and_repair(&artefacts, |own| own.files, *number, damage));
        let files = each.count();
        assert!(files >= 11, "{files} files are too few to be true");
    }
    for damage in DAMAGES_OF_DIRECTORIES {
        let each =
            (0..).take_while(|number| damage_and_repair(&artefacts, |own| own.directories, *number, damage));
        let directories = each.count();
        assert!(directories >= 8, "{directories} directories are too few to be true");
    }
    host(&artefacts).end();
}

/// Whoever may write to a file of a release decides what root runs.
#[test]
fn nobody_but_root_may_write_to_a_release() {
    let base = scratch("damage-modes");
    let world = World::make(&base, &base.join("volatile"));
    let artefacts = Artefacts::serve();
    let mut recipe = artefacts.recipe(NEW);
    recipe.content.files[0].mode = 0o777;
    let seen = facts(world.handle(&apply(install(1, recipe.clone()))));
    assert_eq!(seen.components[0].drift, Drift::NONE);
    let file = world.layout().current("webd").join(&recipe.content.files[0].path);
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o7777, 0o755);
    drop(world);
    fs::remove_dir_all(base).unwrap();
}
