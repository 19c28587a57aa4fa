//! A fault of a scenario with its trigger, and the progress of the trigger.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use seaworthy_kernel::{Draws, Timestamp};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::trigger::{Progress, Trigger};
use super::{Chance, Fault, Model, Moment, Plan};
use crate::vocabulary::{Fleet, Length, Point, START, Scheduled};

/// A fault, and when it strikes: a map with the name of the fault and, if the fault waits for something, `when`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "camelCase"))]
pub struct Rule {
    /// The fault.
    #[cfg_attr(feature = "schema", schemars(flatten))]
    pub fault: Fault,
    /// The trigger of the fault. Its times and windows are counted from the instant at which the trigger fires. A fault
    /// that strikes requests, orders or operations strikes once: at the point where the trigger fires, or at the next
    /// point that it may strike.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub when: Option<Trigger>,
    /// The time for which such a fault continues to strike after the trigger fired, instead of once. Requires `when`.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub during: Option<Length>,
}

struct RuleVisitor;

impl<'de> Visitor<'de> for RuleVisitor {
    type Value = Rule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fault: a map with its name, and with `when` if it waits for something")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Rule, M::Error> {
        let (mut fault, mut when, mut during) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "when" => when = Some(map.next_value()?),
                "during" => during = Some(map.next_value()?),
                name if fault.is_some() => {
                    return Err(M::Error::custom(format!("{name}: one fault only; begin another with `- `")));
                }
                name => {
                    let read = Fault::read(name, &mut map)?;
                    fault = Some(read.ok_or_else(|| M::Error::custom(unknown(name)))?);
                }
            }
        }
        let fault = fault.ok_or_else(|| M::Error::custom("no fault is named"))?;
        if during.is_some() && when.is_none() {
            return Err(M::Error::custom("during: needs `when`"));
        }
        Ok(Rule { fault, when, during })
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RuleVisitor)
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<String> = Fault::SPELLED.iter().map(|name| spelling(name)).collect();
    format!("unknown fault `{name}`, expected one of {}", names.join(", "))
}

/// A name in Rust's spelling as scenario files write it.
fn spelling(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// Whether `written` is how scenario files write `name`.
pub(super) fn is_spelled(name: &str, written: &str) -> bool {
    let tail = name.get(1..);
    tail == written.get(1..) && name.as_bytes().first().map(u8::to_ascii_lowercase) == written.bytes().next()
}

/// The faults of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<Armed>,
    waits: bool,
    loses_events: bool,
}

#[derive(Clone, Debug)]
struct Armed {
    /// The key of the fault's draws.
    key: u64,
    rule: Rule,
    progress: Progress,
    state: State,
    /// How often the fault has struck.
    strikes: u64,
    /// The time from which its windows are counted.
    origin: Timestamp,
}

/// Whether a fault may strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The fault may strike at any time.
    Free,
    /// The fault may not strike until its trigger fires.
    Waits,
    /// The fault may strike once.
    Once,
    /// The fault may strike until this time.
    Until(Timestamp),
    /// The fault may not strike again.
    Spent,
}

impl Rules {
    /// These faults, each with the key of its draws. When a plan dictates the strikes, no fault waits for its trigger:
    /// the plan already contains the result.
    pub(crate) fn new(rules: Vec<(u64, Rule)>, dictated: bool) -> Self {
        let waits = !dictated && rules.iter().any(|(_, rule)| rule.when.is_some());
        let loses_events = rules.iter().any(|(_, rule)| rule.fault.model().loses_events());
        let armed = |(key, rule): (u64, Rule)| {
            let state = if rule.when.is_some() && !dictated { State::Waits } else { State::Free };
            Armed { key, rule, progress: Progress::default(), state, strikes: 0, origin: START }
        };
        Self { rules: rules.into_iter().map(armed).collect(), waits, loses_events }
    }

    /// Whether any fault waits for a trigger.
    pub(crate) const fn wait(&self) -> bool {
        self.waits
    }

    /// Whether any fault loses events.
    pub(crate) const fn lose_events(&self) -> bool {
        self.loses_events
    }

    /// Whether the fault with this index has a trigger.
    pub(crate) fn is_triggered(&self, index: usize) -> bool {
        self.rules.get(index).is_some_and(|armed| armed.rule.when.is_some())
    }

    /// The times at which triggers may fire without another event.
    pub(crate) fn times(&self) -> Vec<Timestamp> {
        self.rules.iter().filter_map(|armed| armed.rule.when.as_ref()).flat_map(Trigger::times).collect()
    }

    /// The scheduled injections of the faults without a trigger, each with the index of its fault.
    pub(crate) fn plan(&self, draws: &Draws, fleet: &Fleet, moment: Moment) -> Vec<(usize, Scheduled)> {
        let free = self.rules.iter().enumerate().filter(|(_, armed)| armed.state == State::Free);
        free.flat_map(|(index, armed)| armed.plan(index, draws, fleet, moment)).collect()
    }

    /// Advances the triggers by a happening. Returns the injections of the faults whose triggers fire, each with the
    /// index of its fault.
    pub(crate) fn pass(
        &mut self,
        point: &Point<'_>,
        draws: &Draws,
        fleet: &Fleet,
        moment: Moment,
    ) -> Vec<(usize, Scheduled)> {
        let now = moment.origin;
        let mut planned = Vec::new();
        for (index, armed) in self.rules.iter_mut().enumerate() {
            if armed.state != State::Waits {
                continue;
            }
            let Some(trigger) = &armed.rule.when else { continue };
            if armed.progress.advance(trigger, point, now) {
                armed.state = armed.rule.during.map_or(State::Once, |during| State::Until(now + during.0));
                armed.origin = now;
                planned.extend(armed.plan(index, draws, fleet, moment));
            }
        }
        planned
    }

    /// Counts a strike of a fault at a time of its own.
    pub(crate) fn count_strike(&mut self, index: usize) {
        self.rules[index].strikes += 1;
    }

    /// The number of strikes of each fault.
    pub(crate) fn strikes(&self) -> impl Iterator<Item = u64> {
        self.rules.iter().map(|armed| armed.strikes)
    }

    /// Lets every fault that may strike decide. Returns which of them have struck.
    pub(crate) fn strike(
        &mut self,
        chance: &Chance<'_>,
        mut ask: impl FnMut(&dyn Model, &Chance<'_>),
    ) -> Vec<usize> {
        let mut all = Vec::new();
        for (index, armed) in self.rules.iter_mut().enumerate() {
            let is_due = !chance.is_renewal || armed.state == State::Free;
            if !is_due || !armed.state.may_strike(chance.now) {
                continue;
            }
            if let Some(ledger) = chance.ledger {
                ledger.borrow_mut().turn_of(index);
            }
            let struck = Cell::new(0);
            ask(
                armed.rule.fault.model(),
                &Chance { key: armed.key, origin: armed.origin, struck: &struck, ..*chance },
            );
            if struck.get() == 0 {
                continue;
            }
            armed.strikes += struck.get();
            all.push(index);
            if armed.state == State::Once {
                armed.state = State::Spent;
            }
        }
        all
    }
}

impl Armed {
    /// The scheduled injections of the fault from this moment on, with its index.
    fn plan(&self, index: usize, draws: &Draws, fleet: &Fleet, moment: Moment) -> Vec<(usize, Scheduled)> {
        let mut planned = Vec::new();
        self.rule.fault.model().schedule(&mut Plan::new(draws, self.key, fleet, moment, &mut planned));
        planned.into_iter().map(|scheduled| (index, scheduled)).collect()
    }
}

impl State {
    fn may_strike(self, now: Timestamp) -> bool {
        match self {
            Self::Free | Self::Once => true,
            Self::Until(end) => now <= end,
            Self::Waits | Self::Spent => false,
        }
    }
}

impl Rule {
    /// The first problem of the rule in this fleet, and its field.
    pub(crate) fn problem(&self, fleet: &Fleet) -> Option<String> {
        let name = spelling(self.fault.spelled());
        let fault = self.fault.model().out_of_range(fleet).map(|problem| format!("{name}: {problem}"));
        let trigger = self.when.as_ref().and_then(|trigger| trigger.problem(fleet.machines));
        let during = self.during.filter(|during| during.0 == Duration::ZERO);
        fault
            .or_else(|| trigger.map(|problem| format!("when: {problem}")))
            .or_else(|| during.map(|_| "during: must be longer than nothing".into()))
    }
}
