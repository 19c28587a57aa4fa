//! Why a machine or a version is in its state at a moment of a run, by the engine's own reasons; and what happened
//! before.

mod chronicle;
mod version;

use seaworthy_api::names::Names;
use seaworthy_api::render;
use seaworthy_engine::{Aim, Engine, Machine, Origin, Owner, Standing, targets};
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::{StoreId, VersionId};
use seaworthy_model::machine::Want;
use seaworthy_model::report::Subject;
use seaworthy_model::strategy::Course;

pub use chronicle::{Chronicle, Line};
pub use version::explain_version;

use crate::vocabulary::{drift_words, since_start};
use crate::world::World;

/// An explanation: headings with their lines.
pub type Explanation = Vec<(&'static str, Vec<String>)>;

/// Why a machine is in its state. `None` if no operator process is alive, or if it knows no such machine.
#[must_use]
pub fn explain(world: &World, name: &str) -> Option<Explanation> {
    let (process, engine, names) = world.mind()?;
    let id = names.find_machine(name)?;
    let machine = engine.world().machine(id);
    let teller = Teller { engine, names, machine };
    Some(vec![
        ("operator", vec![leading(process, engine, names)]),
        ("wanted", teller.wanted()),
        ("installed", teller.installed()),
        ("rollouts", teller.standings()),
        ("waits for", teller.blockers(Subject::Machine(id))),
        ("under way", teller.under_way()),
        ("contact", teller.contact()),
    ])
}

/// Whether the operator acts, and if not, why.
fn leading(process: u32, engine: &Engine, names: &Names) -> String {
    match engine.world().gate(StoreId::HOME) {
        None => format!("process {process} acts, in epoch {}", engine.world().epoch().0),
        Some(gate) => format!("process {process} does not act: {}", render::blocker(&gate, names).message),
    }
}

struct Teller<'a> {
    engine: &'a Engine,
    names: &'a Names,
    machine: &'a Machine,
}

impl Teller<'_> {
    fn version(&self, id: VersionId) -> &str {
        self.names.version_object_name(id).unwrap_or("an unknown version")
    }

    fn want(&self, want: &Want) -> String {
        want.version().map_or("absent", |version| self.version(version)).to_owned()
    }

    fn wanted(&self) -> Vec<String> {
        let world = self.engine.world();
        let line = |target: seaworthy_engine::Target<'_>| {
            let component = world.component_name(target.component);
            let aim = match target.aim {
                Aim::Set(want) => self.want(want),
                Aim::Keep => "what is there".into(),
            };
            let rule = match target.origin {
                Origin::Pin => "the Machine itself pins it".to_owned(),
                Origin::Nobody => "neither the Machine nor the default mentions it".to_owned(),
                Origin::Rollout(index) => self.rule_of(index),
                Origin::Left(set) => {
                    format!("it goes with {}, which the machine has left", self.set(Owner::Set(set)))
                }
            };
            format!("{component}: {aim} ({rule})")
        };
        let lines: Vec<String> = targets(world, self.machine).map(line).collect();
        if lines.is_empty() { vec!["nothing".into()] } else { lines }
    }

    /// The rule behind the state of a rollout.
    fn rule_of(&self, index: usize) -> String {
        let Some(rollout) = self.engine.world().fleet.rollouts.get(index) else { return String::new() };
        let (Some(uid), record) = (self.machine.uid(), &rollout.record) else { return String::new() };
        let rank = rollout.key.rank(uid);
        let whose = match rollout.owner {
            Owner::Fleet => "the fleet's default".to_owned(),
            Owner::Set(_) | Owner::Canary(_) => self.set(rollout.owner),
        };
        if rollout.superseded {
            format!("{whose} was changed, and this rollout ends first")
        } else if rollout.admits(rank) {
            format!("{whose}; its rank {rank} is permitted, below {}", record.admitted_below)
        } else {
            format!("{whose}; its rank {rank} is not permitted yet: below {} is", record.admitted_below)
        }
    }

    fn installed(&self) -> Vec<String> {
        let world = self.engine.world();
        let Some(facts) = self.machine.host.facts.as_ref() else {
            let recorded = self.machine.object.iter().flat_map(|object| object.status.components.iter());
            let recorded = recorded.filter_map(|status| Some((status.component, status.installed?)));
            let mut lines: Vec<String> = recorded
                .map(|(component, installed)| {
                    let version = self.version(installed.version);
                    format!("{}: {version}, as recorded", world.component_name(component))
                })
                .collect();
            lines.push("this operator has not read the host".into());
            return lines;
        };
        let mut lines: Vec<String> = facts
            .components
            .iter()
            .map(|installed| {
                let drift = if installed.drift.is_none() {
                    String::new()
                } else {
                    format!(", drifted: {}", drift_words(installed.drift))
                };
                let component = world.component_name(installed.component);
                format!(
                    "{component}: {}, release {}{drift}",
                    self.version(installed.version),
                    installed.release
                )
            })
            .collect();
        if lines.is_empty() {
            lines.push("nothing".into());
        }
        lines.extend(self.machine.failed.iter().map(|failure| {
            let words = failure.detail.as_deref().map(render::detail).unwrap_or_default();
            format!("{} failed here: {words}", self.version(failure.release.version))
        }));
        lines
    }

    fn standings(&self) -> Vec<String> {
        let world = self.engine.world();
        let rollouts = world.fleet.rollouts.iter().enumerate();
        let lines = rollouts.map(|(index, rollout)| {
            let record = &rollout.record;
            let state = if rollout.is_active() { "under way" } else { "completed" };
            let component = world.component_name(record.component);
            let whose = match rollout.owner {
                Owner::Fleet => String::new(),
                Owner::Set(_) | Owner::Canary(_) => format!(" by {}", self.set(rollout.owner)),
            };
            let standing = standing_words(self.machine.standing(index));
            let gate = record.course.as_ref().map(gate_words).unwrap_or_default();
            format!("{component} to {}{whose}, {state}{gate}: {standing}", self.want(&record.to))
        });
        lines.collect()
    }

    /// A set or a canary, by its name.
    fn set(&self, owner: Owner) -> String {
        let what = if matches!(owner, Owner::Canary(_)) { "canary" } else { "set" };
        let name = owner.target().named().and_then(|id| self.names.name(id).ok());
        format!("{what} {}", name.unwrap_or_default())
    }

    fn blockers(&self, subject: Subject) -> Vec<String> {
        let world = self.engine.world();
        let mut lines = Vec::new();
        let sets = world.sets().map(|(owner, _)| (self.set(owner), owner.subject()));
        let all = [("machine".to_owned(), subject), ("fleet".to_owned(), Subject::PackageVersion)];
        for (whose, subject) in all.into_iter().chain(sets) {
            if let Some(blocker) = world.blocker(subject) {
                let words = render::blocker(&blocker, self.names);
                lines.push(format!("{whose}: {}: {}", words.reason, words.message));
            }
        }
        let (occupied, slots) = (world.occupied(), world.slots());
        let claims = if self.machine.claims() { "claims" } else { "does not claim" };
        lines.push(format!(
            "the machine {claims} one of the {slots} units of maxUnavailable, of which {occupied} are taken"
        ));
        lines
    }

    fn under_way(&self) -> Vec<String> {
        let world = self.engine.world();
        let in_flight = self.machine.progress.writes.action.and_then(|action| world.in_flight().get(&action));
        let mut lines: Vec<String> =
            in_flight.map(|in_flight| format!("{:?}", in_flight.ticket)).into_iter().collect();
        let unknown = self.machine.uncertain.filter(|_| in_flight.is_none());
        lines.extend(unknown.map(|operation| match self.machine.unconfirmed() {
            Some(_) => format!("operation {operation} waits to be confirmed"),
            None => format!("the end of operation {operation} is not known"),
        }));
        if lines.is_empty() {
            lines.push("nothing".into());
        }
        lines
    }

    fn contact(&self) -> Vec<String> {
        let (host, contact) = (&self.machine.host, &self.machine.progress.contact);
        let since = |at: Timestamp| since_start(at);
        let mut lines = Vec::new();
        if host.facts.is_some() {
            lines.push(format!("read at {}", since(contact.read_at)));
        }
        lines.extend(contact.trouble.as_ref().map(|trouble| {
            let words = trouble.detail.as_deref().map(render::detail).unwrap_or_default();
            format!("trouble: {:?}: {words}", trouble.kind)
        }));
        lines.extend(host.unreachable_since.map(|at| format!("unreachable since {}", since(at))));
        if contact.retry.failures > 0 {
            lines.push(format!("tried again at {}", since(contact.retry.not_before)));
        }
        lines.extend(contact.audit_at.map(|at| format!("next audit at {}", since(at))));
        lines.extend(
            self.machine
                .node
                .as_ref()
                .map(|node| format!("its Node is {:?} since {}", node.ready, since(node.since))),
        );
        lines.extend(
            self.machine
                .node
                .as_ref()
                .and_then(|node| node.mark())
                .map(|mark| format!("its Node is cordoned since {}", since(mark.since))),
        );
        lines
    }
}

/// The gate that a rollout has failed, and by which evidence.
fn gate_words(course: &Course) -> String {
    let Some(failure) = course.failure else { return String::new() };
    let (batch, evidence) = (course.batch, render::evidence(&failure.evidence));
    format!(", failed the gate after batch {batch} at {}: {evidence}", since_start(failure.at))
}

const fn standing_words(standing: Standing) -> &'static str {
    match standing {
        Standing::Outside => "no part in it",
        Standing::Waiting => "not permitted yet",
        Standing::Eligible => "permitted, and waits for its turn",
        Standing::Granted => "granted its turn",
        Standing::Held => "granted its turn, and cannot be worked on",
        Standing::Deferred => "permitted, and cannot be worked on",
        Standing::Done => "done",
        Standing::Restored => "done, after another release had failed",
        Standing::Failed => "failed",
    }
}

#[cfg(test)]
mod tests;
