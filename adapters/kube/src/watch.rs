//! One source, followed for ever: a complete list, then every change after it.
//!
//! ```text
//!             list done              events, bookmarks
//!   List ------------------> Follow ----+
//!    ^                         |  ^-----+------ ends or fails: go on from the last version
//!    +---- version expired ----+
//! ```
//!
//! Lists are read from the store itself and not from a cache, in pages. Before a broken watch goes on, the store's
//! own version is compared with ours: a store that was set back would stay silent until it has caught up.

use std::time::Duration;

use futures::AsyncBufRead;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::api::{Api, Length};
use crate::collection::Collection;
use crate::encoding::{Answer, Encoding, Event, Type};
use crate::failure::Failure;
use crate::page::{Metadata, Page};
use crate::update::{Change, Update};

/// Objects in one page of a list at most; as in client-go, so that the API server's own tuning fits.
const PAGE: u32 = 500;
/// Objects in the first page of a list: their size is not known yet.
const FIRST_PAGE: u32 = 50;
/// The bytes that a page of JSON should have: it is kept until all its objects are read.
const PAGE_GOAL: usize = 512 << 10;
/// The most bytes of a page of JSON. An API server counts objects only, and an object may have more than a megabyte.
const PAGE_BYTES: u64 = 16 << 20;
/// A list whose page has too many bytes begins anew with so many times fewer objects in each.
const PAGE_SHRINKS: u32 = 8;
/// How long the API server lets one watch live. Short, so that a connection that died unnoticed costs at most this.
const WATCH_SPAN: Duration = Duration::from_secs(120);
/// A watch that is silent for so long after its time has lost its connection.
const WATCH_GRACE: Duration = Duration::from_secs(10);
/// The first wait after a failure; it doubles with each.
const BACKOFF_MIN: Duration = Duration::from_millis(250);
/// The longest wait after failures: what an operator adds to an outage of the API server.
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// Follows one source and sends its `updates`.
pub(crate) struct Watch {
    api: Api,
    collection: Collection,
    /// Number of the round of watches to which this one belongs.
    generation: u64,
    updates: mpsc::Sender<Update>,
    /// Objects in one page of a list at most.
    page: u32,
}

/// What was done.
enum Step {
    /// A list, to its end.
    Listed,
    /// A watch, until the API server ended it.
    Followed,
}

/// Why a list or a watch did not come to its end.
enum End {
    /// The receiver was dropped.
    Closed,
    /// The version has expired: only a new list helps.
    Expired,
    /// A page of so many objects has too many bytes.
    PageTooLong(u32),
    /// The request failed.
    Failed(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        if failure.is_expired() { Self::Expired } else { Self::Failed(failure) }
    }
}

impl Watch {
    pub(crate) const fn new(
        api: Api,
        collection: Collection,
        generation: u64,
        updates: mpsc::Sender<Update>,
    ) -> Self {
        Self { api, collection, generation, updates, page: PAGE }
    }

    /// Runs until the receiver is dropped.
    pub(crate) async fn run(mut self) {
        let mut version = None;
        let mut failures = Failures::default();
        loop {
            let began = Instant::now();
            let result = match &mut version {
                None => self.list().await.map(|listed| {
                    version = Some(listed);
                    Step::Listed
                }),
                Some(version) => self.follow(version, &mut failures).await.map(|()| Step::Followed),
            };
            if began.elapsed() >= BACKOFF_MAX {
                failures.count = 0;
            }
            match result {
                Err(End::Closed) => return,
                Ok(Step::Listed) => failures.message = None,
                // A watch that ends at once, again and again, must not become a busy loop.
                Ok(Step::Followed) if began.elapsed() < BACKOFF_MIN => failures.pause().await,
                Ok(Step::Followed) => {}
                Err(End::Expired) => {
                    tracing::info!(kind = self.kind(), "version expired, listing anew");
                    version = None;
                    failures.pause().await;
                }
                Err(End::PageTooLong(objects)) if objects > 1 => {
                    self.page = (objects / PAGE_SHRINKS).max(1);
                    tracing::warn!(
                        kind = self.kind(),
                        page = self.page,
                        "objects are large, listing fewer at once"
                    );
                }
                Err(End::PageTooLong(_)) => {
                    let failure = Failure::TooLong(PAGE_BYTES);
                    if self.report(&mut failures, &failure).await.is_err() {
                        return;
                    }
                    failures.pause().await;
                }
                Err(End::Failed(failure)) => {
                    if self.report(&mut failures, &failure).await.is_err() {
                        return;
                    }
                    failures.pause().await;
                }
            }
        }
    }

    /// Reports a failure once, not at every attempt.
    async fn report(&self, failures: &mut Failures, failure: &Failure) -> Result<(), End> {
        let kind = self.kind();
        let message = if failure.is_not_found() {
            format!("the API server does not serve {kind}: apply the CustomResourceDefinitions of Seaworthy")
        } else {
            failure.to_string()
        };
        if failures.message.as_ref() == Some(&message) {
            tracing::debug!(kind, why = message, "still cannot watch");
            return Ok(());
        }
        tracing::warn!(kind, why = message, "cannot watch");
        failures.message = Some(message.clone());
        self.tell(Change::Failing(message)).await
    }

    async fn tell(&self, change: Change) -> Result<(), End> {
        let update = Update { generation: self.generation, source: self.collection.source, change };
        self.updates.send(update).await.map_err(|_| End::Closed)
    }

    /// Delivers a complete list, page by page, and returns its version.
    async fn list(&self) -> Result<String, End> {
        let mut token = String::new();
        let mut began = false;
        let mut objects = FIRST_PAGE.min(self.page);
        let mut expected = 0;
        loop {
            let mut page = self.open_page(objects, &token, expected).await?;
            if !began {
                // Not before the first page is there: a list that fails at once has not begun.
                self.tell(Change::ListBegan).await?;
                began = true;
            }
            let mut count = 0;
            while let Some(object) = page.next().await? {
                self.tell(Change::of(self.collection.source.kind(), &object)).await?;
                count += 1;
            }
            let bytes = page.bytes();
            let Metadata { version, token: next } = page.end()?;
            if next.is_empty() {
                self.tell(Change::ListEnded).await?;
                return Ok(version);
            }
            token = next;
            objects = next_page(bytes, count).min(self.page);
            // The objects of a page differ a little in size.
            expected = bytes / count.max(1) * objects as usize / 8 * 9;
        }
    }

    /// Begins to read a page of at most so many `objects`, of about `expected` bytes.
    async fn open_page(
        &self,
        objects: u32,
        token: &str,
        expected: usize,
    ) -> Result<Page<impl AsyncBufRead + Unpin + use<>>, End> {
        let accept = Encoding::of_lists(self.collection.source.kind());
        let length = Length { expected, most: PAGE_BYTES };
        let answer = self.api.list(&self.collection.list(objects, token), accept, length).await;
        answer.map_err(|failure| {
            if matches!(failure, Failure::TooLong(_)) { End::PageTooLong(objects) } else { failure.into() }
        })
    }

    const fn kind(&self) -> &'static str {
        self.collection.source.kind().name()
    }

    /// Delivers changes after `version`, which it carries forward, until the watch ends.
    async fn follow(&self, version: &mut String, failures: &mut Failures) -> Result<(), End> {
        self.compare(version).await?;
        let path = self.collection.watch(version, WATCH_SPAN.as_secs());
        let mut events = self.api.watch(&path, Encoding::of_watches(self.collection.source.kind())).await?;
        self.tell(Change::Working).await?;
        // A failure from here on is reported, even when it is the same as before.
        failures.message = None;
        let deadline = Instant::now() + WATCH_SPAN + WATCH_GRACE;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            match timeout(rest, events.next()).await {
                Ok(Ok(Some(event))) => self.event(&event, version).await?,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(Failure::from(error).into()),
                Err(_) => return Err(Failure::Lost("the watch fell silent".into()).into()),
            }
        }
    }

    /// Fails with `Expired` when the store is behind `version`: it was restored from an older copy.
    async fn compare(&self, version: &str) -> Result<(), End> {
        let mut page = self.open_page(1, "", 0).await?;
        while page.next().await?.is_some() {}
        let theirs = page.end()?.version;
        let (ours, theirs) = (version.parse::<u64>(), theirs.parse::<u64>());
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) if theirs < ours => {
                tracing::warn!(kind = self.kind(), ours, theirs, "the store was set back");
                Err(End::Expired)
            }
            _ => Ok(()),
        }
    }

    async fn event(&self, answer: &Answer, version: &mut String) -> Result<(), End> {
        let event = Event::read(answer)?;
        let identity = event.object.identity()?;
        // Sent first: the watch continues from a version only when everything before it was delivered.
        match event.r#type {
            Type::Present => self.tell(Change::of(self.collection.source.kind(), &event.object)).await?,
            Type::Deleted => self.tell(Change::Gone(identity.name)).await?,
            Type::Bookmark => {}
        }
        *version = identity.version;
        Ok(())
    }
}

/// How many objects the page after this one should have, if they are as large.
fn next_page(bytes: usize, objects: usize) -> u32 {
    let fit = PAGE_GOAL.saturating_mul(objects) / bytes.max(1);
    u32::try_from(fit).unwrap_or(u32::MAX).max(1)
}

/// The failures in a row of one watch.
#[derive(Default)]
struct Failures {
    count: u32,
    message: Option<String>,
}

impl Failures {
    async fn pause(&mut self) {
        let factor = 1u32.checked_shl(self.count.min(16)).unwrap_or(u32::MAX);
        self.count += 1;
        sleep(BACKOFF_MIN.saturating_mul(factor).min(BACKOFF_MAX)).await;
    }
}
