//! What becomes of a message or an operation that a fault may strike.

use std::time::Duration;

use super::Step;

/// What becomes of a request to the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFate {
    /// The operator crashes before the request leaves it.
    pub crashes_before: bool,
    /// What becomes of the reply.
    pub reply: Reply,
    /// Another writer changes the object just before the request arrives.
    pub raced: bool,
    /// Whether it arrives.
    pub passage: Passage,
    /// It arrives so much later than usual.
    pub late: Duration,
    /// It arrives once more, so long after it was sent.
    pub again: Option<Duration>,
}

/// What becomes of an order to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderFate {
    /// The operator crashes before the order leaves it.
    pub crashes_before: bool,
    /// The operator crashes when the order was received.
    pub crashes_after: bool,
    /// What becomes of the session.
    pub session: SessionFate,
    /// The host is busy with something else.
    pub busy: bool,
    /// It arrives once more, so long after it was sent.
    pub again: Option<Duration>,
}

/// What becomes of a session to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionFate {
    /// It holds.
    #[default]
    Holds,
    /// It is lost before the order arrives, which therefore never does.
    LostBefore(Duration),
    /// It is lost so long after the order was sent; the host goes on.
    LostAfter(Duration),
    /// It is lost at the first, and the order arrives nevertheless at the second time after it was sent.
    Late(Duration, Duration),
}

/// What becomes of an operation on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationFate {
    /// The host loses its power in the middle of this step, for so long.
    pub breaks: Option<(Step, Duration)>,
}

/// What becomes of the reply to a letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reply {
    /// It comes.
    #[default]
    Comes,
    /// It is lost, and the sender notices nothing.
    Lost,
    /// It comes so much later than usual.
    Late(Duration),
    /// Nobody waits for it: the letter is a copy.
    Unwanted,
    /// The sender crashes before it comes.
    SenderCrashes,
}

/// Whether a request arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passage {
    /// It does.
    #[default]
    Arrives,
    /// It is turned away, and nothing is done.
    Refused,
    /// It is lost, and the sender notices nothing.
    Lost,
}
