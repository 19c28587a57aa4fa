//! Releases that ask for a reload: what runs goes on running, or nothing is changed at all.

use std::fs;

use seaworthy_api::host::wire::{Answer, Command, Reply};
use seaworthy_host::{Host, Site, System, UnitState, Unobserved};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Recipe;
use seaworthy_model::host::{Drift, OperationState};

use crate::world::artefacts::{Artefacts, Edition, LIVE, LIVE_NEXT, LIVE_OTHER, OLD, install};
use crate::world::flawed::{Flaw, Flawed};
use crate::world::judge::{assert_whole, facts};
use crate::world::{LAUNCHER, World, apply, request, scratch};

/// A host that runs `edition`.
fn host(name: &str, edition: Edition) -> (World, Artefacts) {
    let base = scratch(name);
    let (world, artefacts) = (World::make(&base, &base.join("volatile")), Artefacts::serve());
    succeed(&world, 1, artefacts.recipe(edition));
    (world, artefacts)
}

fn succeed(world: &World, sequence: u64, recipe: Recipe) {
    let facts = facts(world.handle(&apply(install(sequence, recipe))));
    assert_eq!(facts.operation.unwrap().state, OperationState::Succeeded);
}

fn refusal(reply: Reply) -> (CauseKind, String) {
    match reply.answer {
        Answer::Refused(cause) => (cause.kind, cause.detail),
        other @ (Answer::Done(_) | Answer::Later(_) | Answer::Pending) => panic!("not refused: {other:?}"),
    }
}

fn pid(world: &World) -> u32 {
    match world.units(&Unobserved).unit("webd.service").unwrap() {
        UnitState::Running { pid } => pid,
        other @ (UnitState::Exited | UnitState::Waiting | UnitState::Stopped) => panic!("{other:?}"),
    }
}

/// The binary of the current release gives way to another one, which is started, and is put back.
fn run_another_binary(world: &World) {
    let binary = world.layout().current("webd").join("bin/webd");
    let aside = world.base.join("aside");
    fs::rename(&binary, &aside).unwrap();
    fs::copy("/bin/sleep", &binary).unwrap();
    world.units(&Unobserved).restart("webd.service").unwrap();
    fs::rename(&aside, &binary).unwrap();
}

/// The second reload removes the release whose binary still runs.
#[test]
fn a_service_outlives_the_release_that_it_was_started_from() {
    let (world, artefacts) = host("reload-outlives", LIVE);
    let first = pid(&world);
    let last = Edition { version: "2.9.0", ..LIVE };
    succeed(&world, 2, artefacts.recipe(LIVE_NEXT));
    assert_whole(&world, Some(LIVE_NEXT), &[OLD], "reloaded");
    succeed(&world, 3, artefacts.recipe(last));
    assert_whole(&world, Some(last), &[OLD], "reloaded again");
    assert_eq!(pid(&world), first);
    let binary = fs::read_link(format!("/proc/{first}/exe")).unwrap();
    assert!(binary.to_string_lossy().ends_with(" (deleted)"), "{}", binary.display());
    run_another_binary(&world);
    let seen = facts(world.handle(&request(4, Command::Facts)));
    assert_eq!(seen.components[0].drift, Drift::WRONG_BINARY);
    world.end();
}

#[test]
fn what_a_reload_would_not_do_is_refused_with_the_reason() {
    let with_unit = |recipe: Recipe, from: &str, to: &str| {
        let mut recipe = recipe;
        let unit = recipe.content.unit.as_mut().unwrap();
        unit.template = unit.template.replace(from, to);
        recipe
    };
    let (world, artefacts) = host("reload-refused", LIVE);
    let first = pid(&world);
    let mut renamed = artefacts.recipe(LIVE_NEXT);
    renamed.content.unit.as_mut().unwrap().name = "webd2.service".into();
    let cases = [
        (artefacts.recipe(LIVE_OTHER), "the unit file differs"),
        (
            with_unit(artefacts.recipe(LIVE_OTHER), "other line", "first line"),
            "the executable bin/webd differs",
        ),
        (renamed, "the unit has another name"),
    ];
    for (sequence, (recipe, words)) in (2..).zip(cases) {
        let (kind, detail) = refusal(world.handle(&apply(install(sequence, recipe))));
        assert_eq!(kind, CauseKind::ReloadRefused, "{detail}");
        assert!(detail.contains(words) && detail.contains("declare disruption: Restart"), "{detail}");
        assert_eq!(pid(&world), first, "{words}");
        assert_whole(&world, Some(LIVE), &[LIVE_NEXT, LIVE_OTHER], words);
    }
    world.end();
}

#[test]
fn a_unit_that_cannot_be_reloaded_is_not_restarted_instead() {
    let (world, artefacts) = host("reload-unable", OLD);
    let without = |edition| {
        let mut recipe = artefacts.recipe(edition);
        let unit = recipe.content.unit.as_mut().unwrap();
        unit.template = unit.template.replace("ExecReload=", "# ");
        recipe
    };
    succeed(&world, 2, without(LIVE));
    let first = pid(&world);
    let (kind, detail) = refusal(world.handle(&apply(install(3, without(LIVE_NEXT)))));
    assert_eq!(kind, CauseKind::ReloadRefused);
    assert!(detail.contains("the unit has no ExecReload"), "{detail}");
    assert_eq!(pid(&world), first);
    world.end();
}

/// The way back from a release that has restarted it leads to one that asks for a reload.
#[test]
fn a_service_is_restarted_where_the_release_that_goes_allows_it() {
    let (world, artefacts) = host("reload-restart", OLD);
    let first = pid(&world);
    succeed(&world, 2, artefacts.recipe(LIVE));
    assert_whole(&world, Some(LIVE), &[LIVE_NEXT], "from one that restarts");
    let second = pid(&world);
    succeed(&world, 3, artefacts.recipe(OLD));
    assert_whole(&world, Some(OLD), &[LIVE_NEXT], "to one that restarts");
    assert!(first != second && second != pid(&world));
    world.end();
}

#[test]
fn a_service_that_does_not_run_as_it_should_is_started_whatever_differs() {
    let stop: fn(&World) = |world| world.units(&Unobserved).stop("webd.service").unwrap();
    for (name, damage) in [("reload-stopped", stop), ("reload-other-binary", run_another_binary)] {
        for next in [LIVE_NEXT, LIVE_OTHER] {
            let (world, artefacts) = host(name, LIVE);
            damage(&world);
            succeed(&world, 2, artefacts.recipe(next));
            assert_whole(&world, Some(next), &[OLD], name);
            world.end();
        }
    }
}

/// Nobody knows what the service has read.
#[test]
fn a_repair_starts_the_service_anew() {
    let (world, artefacts) = host("reload-repair", LIVE);
    let first = pid(&world);
    fs::write(world.layout().current("webd").join("etc/webd.conf"), "by hand").unwrap();
    succeed(&world, 2, artefacts.recipe(LIVE));
    assert_whole(&world, Some(LIVE), &[LIVE_NEXT], "repaired");
    assert_ne!(pid(&world), first);
    world.end();
}

#[test]
fn a_service_that_refuses_to_reload_is_started_with_what_it_had() {
    let (world, artefacts) = host("reload-fails", LIVE);
    let first = pid(&world);
    let system = Flawed { units: world.units(&Unobserved), flaw: Flaw::IgnoresReloads };
    let host =
        Host::new(Site { layout: world.layout(), system: &system, steps: &Unobserved, program: &LAUNCHER });
    let (kind, detail) = refusal(host.handle(&apply(artefacts.install(2, LIVE_NEXT))));
    assert_eq!((kind, detail.as_str()), (CauseKind::ProbeFailed, "flawed"));
    assert_whole(&world, Some(LIVE), &[LIVE_NEXT], "gone back");
    assert_ne!(pid(&world), first);
    world.end();
}
