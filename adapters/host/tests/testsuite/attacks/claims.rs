//! Two components that claim the same: the second one is refused, with both names.

use seaworthy_api::host::wire::Operation;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Link, Recipe};
use seaworthy_model::removal::Removal;

use super::{accept, changed, new_host, put, refusal, removal};
use crate::world::apply;
use crate::world::artefacts::Artefacts;

/// What is claimed, in words and in deed.
type Claim = (&'static str, fn(&mut Recipe));

/// A component that claims nothing but what it is given.
fn with(artefacts: &Artefacts, number: u64, component: &str, claim: impl FnOnce(&mut Recipe)) -> Operation {
    changed(artefacts, number, component, |recipe| {
        recipe.content.unit = None;
        recipe.content.probe = None;
        recipe.content.removal = None;
        recipe.content.links = Vec::new();
        claim(recipe);
    })
}

fn link(path: &str) -> Link {
    Link { path: path.into(), target: "bin/check".into() }
}

fn deleted(path: &str) -> Option<Removal> {
    Some(Removal { paths: vec![path.into()], ..Removal::default() })
}

#[test]
fn nothing_is_claimed_twice() {
    let (world, artefacts) = new_host("claims");
    accept(
        &world,
        changed(&artefacts, 1, "alice", |r| {
            r.content.links = vec![link("/opt/alice/check")];
            r.content.removal = deleted("/var/lib/alice");
        }),
    );
    let claims: [Claim; 3] = [
        ("link /opt/alice/check", |r| r.content.links = vec![link("/opt/alice/check")]),
        ("link /etc/systemd/system/webd.service", |r| {
            r.content.links = vec![link("/etc/systemd/system/webd.service")]
        }),
        ("directory /var/lib/alice", |r| r.content.removal = deleted("/var/lib/alice")),
    ];
    for (number, (what, claim)) in (10..).zip(claims) {
        let cause = refusal(&world, &apply(with(&artefacts, number, "bob", claim)));
        assert_eq!(cause.kind, CauseKind::OperationInvalid, "{what}");
        for word in [what, "alice", "bob"] {
            assert!(cause.detail.contains(word), "no {word}: {}", cause.detail);
        }
    }
    let unit = changed(&artefacts, 20, "bob", |r| {
        r.content.links = Vec::new();
        r.content.removal = None;
    });
    let cause = refusal(&world, &apply(unit));
    assert!(cause.detail.contains("unit webd.service"), "{}", cause.detail);
    // What is beside it is free, and what was given up is so again.
    accept(&world, with(&artefacts, 30, "bob", |r| r.content.removal = deleted("/var/lib/bob")));
    accept(&world, removal(31, "alice"));
    accept(&world, with(&artefacts, 32, "bob", |r| r.content.removal = deleted("/var/lib/alice")));
    world.end();
}

/// A directory of one component may be inside that of another one. It stays when that goes.
#[test]
fn what_is_inside_stays_when_the_directory_goes() {
    let (world, artefacts) = new_host("claims-inside");
    accept(&world, with(&artefacts, 1, "runtime", |r| r.content.removal = deleted("/etc/cni")));
    accept(
        &world,
        with(&artefacts, 2, "network", |r| {
            r.content.links = vec![link("/etc/cni/net.d/10.conflist")];
            r.content.removal = deleted("/etc/cni/state");
        }),
    );
    let theirs = put(&world, "/etc/cni/state/leases", "x");
    let ours = put(&world, "/etc/cni/net.d/.cache", "x");
    accept(&world, removal(3, "runtime"));
    assert!(theirs.exists() && !ours.exists());
    assert!(world.layout().on_host("/etc/cni/net.d/10.conflist").exists());
    accept(&world, removal(4, "network"));
    assert!(!theirs.exists());
    world.end();
}
