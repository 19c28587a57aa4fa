//! What owns rollouts, and what it waits for.

use std::collections::BTreeMap;
use std::mem::discriminant;

use seaworthy_api::names::Names;
use seaworthy_api::render;
use seaworthy_engine::{Owner, World};
use seaworthy_model::id::PolicyId;
use seaworthy_model::machine::Truth;
use seaworthy_model::package_version::{FleetCondition, FleetConditionKind};
use seaworthy_model::report::Blocker;

use super::{History, Millis};

/// The defaults, a set or a canary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charter {
    /// The owner, for display: `set gpu`, `canary first`. Empty for the fleet's defaults.
    pub name: String,
    /// What its condition `Progressing` says, since when.
    pub told: Changes,
    /// What the leading operator waits for before it does more for its rollouts, since when.
    pub waits: Changes,
}

/// A reason in one word and in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Words {
    /// In one word.
    pub reason: String,
    /// In a sentence. Times in it are as in objects.
    pub message: String,
    /// Nothing goes on.
    pub stops: bool,
}

/// The number of a text in [`History::words`], or nothing, each with the time since which it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(Vec<(Millis, Option<u32>)>);

/// A wait that ends and begins again within this time has not ended: each grant ends it for a moment.
const SHORT: Millis = 5_000;

impl Changes {
    /// The changes.
    #[must_use]
    pub fn points(&self) -> &[(Millis, Option<u32>)] {
        &self.0
    }

    /// Adds a change; `is_alike` if it is about the same with other numbers.
    fn push(&mut self, at: Millis, value: Option<u32>, is_alike: bool) {
        let last = self.0.last().copied();
        if last.map_or(value.is_none(), |(_, last)| last == value) {
            return;
        }
        if let [.., (_, before), (since, _)] = self.0.as_slice()
            && *before == value
            && at.saturating_sub(*since) < SHORT
        {
            self.0.pop();
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.0 == at || (is_alike && at.saturating_sub(last.0) < SHORT) => last.1 = value,
            _ => self.0.push((at, value)),
        }
    }
}

/// What was last seen of the owners by the leading process.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    /// By owner: its number in [`History::charters`], its condition, and its blocker.
    known: BTreeMap<Owner, Seen>,
    words: BTreeMap<Words, u32>,
}

#[derive(Clone, Debug)]
struct Seen {
    number: usize,
    told: Option<FleetCondition>,
    waits: Option<Blocker>,
}

impl Owners {
    /// Another process leads: it has ids of its own.
    pub(super) fn forget_ids(&mut self) {
        self.known.clear();
    }

    /// The number of an owner in [`History::charters`].
    pub(super) fn number(&mut self, history: &mut History, world: &World, owner: Owner) -> usize {
        self.known.entry(owner).or_insert_with(|| Seen::new(history, world, owner)).number
    }

    /// Records what owners say and wait for, where that has changed.
    pub(super) fn note(&mut self, history: &mut History, at: Millis, world: &World) {
        let existing = world.sets().map(|(owner, _)| owner).chain([Owner::Fleet]);
        for owner in existing {
            self.known.entry(owner).or_insert_with(|| Seen::new(history, world, owner));
        }
        for (owner, seen) in &mut self.known {
            let charter = world.charter(*owner);
            let told = charter.and_then(|charter| progressing(&charter.status.conditions));
            if told != seen.told.as_ref() {
                seen.told = told.cloned();
                let told = told.map(|told| number(&mut self.words, history, in_words(told)));
                history.charters[seen.number].told.push(at, told, false);
            }
            let waits = charter.and_then(|_| world.blocker(owner.subject()));
            if waits.is_some_and(is_passing) || waits == seen.waits {
                continue;
            }
            let is_alike =
                seen.waits.map(|waits| discriminant(&waits)) == waits.map(|waits| discriminant(&waits));
            seen.waits = waits;
            let waits = waits.map(|waits| number(&mut self.words, history, explain(world, waits)));
            history.charters[seen.number].waits.push(at, waits, is_alike);
        }
    }
}

impl Seen {
    fn new(history: &mut History, world: &World, owner: Owner) -> Self {
        let name = match owner {
            Owner::Fleet => String::new(),
            Owner::Set(_) => format!("set {}", world.name_of(owner)),
            Owner::Canary(_) => format!("canary {}", world.name_of(owner)),
        };
        let charters = &mut history.charters;
        let number = charters.iter().position(|known| known.name == name).unwrap_or_else(|| {
            charters.push(Charter { name, told: Changes::default(), waits: Changes::default() });
            charters.len() - 1
        });
        Self { number, told: None, waits: None }
    }
}

/// The condition that says whether rollouts go on.
pub(super) fn progressing(conditions: &[FleetCondition]) -> Option<&FleetCondition> {
    conditions.iter().find(|condition| condition.kind == FleetConditionKind::Progressing)
}

/// The number of a text.
fn number(known: &mut BTreeMap<Words, u32>, history: &mut History, words: Words) -> u32 {
    *known.entry(words).or_insert_with_key(|words| {
        history.words.push(words.clone());
        u32::try_from(history.words.len() - 1).unwrap_or(u32::MAX)
    })
}

fn in_words(condition: &FleetCondition) -> Words {
    let told = render::fleet_condition(condition);
    Words {
        reason: told.reason.into_owned(),
        message: told.message.into_owned(),
        stops: condition.truth == Truth::False,
    }
}

fn explain(world: &World, blocker: Blocker) -> Words {
    let mut names = Names::new();
    for (id, _) in world.policies.iter() {
        // Ids are given in the order of the names.
        names.id::<PolicyId>(&world.policies.name(id));
    }
    let render::Explanation { reason, message } = render::blocker(&blocker, &names);
    let stops = matches!(blocker, Blocker::GateFailed { .. } | Blocker::TooManyFailures { .. });
    Words { reason: reason.to_owned(), message, stops }
}

/// Whether it lasts for a message or two to the API server and back.
const fn is_passing(blocker: Blocker) -> bool {
    matches!(blocker, Blocker::AwaitingOwnWrite | Blocker::InFlight | Blocker::NotSynced(_))
}
