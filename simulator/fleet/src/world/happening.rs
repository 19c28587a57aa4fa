//! Happenings: what a world reports to its observer.

use std::time::Duration;

use seaworthy_api::names::Names;
use seaworthy_api::request::Request;
use seaworthy_engine::Engine;
use seaworthy_model::effect::Action;
use seaworthy_model::host::{Drift, OperationId};
use seaworthy_model::id::MachineId;
use seaworthy_model::lease::Epoch;
use seaworthy_model::node::Health;
use seaworthy_model::report::Turn;
use seaworthy_model::time::Timestamp;

use super::api_server::{Preconditions, Written};
use super::event::Event;
use super::host::{Command, ComponentNumber, Ended, KeyNumber, Order, Work};
use crate::scenario::Moment;
use crate::vocabulary::{Injection, Occasion, Place};

/// What is about to happen, for prefetching.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ahead {
    /// An order arrives at a host.
    Order(u32),
    /// An operation on a host is about to end, which changes this component.
    End(u32, ComponentNumber),
    /// A process sends something about a machine.
    Send(u32, MachineId),
}

/// Why an operator process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The process crashed.
    Crashed,
    /// A newer process had taken over.
    SteppedDown,
    /// The process was asked to stop.
    Stopped,
}

/// What happens in a world. The observer looks up everything else in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening<'a> {
    /// Something that is counted happened once more.
    Occasion(Occasion),
    /// An event is over.
    Event(&'a Event),
    /// A fault does something to the world.
    Injected(Injection),
    /// A fault strikes at a point that the world reaches: the index of the fault, and the point.
    Struck(usize, &'a Place),
    /// Watches may lag this far behind.
    WatchesLag(Duration),

    /// An operator process starts in a seat.
    ProcessStarted(u32),
    /// An operator process ends.
    ProcessEnded(u32, End),
    /// An operator process is suspended until then.
    ProcessPaused(u32, Timestamp),
    /// An operator process has decided.
    Turned(Turned<'a>),
    /// An operator process orders something.
    Ordered(u32, &'a Action),
    /// An operator process sends this request to the API server, for this action. Reported if the observer asks for it.
    Requests(u32, &'a Action, &'a Request),
    /// An operator process sends this action to a host, with the names of its ids. Reported if the observer asks for it.
    Commands(u32, &'a Action, &'a Names),
    /// An order cannot be rendered, for this reason.
    Unsound(&'a str),

    /// The API server has accepted a write of an operator. Renewals of the Lease that skip the mail are left out.
    OperatorWrote(&'a Written),
    /// The API server has accepted a write of an operator that requires this of the object.
    Accepted(Preconditions, &'a Written),
    /// Something was committed.
    Committed(Commit<'a>),
    /// The Node of a host was written.
    NodeWritten(NodeWrite),
    /// An operator has changed a label or taint of a host's Node that another writer had set.
    AttributeTaken(u32, &'a str),
    /// Users act on a moment of the timeline.
    PeopleAct(u32, &'a Moment),
    /// A write of users was refused.
    PeopleRefused(&'a str),
    /// A client creates the Machine of a host. The flag is true when its name was taken.
    Joins(u32, bool),
    /// A pod of an app was evicted, by whomever.
    Evicted(Evicted),
    /// A disruption budget keeps a pod on the Node of a host, or users keep the host as it is.
    HeldUp(u32),

    /// An order of a process does not reach its host.
    OrderLost(u32, u32),
    /// An order is about to be carried out on a host.
    OrderArrives {
        /// The host.
        host: u32,
        /// What is ordered.
        command: &'a Command,
        /// Its sender waits for the answer, and will get it.
        is_awaited: bool,
    },
    /// A host has accepted an order that started no operation, and has now seen this epoch.
    Heard(u32, Epoch),
    /// A host has forgotten the fences that it had seen, and has now seen this epoch.
    FencesReset(u32, Epoch),
    /// An operation begins on a host.
    Began(Began<'a>),
    /// A step of the operation on a host begins. Reported if the observer asks for it.
    StepBegan(u32),
    /// An operation has changed which version of its component is installed on a host, or whether one is.
    VersionChanged(u32, &'a Work),
    /// An operation on a host was confirmed.
    Confirmed(u32, OperationId),
    /// An operation on a host has ended.
    Ended(u32, &'a Work, Ended),
    /// A key was made on a host, for this node.
    KeyMade(KeyNumber, u32, &'a str),

    /// A host loses its power.
    PowerLost(u32),
    /// A host goes down for a reboot that its operation needs.
    ShutDown(u32),
    /// A host starts.
    Started(u32),
    /// The power of a host has come back.
    PowerReturned(u32),
    /// A host is cut off from the network, or connected again.
    Network(u32, bool),
    /// Something on a host was changed by hand.
    Spoiled(u32, Drift),
    /// A host has become unreachable, and its Node does not hide that.
    HostLost(u32),
    /// A host is reachable and ready again, or its Node claims so.
    HostBack(u32),
    /// The Node of a host reports another condition.
    NodeSays(u32, Health),
    /// A host has no Node.
    NodeMissing(u32),
    /// A kubelet tries to renew its lease in an event of its own. The flag is true when it succeeds.
    NodeRenewal(bool),
}

/// An operator process has decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turned<'a> {
    /// Which process.
    pub process: u32,
    /// Its engine, after the turn.
    pub engine: &'a Engine,
    /// The number of objects that its queue may contain.
    pub subjects: usize,
    /// What it decided.
    pub turn: &'a Turn,
    /// Machines about which it received news since its last turn as a leader, if the observer asks for them.
    pub touched: &'a [MachineId],
}

/// Something was committed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit<'a> {
    /// What.
    pub written: &'a Written,
    /// Whether an operator wrote it.
    pub by_operator: bool,
    /// Whether it renews the Lease and does nothing else.
    pub renews: bool,
}

/// A pod of an app was evicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evicted {
    /// The app.
    pub app: u32,
    /// Whether its containers had started, and had not ended.
    pub has_run: bool,
    /// Whether it was ready.
    pub was_ready: bool,
}

/// The Node of a host was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeWrite {
    /// The host.
    pub host: u32,
    /// An operator made it schedulable.
    pub is_freed_by_operator: bool,
    /// Whether users made it unschedulable (`true`) or schedulable, if they did either.
    pub by_people: Option<bool>,
    /// The Node carries the operator's taint now.
    pub is_cordoned: bool,
    /// The Node exists.
    pub is_there: bool,
}

/// An operation begins on a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began<'a> {
    /// The host.
    pub host: u32,
    /// The order that began it.
    pub order: &'a Order,
    /// What it does.
    pub work: &'a Work,
    /// When the order was sent.
    pub sent: Timestamp,
}
