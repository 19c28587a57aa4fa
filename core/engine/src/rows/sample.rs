//! The machines that a rollout asks to fetch its artefact before its first batch, and what they have said.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::cause::Cause;
use seaworthy_model::event::Outcome;
use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::time::Timestamp;

/// When most could not, they are asked again after this time.
const ASKS_AGAIN: Duration = Duration::from_secs(60);

/// A machine that could not be asked within this time says nothing.
const ASKED_WITHIN: Duration = Duration::from_secs(60);

/// Of the reason why a machine could not, so many characters are told.
const WHY_MAX: usize = 300;

/// What the machines have said that were asked. It is lost with the engine: a successor asks again.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The rollout: its generation, and when it began.
    rollout: (u64, Timestamp),
    /// The machines that are asked in this round.
    asked: Vec<(MachineId, Answer)>,
    /// When the last of them was chosen.
    chosen_at: Timestamp,
    /// When the last of them has answered.
    answered_at: Timestamp,
    /// What the last round has come to, if most could not.
    trouble: Option<Trouble>,
}

/// What a machine has said.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing yet.
    None,
    /// It has the artefact.
    Fetched,
    /// It cannot have the artefact, for this reason.
    Failed(Arc<str>),
    /// Nothing about the artefact: it could not be asked, or had troubles of its own.
    Silent,
}

/// How many machines of a round have said what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// They have the artefact.
    pub fetched: u32,
    /// They cannot have it.
    pub failed: u32,
    /// They have not answered.
    pub open: u32,
}

/// That most could not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// How many could not.
    pub(crate) failed: u32,
    /// How many have answered.
    pub(crate) asked: u32,
    /// Why the first of them could not.
    pub(crate) why: Arc<str>,
}

/// What is known of the artefact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// At least half of the machines have it.
    Available,
    /// Most of the machines could not have it.
    Unavailable,
    /// Answers are on their way that will decide it.
    Open,
    /// Nobody could say.
    Nothing,
}

impl Sample {
    /// A round in which nobody was asked yet.
    pub(crate) fn new(record: &Rollout, now: Timestamp) -> Self {
        Self { rollout: identity(record), asked: Vec::new(), chosen_at: now, answered_at: now, trouble: None }
    }

    /// Whether it is about this rollout.
    #[must_use]
    pub fn is_for(&self, record: &Rollout) -> bool {
        self.rollout == identity(record)
    }

    /// What the machines of this round have said.
    #[must_use]
    pub fn answers(&self) -> Answers {
        Answers {
            fetched: self.count(|answer| *answer == Answer::Fetched),
            failed: self.count(|answer| matches!(answer, Answer::Failed(_))),
            open: self.count(|answer| *answer == Answer::None),
        }
    }

    /// Whether most could not, in the last round that has decided it.
    #[must_use]
    pub fn is_in_trouble(&self) -> bool {
        self.trouble().is_some()
    }

    /// Whether this machine is to be asked, and has not answered.
    #[must_use]
    pub fn awaits(&self, machine: MachineId) -> bool {
        self.asked.iter().any(|(asked, answer)| *asked == machine && *answer == Answer::None)
    }

    /// The machines that have not answered.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = MachineId> + '_ {
        self.asked.iter().filter(|(_, answer)| *answer == Answer::None).map(|(machine, _)| *machine)
    }

    /// The machines that are asked in this round, also those that have answered.
    pub(crate) fn asked(&self) -> impl Iterator<Item = MachineId> + '_ {
        self.asked.iter().map(|(machine, _)| *machine)
    }

    /// What is known of the artefact. What is decided is not changed by the answers that are left.
    pub(crate) fn known(&self) -> Known {
        let Answers { fetched, failed, open } = self.answers();
        let all = fetched + failed + open;
        if all == 0 {
            Known::Nothing
        } else if fetched * 2 >= all {
            Known::Available
        } else if failed * 2 > all {
            Known::Unavailable
        } else {
            Known::Open
        }
    }

    /// That most could not: in this round, or in the last one while this one goes on.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let why = self.asked.iter().find_map(|(_, answer)| match answer {
            Answer::Failed(why) => Some(Arc::clone(why)),
            Answer::None | Answer::Fetched | Answer::Silent => None,
        });
        match why.filter(|_| self.known() == Known::Unavailable) {
            Some(why) => {
                let Answers { fetched, failed, .. } = self.answers();
                Some(Trouble { failed, asked: failed + fetched, why })
            }
            None => self.trouble.clone(),
        }
    }

    /// When a machine that could not be asked so far is given up.
    pub(crate) fn asks_until(&self) -> Timestamp {
        self.chosen_at + ASKED_WITHIN
    }

    /// When the next round begins, if most could not.
    pub(crate) fn asks_again_at(&self) -> Timestamp {
        self.answered_at + ASKS_AGAIN
    }

    /// The next round begins, in which nobody was asked yet.
    pub(crate) fn begin_anew(&mut self, now: Timestamp) {
        self.trouble = self.trouble();
        self.asked.clear();
        (self.chosen_at, self.answered_at) = (now, now);
    }

    /// A machine is to be asked.
    pub(crate) fn ask(&mut self, machine: MachineId, now: Timestamp) {
        self.asked.push((machine, Answer::None));
        self.chosen_at = now;
    }

    /// A machine cannot be asked any more.
    pub(crate) fn give_up(&mut self, machine: MachineId, now: Timestamp) {
        self.answer(machine, Answer::Silent, now);
    }

    /// A machine was asked.
    pub(crate) fn settle(&mut self, machine: MachineId, outcome: &Outcome, now: Timestamp) {
        let answer = match outcome {
            Outcome::Done(_) => Answer::Fetched,
            Outcome::Retryable(cause) | Outcome::Refused(cause) if cause.kind.blames_artefact() => {
                Answer::Failed(in_words(cause))
            }
            Outcome::Retryable(_) | Outcome::Refused(_) | Outcome::Stale | Outcome::Unknown => Answer::Silent,
        };
        self.answer(machine, answer, now);
    }

    fn answer(&mut self, machine: MachineId, answer: Answer, now: Timestamp) {
        let mut open = self.asked.iter_mut().filter(|(_, answer)| *answer == Answer::None);
        if let Some((_, said)) = open.find(|(asked, _)| *asked == machine) {
            *said = answer;
            self.answered_at = now;
        }
    }

    fn count(&self, is: impl Fn(&Answer) -> bool) -> u32 {
        u32::try_from(self.asked.iter().filter(|(_, answer)| is(answer)).count()).unwrap_or(u32::MAX)
    }
}

/// What no other rollout has in common with this one.
const fn identity(record: &Rollout) -> (u64, Timestamp) {
    (record.generation, record.started_at)
}

/// The cause in the words of the host, on one line.
fn in_words(cause: &Cause) -> Arc<str> {
    let printed = cause.detail.chars().filter(|letter| !letter.is_control());
    let words: String = printed.take(WHY_MAX).collect();
    if words.trim().is_empty() { cause.kind.name().into() } else { words.trim().into() }
}
