//! What is on its way between an operator process and the API server or a host. A letter outlives the process that
//! sent it.

use seaworthy_api::request::Request;
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::Outcome;
use seaworthy_model::time::Timestamp;

use super::host::Order;

use crate::vocabulary::Reply;

/// Which action of which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    /// The process.
    pub process: u32,
    /// The action.
    pub action: ActionId,
}

/// What is on its way.
#[derive(Clone, Debug)]
pub(super) enum Letter {
    /// A request to the API server.
    Request {
        /// Who asks.
        sender: Sender,
        /// What for.
        request: Box<Request>,
        /// Where the API server most likely keeps the object.
        place: u32,
        /// What happens after the commit.
        reply: Reply,
        /// Another writer changes the object just before.
        raced: bool,
    },
    /// An order to a host.
    Order {
        /// Who orders.
        sender: Sender,
        /// The host.
        host: u32,
        /// What.
        order: Order,
        /// When it was sent.
        sent: Timestamp,
        /// What happens after its receipt.
        reply: Reply,
        /// It was sent twice: that one of the two did not arrive does not mean that nothing happened.
        repeated: bool,
    },
    /// An answer.
    Outcome {
        /// Who asked.
        sender: Sender,
        /// How it ended.
        outcome: Outcome,
    },
    /// A session to a host that waits for the end of an operation. It has no time of arrival.
    Session {
        /// Who waits.
        sender: Sender,
    },
}

/// Letters by number. Numbers are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Mail {
    letters: Vec<Option<Letter>>,
    free: Vec<u32>,
}

impl Mail {
    /// Takes a letter in and gives it a number.
    pub(super) fn post(&mut self, letter: Letter) -> u32 {
        if let Some(number) = self.free.pop() {
            self.letters[number as usize] = Some(letter);
            return number;
        }
        self.letters.push(Some(letter));
        u32::try_from(self.letters.len() - 1).unwrap_or(u32::MAX)
    }

    /// The operator process for which a letter is, if it is an answer.
    pub(super) fn recipient(&self, number: u32) -> Option<u32> {
        match self.letters.get(number as usize)?.as_ref()? {
            Letter::Outcome { sender, .. } => Some(sender.process),
            Letter::Request { .. } | Letter::Order { .. } | Letter::Session { .. } => None,
        }
    }

    /// A letter that is on its way.
    pub(super) fn letter(&self, number: u32) -> Option<&Letter> {
        self.letters.get(number as usize)?.as_ref()
    }

    /// Takes the letter out; its number is free again.
    pub(super) fn take(&mut self, number: u32) -> Option<Letter> {
        let letter = self.letters.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(letter)
    }
}
