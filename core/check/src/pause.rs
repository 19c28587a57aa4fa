//! Pause: while the machine or the fleet is paused, no change starts on a host, and no machine is admitted. Operations under
//! way end, and the operator still reads and confirms them.

use alloc::format;

use seaworthy_engine::{Ticket, World};
use seaworthy_model::effect::Target;
use seaworthy_model::host_order::HostCommandKind;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant, recorded};

pub(crate) const INVARIANT: Invariant = Invariant { name: "pause", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    let is_fleet_paused = world.fleet.is_paused() || world.policy_halt().is_some();
    for action in &turn.actions {
        if let Some((owner, status)) = recorded(action)
            && (is_fleet_paused || world.is_owner_paused(owner))
        {
            let recorded = world.charter(owner).map_or(&[][..], |charter| &charter.status.rollouts);
            if status.rollouts.iter().any(|rollout| admits_more(rollout, recorded)) {
                findings.against(action, "machines are admitted although that is paused".into());
            }
        }
        let Target::Host(id) = action.target else { continue };
        let is_paused = world.machine(id).spec().is_some_and(|spec| spec.paused);
        if !is_paused && world.halt(world.machine(id)).is_none() {
            continue;
        }
        let ticket = world.in_flight().get(&action.id).map(|in_flight| in_flight.ticket);
        // Operations under way end as usual, and a confirmation starts nothing.
        let command = ticket.and_then(Ticket::host_command);
        if ticket.is_some() && command.is_none_or(HostCommandKind::begins_work) {
            let who = if is_paused { "the machine" } else { "the fleet, or its policy," };
            findings.against(action, format!("{ticket:?} although {who} is paused"));
        }
    }
}

/// Whether a rollout permits or grants machines that the recorded ones do not.
fn admits_more(rollout: &Rollout, recorded: &[Rollout]) -> bool {
    let same =
        |before: &&Rollout| before.component == rollout.component && before.generation == rollout.generation;
    let before = recorded.iter().find(same);
    let had = |rank: &u32| {
        before.is_some_and(|before| match &before.granted {
            Some(granted) => granted.contains(rank),
            None => *rank < before.admitted_below,
        })
    };
    rollout.admitted_below > before.map_or(0, |before| before.admitted_below)
        || rollout.granted.iter().flatten().any(|rank| !had(rank))
}
