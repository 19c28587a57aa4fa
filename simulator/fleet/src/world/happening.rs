//! What happens in a world, as those who look on are told of it.

use std::any::Any;
use std::fmt::Debug;
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

use super::World;
use super::api_server::Written;
use super::event::Event;
use super::host::{Command, ComponentNumber, Ended, KeyNumber, Order, Work};
use crate::scenario::Moment;
use crate::vocabulary::{Injection, Occasion, Place};

/// Somebody who looks on while a world runs. Nothing that it does changes the world: a run is the same with it and without.
pub(crate) trait Observer: Any + Debug + Send {
    /// Something happens, in a world that is as it is here.
    fn observe(&mut self, world: &World, happening: &Happening<'_>);

    /// Whether it wants to know of every event, when that is over.
    fn follows_events(&self) -> bool;

    /// Whether it wants to know of which machines an operator process learns something.
    fn follows_machines(&self) -> bool;

    /// Reads what it needs next, to have it in the processor's cache. The sum means nothing.
    fn prefetch(&self, ahead: Ahead) -> u64;

    /// Another one that has seen the same, for a world that goes its own way from here.
    fn fork(&self) -> Box<dyn Observer>;
}

impl Clone for Box<dyn Observer> {
    fn clone(&self) -> Self {
        self.as_ref().fork()
    }
}

/// What is about to happen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ahead {
    /// An order arrives at a host.
    Order(u32),
    /// An operation on a host ends, which changes this component.
    End(u32, ComponentNumber),
    /// A process sends something about a machine.
    Send(u32, MachineId),
}

/// Why an operator process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It crashed.
    Crashed,
    /// A newer one had taken over.
    SteppedDown,
    /// It was told to.
    Stopped,
}

/// What happens in a world. Whatever is not told can be looked up in the world.
#[derive(Debug)]
pub(crate) enum Happening<'a> {
    /// Something that is counted happened once more.
    Occasion(Occasion),
    /// An event is over.
    Event(&'a Event),
    /// A fault does something to the world.
    Injected(Injection),
    /// A fault strikes at a point to which the world comes: its place among the faults, and the point.
    Struck(usize, &'a Place),
    /// Watches may lag so far behind.
    WatchesLag(Duration),

    /// An operator process starts in a seat.
    ProcessStarted(u32),
    /// An operator process ends.
    ProcessEnded(u32, End),
    /// An operator process stands still until then.
    ProcessPaused(u32, Timestamp),
    /// An operator process has decided.
    Turned(Turned<'a>),
    /// An operator process orders something.
    Ordered(u32, &'a Action),
    /// An operator process sends this request to the API server, for this action.
    Requests(u32, &'a Action, &'a Request),
    /// An operator process sends this action to a host, and calls what it is about by these names.
    Commands(u32, &'a Action, &'a Names),
    /// What was ordered cannot be written down, for this reason.
    Unsound(String),

    /// The API server has accepted a write of an operator that is no renewal of the Lease on the short way.
    OperatorWrote(&'a Written),
    /// Something was committed.
    Committed(Commit<'a>),
    /// The Node of a host was written.
    NodeWritten(NodeWrite),
    /// An operator has changed a label or taint of the Node of a host that others had put there.
    AttributeTaken(u32, String),
    /// People act, for the first time or again.
    PeopleAct(u32, &'a Moment),
    /// What people wanted to write was refused.
    PeopleRefused(String),
    /// Somebody wants to create the Machine of a host, whose name is taken, or is not.
    Joins(u32, bool),
    /// A disruption budget keeps a pod on the Node of a host, or people keep the host as it is.
    HeldUp(u32),

    /// An order is about to be carried out on a host.
    OrderArrives(u32, &'a Command),
    /// A host has taken in an order that began nothing, and has now seen this epoch.
    Heard(u32, Epoch),
    /// An operation begins on a host.
    Began(Began<'a>),
    /// A step of the operation on a host begins.
    StepBegan(u32),
    /// A step of the operation on a host is about to take its effect.
    StepEnds(u32),
    /// It has taken its effect.
    StepEnded(u32),
    /// An operation on a host was confirmed.
    Confirmed(u32, OperationId),
    /// An operation on a host has ended.
    Ended(u32, &'a Work, Ended),
    /// A key was made on a host, for this node.
    KeyMade(KeyNumber, u32, &'a str),

    /// A host loses its power.
    PowerLost(u32),
    /// A host goes down to be started anew, since the operation on it wants that.
    ShutDown(u32),
    /// A host starts.
    Started(u32),
    /// The power of a host has come back.
    PowerReturned(u32),
    /// A host is cut off from the network, or connected again.
    Network(u32, bool),
    /// Something on a host was changed by hand.
    Spoiled(u32, Drift),
    /// A host cannot be reached any more, and its Node does not hide it.
    HostLost(u32),
    /// A host can be reached again and is ready, or its Node says so.
    HostBack(u32),
    /// The Node of a host says something else.
    NodeSays(u32, Health),
    /// A host has no Node.
    NodeMissing(u32),
    /// A kubelet tries to renew its lease in an event of its own, and gets through or not.
    NodeRenewal(bool),
}

/// An operator process has decided.
#[derive(Debug)]
pub(crate) struct Turned<'a> {
    /// Which process.
    pub process: u32,
    /// Its engine, after the turn.
    pub engine: &'a Engine,
    /// How many things there are to look at.
    pub subjects: usize,
    /// What it decided.
    pub turn: &'a Turn,
    /// Machines of which it learnt something since its last turn as a leader, if somebody wants to know.
    pub touched: Vec<MachineId>,
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

/// The Node of a host was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeWrite {
    /// The host.
    pub host: u32,
    /// An operator made it schedulable.
    pub is_freed_by_operator: bool,
    /// It carries our taint now.
    pub is_cordoned: bool,
    /// It is there.
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

impl World {
    /// Tells those who look on what happens.
    pub(in crate::world) fn happened(&mut self, happening: &Happening<'_>) {
        if let Some(mut observer) = self.observer.take() {
            observer.observe(self, happening);
            self.observer = Some(observer);
        }
    }

    /// Something that is counted happened once more.
    pub(crate) fn note_occasion(&mut self, occasion: Occasion) {
        self.happened(&Happening::Occasion(occasion));
    }

    /// Lets those who look on read what they need next.
    pub(super) fn prefetch(&self, ahead: Ahead) -> u64 {
        self.observer.as_ref().map_or(0, |observer| observer.prefetch(ahead))
    }

    /// Who looks on, if somebody does.
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.observer.as_deref()
    }

    /// The same, to be changed.
    pub(crate) fn observer_mut(&mut self) -> Option<&mut (dyn Observer + 'static)> {
        self.observer.as_deref_mut()
    }
}
