//! What a component of a machine needs: nothing, a change, or something that only others can do.

use alloc::sync::Arc;

use seaworthy_model::component::Parameters;
use seaworthy_model::host::{Change, Release};
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{FailedRelease, Installed, Want};
use seaworthy_model::report::Blocker;

use super::step::Step;
use crate::rows::standing::Standing;
use crate::world::index::resolution::{Aim, Origin, Target, targets};

/// What one component needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing.
    Nothing,
    /// This change.
    Change { change: Change, is_repair: bool },
    /// A change that cannot be made until something else changes.
    Obstacle(Blocker),
    /// Nothing more is tried: the release failed here.
    Failed(FailedRelease),
}

impl Step<'_> {
    /// Whether anything would be changed now, as far as the record shows. What waits for its turn is not: else a rollout
    /// would read the whole fleet at its start.
    pub(super) fn wants_change(self) -> bool {
        targets(self.world, self.machine).any(|target| match self.need_now(&target) {
            Need::Change { is_repair, .. } => {
                self.machine.is_granted() || !self.awaits_grant(&target, is_repair)
            }
            Need::Obstacle(Blocker::NoArtefact(_) | Blocker::MissingParameter(_)) => true,
            Need::Obstacle(_) | Need::Nothing | Need::Failed(_) => false,
        })
    }

    /// Whether a change has to be granted, and is not. What the fleet's rollout brings is; repairs, pins, and what new
    /// machines get before they are permitted, are not.
    pub(super) fn awaits_grant(self, target: &Target<'_>, is_repair: bool) -> bool {
        let (Origin::Rollout(index), Aim::Set(_), false) = (target.origin, target.aim, is_repair) else {
            return false;
        };
        let rollout = &self.world.fleet.rollouts[index];
        let rank = self.machine.uid().map(|uid| rollout.key.rank(uid));
        rank.is_some_and(|rank| rollout.admits(rank)) && !self.holds_grant(index)
    }

    /// Whether a rollout grants this machine its turn, and our epoch is in the record: so no late write of a predecessor
    /// takes the grant back.
    pub(super) fn holds_grant(self, index: usize) -> bool {
        let owner = self.world.fleet.rollouts.get(index).map(|rollout| rollout.owner);
        let epoch = owner.and_then(|owner| self.world.recorded_epoch(owner));
        self.machine.standing(index) == Standing::Granted && epoch == Some(self.world.epoch())
    }

    /// What a component needs now: until the machine gets its turn, what is installed is repaired.
    pub(super) fn need_now(self, target: &Target<'_>) -> Need {
        let need = self.need(target);
        if matches!(need, Need::Change { is_repair: false, .. }) && self.awaits_grant(target, false) {
            let repair = self.need_repair(target);
            if matches!(repair, Need::Change { is_repair: true, .. }) {
                return repair;
            }
        }
        need
    }

    /// The same, if what is installed is no reason to wait while it waits for its turn itself.
    pub(super) fn need_before_turn(self, target: &Target<'_>) -> Need {
        let need = self.need_now(target);
        let is_there = self.machine.installed(target.component).is_some();
        let is_change = matches!(need, Need::Change { is_repair: false, .. });
        if is_change && is_there && self.awaits_grant(target, false) { Need::Nothing } else { need }
    }

    fn need(self, target: &Target<'_>) -> Need {
        match target.aim {
            Aim::Keep => self.need_repair(target),
            Aim::Set(want) => match self.world.wanted(self.machine, target.component, want) {
                Err(blocker) => Need::Obstacle(blocker),
                Ok(None) => match self.machine.installed(target.component) {
                    Some(_) => Need::Change { change: Change::Remove, is_repair: false },
                    None => Need::Nothing,
                },
                Ok(Some(release)) => self.need_release(target.component, &release),
            },
        }
    }

    fn need_release(self, component: ComponentId, release: &Arc<Release>) -> Need {
        let installed = self.machine.installed(component);
        let is_there = installed.is_some_and(|installed| installed.release == release.id);
        let drifted = self.machine.reported(component).is_some_and(|reported| !reported.drift.is_none());
        match self.machine.failed_release(component) {
            // Also when it is installed: a failed release that could not be rolled back is not tried again.
            Some(failed) if failed.release == release.id => Need::Failed(failed),
            Some(_) | None if is_there && !drifted => Need::Nothing,
            Some(_) | None => {
                Need::Change { change: Change::Install(Arc::clone(release)), is_repair: is_there }
            }
        }
    }

    /// A component that should stay as it is, but has drifted, is installed again from the same recipe.
    fn need_repair(self, target: &Target<'_>) -> Need {
        let Some(reported) = self.machine.reported(target.component) else { return Need::Nothing };
        if reported.drift.is_none() {
            return Need::Nothing;
        }
        let installed = Installed { version: reported.version, release: reported.release };
        match self.recipe_of(target, installed) {
            Some(release) => self.need_release(target.component, &release),
            None => Need::Obstacle(Blocker::UnknownVersion(reported.version)),
        }
    }

    /// The recipe of an installed release, if the fleet's rollout still has it or if it needs no parameters. The id of
    /// a release is a digest of its recipe, so a wrong guess is impossible.
    fn recipe_of(self, target: &Target<'_>, installed: Installed) -> Option<Arc<Release>> {
        let plain = Want::Present { version: installed.version, parameters: Parameters::default() };
        let record = match target.origin {
            Origin::Rollout(index) => self.world.fleet.rollouts.get(index).map(|rollout| &rollout.record),
            Origin::Pin | Origin::Left(_) | Origin::Nobody => None,
        };
        let known = record.into_iter().flat_map(|record| [Some(&record.to), record.from.as_ref()]).flatten();
        known.chain([&plain]).find_map(|want| {
            let release = self.world.wanted(self.machine, target.component, want).ok()??;
            (release.id == installed.release).then(|| release.into_owned())
        })
    }
}
