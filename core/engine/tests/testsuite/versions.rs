//! A version in use is not deleted, for any order of events.

use std::time::Duration;

use crate::fixture::{self, Fixture, WEB, picture, want, web};
use seaworthy_model::event::Observation;
use seaworthy_model::id::VersionId;

const HOUR: Duration = Duration::from_secs(3600);

/// A fleet on `web-1`.
fn on_web_1(machines: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    fixture
}

#[test]
fn a_version_is_held_before_anybody_uses_it() {
    let fixture = on_web_1(1);
    assert!(fixture.store.versions.values().all(|version| version.meta.is_held()));
}

#[test]
fn a_version_whose_deletion_is_seen_before_the_pin_of_it_stays() {
    let mut fixture = on_web_1(3);
    fixture.watch_hangs = true;
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.store.delete_version(web(2));
    let deleted = fixture.store.versions[&1].clone();
    fixture.see(Observation::Version(web(2), Some(Box::new(deleted))));
    assert_eq!(picture(&fixture.turn()), "version 1 waits: NotSynced(Machine)");
    assert_eq!(fixture.turn().actions.len(), 1, "everything is listed");
    fixture.watch_hangs = false;
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2), Some(1), Some(1)]);
    assert!(fixture.store.versions.contains_key(&1));
    fixture.store.edit_machine(0, |spec| spec.pins = [].into());
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1), Some(1), Some(1)]);
    assert!(!fixture.store.versions.contains_key(&1), "nobody uses it any more");
}

#[test]
fn a_version_that_is_being_installed_is_in_use() {
    let mut fixture = on_web_1(1);
    fixture.lost_replies.insert(0, 1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.deliver();
    for _ in 0..10 {
        if fixture.turn().actions.iter().any(fixture::is_change) {
            break;
        }
        fixture.execute();
    }
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(3))].into());
    fixture.deliver();
    assert_eq!(fixture.engine.world().users_of(web(2)), 1, "the order is under way");
    fixture.execute();
    assert_eq!(fixture.engine.world().users_of(web(2)), 1, "its end is not known");
    fixture.pass(HOUR);
    assert_eq!((fixture.web(), fixture.engine.world().users_of(web(2))), (vec![Some(3)], 0));
}

#[test]
fn many_versions_that_go_are_listed_for_together() {
    let mut fixture = on_web_1(1);
    fixture.pass(HOUR);
    let lists = fixture.engine.world().stores.home.lists;
    for version in [2, 3] {
        fixture.store.delete_version(web(version));
        fixture.deliver();
        fixture.settle();
    }
    fixture.store.delete_version(VersionId(3));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(fixture.store.versions.keys().copied().collect::<Vec<_>>(), [0, 4, 5]);
    assert_eq!(fixture.engine.world().stores.home.lists, lists + 2, "one at once, one a minute later");
}
