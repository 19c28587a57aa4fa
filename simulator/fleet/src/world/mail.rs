//! Messages in flight between an operator process and the API server or a host. A message outlives the process that
//! sent it.

use seaworthy_api::request::Request;
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::Outcome;
use seaworthy_model::id::StoreId;
use seaworthy_model::time::Timestamp;

use super::host::Order;
use crate::vocabulary::Reply;

/// The action, and the process, that sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    /// The process.
    pub process: u32,
    /// The action.
    pub action: ActionId,
}

/// A message in flight.
#[derive(Clone, Debug)]
pub(super) enum Letter {
    /// A request to the API server.
    Request {
        /// The sender.
        sender: Sender,
        /// The store that it is for.
        store: StoreId,
        /// The request.
        request: Box<Request>,
        /// The place where the API server most likely keeps the object.
        place: u32,
        /// The fate of the reply after the commit.
        reply: Reply,
        /// Whether another writer changes the object just before.
        raced: bool,
    },
    /// An order to a host.
    Order {
        /// The sender.
        sender: Sender,
        /// The host.
        host: u32,
        /// What.
        order: Order,
        /// When it was sent.
        sent: Timestamp,
        /// The fate of the reply after the receipt.
        reply: Reply,
        /// Whether the order was sent twice: the loss of one copy does not mean that nothing happened.
        repeated: bool,
    },
    /// An answer.
    Outcome {
        /// The process that receives the answer.
        sender: Sender,
        /// How it ended.
        outcome: Outcome,
    },
    /// A session to a host that waits for the end of an operation. It has no time of arrival.
    Session {
        /// The process that waits.
        sender: Sender,
    },
}

/// Messages by number. Numbers are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Mail {
    letters: Vec<Option<Letter>>,
    free: Vec<u32>,
}

impl Mail {
    /// Stores a message and returns its number.
    pub(super) fn post(&mut self, letter: Letter) -> u32 {
        if let Some(number) = self.free.pop() {
            self.letters[number as usize] = Some(letter);
            return number;
        }
        self.letters.push(Some(letter));
        u32::try_from(self.letters.len() - 1).unwrap_or(u32::MAX)
    }

    /// The operator process that a message goes to, if it is an answer.
    pub(super) fn recipient(&self, number: u32) -> Option<u32> {
        match self.letters.get(number as usize)?.as_ref()? {
            Letter::Outcome { sender, .. } => Some(sender.process),
            Letter::Request { .. } | Letter::Order { .. } | Letter::Session { .. } => None,
        }
    }

    /// A message in flight.
    pub(super) fn letter(&self, number: u32) -> Option<&Letter> {
        self.letters.get(number as usize)?.as_ref()
    }

    /// Removes the message; its number is free again.
    pub(super) fn take(&mut self, number: u32) -> Option<Letter> {
        let letter = self.letters.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(letter)
    }
}
