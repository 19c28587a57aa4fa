//! The outcome that faults choose for a request, an order, a session or an operation.

use std::time::Duration;

use super::{Fleet, Step};

/// What faults do to one request to the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFate {
    /// The operator crashes before the request leaves it.
    pub crashes_before: bool,
    /// What happens to the reply.
    pub reply: Reply,
    /// Another writer changes the object just before the request arrives.
    pub raced: bool,
    /// Whether the request arrives.
    pub passage: Passage,
    /// How much later than usual the request arrives.
    pub late: Duration,
    /// If set, a second copy arrives this long after the message was sent.
    pub again: Option<Duration>,
}

/// What faults do to one order to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderFate {
    /// The operator crashes before the order leaves it.
    pub crashes_before: bool,
    /// The operator crashes after the host has received the order.
    pub crashes_after: bool,
    /// What happens to the session.
    pub session: SessionFate,
    /// Another program holds the lock of the host.
    pub busy: bool,
    /// If set, a second copy arrives this long after the message was sent.
    pub again: Option<Duration>,
}

/// What faults do to a session to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionFate {
    /// The session stays up.
    #[default]
    Holds,
    /// The session is lost before the order arrives. The order never arrives.
    LostBefore(Duration),
    /// The session is lost this long after the order was sent. The host continues the operation.
    LostAfter(Duration),
    /// The session is lost at the first time after the order was sent. The order still arrives, at the second time.
    Late(Duration, Duration),
}

/// An operation that is about to begin on a host.
#[derive(Clone, Copy, Debug)]
pub struct OperationSite<'a> {
    /// The host.
    pub host: u32,
    /// The name of the version that it installs; `None` if it removes.
    pub version: Option<&'a str>,
    /// The fleet.
    pub fleet: &'a Fleet,
}

/// What faults do to an operation on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationFate {
    /// The host loses power in the middle of this step, and stays off for this long.
    pub breaks: Option<(Step, Duration)>,
    /// The host program is killed in the middle of this step.
    pub killed: Option<Step>,
    /// What the release does to the Node after the operation has succeeded.
    pub late: Option<LateHarm>,
}

/// What a release does to the Node of its host after it was installed and found healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateHarm {
    /// The time from the end of the operation until the Node is not ready.
    pub after: Duration,
    /// The time until it can be ready again.
    pub lasting: Duration,
    /// If set, the Node is not ready for this long, then ready for as long, and so on.
    pub flaps: Option<Duration>,
    /// What it does.
    pub form: HarmForm,
}

/// What a release does to its host minutes or hours after it was installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HarmForm {
    /// The Node is not ready.
    #[default]
    Unready,
    /// The service ends, and its Node is as it is.
    Crashes,
    /// The service ends and is started again by its host, and its Node is as it is.
    Restarts,
    /// The disk of the host is full.
    Fills,
    /// Only the metrics of the cluster show it.
    Measured,
    /// No new pod starts, and its Node is as it is.
    Stalls,
}

/// What faults do to the reply to a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reply {
    /// The reply arrives.
    #[default]
    Comes,
    /// It is lost, and the sender notices nothing.
    Lost,
    /// The reply arrives this much later than usual.
    Late(Duration),
    /// No sender waits for the reply: the message is a duplicate.
    Unwanted,
    /// The sender crashes before the reply arrives.
    SenderCrashes,
}

/// Whether a request arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passage {
    /// The request arrives.
    #[default]
    Arrives,
    /// The request is refused, and nothing is executed.
    Refused,
    /// The request is lost, and the sender notices nothing.
    Lost,
}
