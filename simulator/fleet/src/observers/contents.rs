//! What operators send, word for word: every request body and every host frame that `core/api` renders.
//!
//! The trace hash covers names, revisions and counts. It does not notice a status that says something else. A refactoring
//! that must not change behaviour compares both.

use seaworthy_api::host::translate;
use seaworthy_api::names::Names;
use seaworthy_api::request::Request;
use seaworthy_kernel::{Timestamp, TraceHash, word};
use seaworthy_model::effect::Action;
use seaworthy_model::report::Turn;

use crate::vocabulary::since_start;
use crate::world::{Happening, World};

/// The field manager that the API server records.
const MANAGER: &str = "seaworthy";
/// The cluster name in host frames.
const CLUSTER: &str = "simulated";

/// A digest of everything that operator processes sent, and on request the text of it.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    hash: TraceHash,
    messages: u64,
    log: Option<Vec<String>>,
}

impl Contents {
    /// The same digest, with the text of every message kept.
    #[must_use]
    pub const fn logged() -> Self {
        Self { hash: TraceHash::EMPTY, messages: 0, log: Some(Vec::new()) }
    }

    /// The digest.
    #[must_use]
    pub const fn hash(&self) -> TraceHash {
        self.hash
    }

    /// How many requests and orders there were.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// One line for each message and each turn, if they were kept.
    #[must_use]
    pub fn log(&self) -> &[String] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Adds what operators decide and send.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most of what happens does not concern it")]
    pub(crate) fn observe(&mut self, world: &World, happening: &Happening<'_>) {
        let now = world.now();
        match happening {
            Happening::Turned(turned) => self.turn(now, turned.process, turned.turn),
            Happening::Requests(process, action, request) => self.request(now, *process, action, request),
            Happening::Commands(process, action, names) => self.order(now, *process, action, names),
            _ => {}
        }
    }

    /// Adds a turn that orders something or sets a time to wake up.
    fn turn(&mut self, at: Timestamp, process: u32, turn: &Turn) {
        let wake = turn.wake.as_ref().map_or(0, |wake| wake.at.millis());
        let (actions, blocked) = (turn.actions.len() as u64, turn.report.blocked.len() as u64);
        self.hash.record(&[u64::from(process), at.millis(), actions, blocked, wake]);
        if let Some(log) = &mut self.log {
            let at = since_start(at);
            log.push(format!(
                "{at} process {process} turn: {actions} actions, {blocked} blocked, wakes at {wake}"
            ));
        }
    }

    /// Adds a request to the API server.
    fn request(&mut self, at: Timestamp, process: u32, action: &Action, request: &Request) {
        let http = request.http(MANAGER);
        let head = format!("{} {} {}", http.method, http.path, http.content_type);
        self.message((at, process), action, (&head, &http.body.to_string()));
    }

    /// Adds an order to a host. An order that cannot be rendered is added with the reason.
    fn order(&mut self, at: Timestamp, process: u32, action: &Action, names: &Names) {
        let body = match translate::request(action, names, CLUSTER) {
            Ok(request) => serde_json::to_string(&request).unwrap_or_else(|error| error.to_string()),
            Err(error) => error.to_string(),
        };
        self.message((at, process), action, (&format!("{:?}", action.target), &body));
    }

    fn message(&mut self, (at, process): (Timestamp, u32), action: &Action, (head, body): (&str, &str)) {
        self.messages += 1;
        let (id, deadline) = (action.id.0, action.deadline.millis());
        self.hash.record(&[u64::from(process), at.millis(), id, deadline, word(head), word(body)]);
        if let Some(log) = &mut self.log {
            let at = since_start(at);
            log.push(format!("{at} process {process} action {id} until {deadline}: {head} {body}"));
        }
    }
}
