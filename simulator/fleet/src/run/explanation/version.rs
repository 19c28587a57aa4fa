//! Why a deleted version still exists: which objects and hosts use it, and what its removal waits for.

use seaworthy_api::names::Names;
use seaworthy_api::render;
use seaworthy_engine::{Use, User};
use seaworthy_model::report::Subject;

use super::{Explanation, leading};
use crate::world::World;

/// The largest number of objects and hosts to name.
const USERS_MAX: usize = 20;

/// Why a `MachineComponent` is in its state. `None` if no operator process is alive, or if it knows no version of that
/// name.
#[must_use]
pub fn explain_version(world: &World, name: &str) -> Option<Explanation> {
    let (process, engine, names) = world.mind()?;
    let cache = engine.world();
    let id = names.find_version(name)?;
    let state = match cache.version(id)?.object() {
        None => "gone",
        Some(object) if object.meta.is_terminating() => "being deleted",
        Some(_) => "there",
    };
    let users: Vec<String> = cache.users(id).map(|user| words(user, names)).collect();
    let mut used_by: Vec<String> = users.iter().take(USERS_MAX).cloned().collect();
    if users.len() > USERS_MAX {
        used_by.push(format!("and {} more", users.len() - USERS_MAX));
    }
    let waits = cache.blocker(Subject::Version(id)).map(|blocker| {
        let render::Explanation { reason, message } = render::blocker(&blocker, names);
        format!("{reason}: {message}")
    });
    Some(vec![
        ("operator", vec![leading(process, engine, names)]),
        ("version", vec![state.to_owned()]),
        ("used by", if used_by.is_empty() { vec!["nobody".to_owned()] } else { used_by }),
        ("waits for", waits.into_iter().collect()),
    ])
}

fn words(user: User, names: &Names) -> String {
    let (id, what) = match user {
        User::Fleet => {
            return "ClusterPackageVersion default: machines get it, or would get it back".to_owned();
        }
        User::Machine(id, Use::Pinned) => (id, "pins it"),
        User::Machine(id, Use::Installed) => (id, "has it installed"),
        User::Machine(id, Use::BeingInstalled) => (id, "may be installing it"),
    };
    format!("{} {what}", render::subject(Subject::Machine(id), names))
}
