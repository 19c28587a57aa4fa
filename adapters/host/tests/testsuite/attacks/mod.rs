//! Attacks that outsiders have tried on a host, and that have worked once: each is refused, or seen, and what it was after is
//! as it was.

mod claims;
mod identity;
mod orders;
mod places;
mod planted;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use seaworthy_api::host::wire::{Answer, Change, Operation, Request};
use seaworthy_model::cause::Cause;
use seaworthy_model::component::Recipe;

use crate::world::artefacts::{Artefacts, NEW, install};
use crate::world::judge::facts;
use crate::world::{World, apply};

/// A host without anything on it, and a server.
fn new_host(name: &str) -> (World, Artefacts) {
    (World::new(&format!("attack-{name}")), Artefacts::serve())
}

/// Makes a file on the host, in directories that only root may write to.
fn put(world: &World, path: &str, contents: &str) -> PathBuf {
    let place = world.layout().on_host(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    for above in place.ancestors().skip(1).take_while(|above| above.starts_with(world.prefix())) {
        fs::set_permissions(above, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(&place, contents).unwrap();
    place
}

/// The order to install a changed edition as `component`.
fn changed(
    artefacts: &Artefacts,
    number: u64,
    component: &str,
    change: impl FnOnce(&mut Recipe),
) -> Operation {
    let mut recipe = artefacts.recipe(NEW);
    change(&mut recipe);
    Operation { component: component.into(), ..install(number, recipe) }
}

fn removal(number: u64, component: &str) -> Operation {
    Operation {
        component: component.into(),
        change: Change::Remove,
        ..crate::world::artefacts::remove(number)
    }
}

#[track_caller]
fn refusal(world: &World, order: &Request) -> Cause {
    match world.handle(order).answer {
        Answer::Refused(cause) => cause,
        other @ (Answer::Done(_) | Answer::Later(_) | Answer::Pending) => panic!("not refused: {other:?}"),
    }
}

#[track_caller]
fn accept(world: &World, operation: Operation) {
    facts(world.handle(&apply(operation)));
}
