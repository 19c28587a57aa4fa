//! What operators observe of the API server: lists, and watches that lag behind.

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::id::Kind;

use crate::vocabulary::Occasion;
use crate::world::World;
use crate::world::api_server::{Change, Cursor, Gone, KINDS};
use crate::world::disturbance::Cache;
use crate::world::event::Event;
use crate::world::process::{Process, WARM_AT_ONCE};

/// How long the store takes to answer a consistent list of thousands of objects.
const LIST: Span = Span::millis(20, 150);
/// The delay of a change to a watcher.
const DELAY: Span = Span::millis(1, 20);

impl World {
    /// A process lists a kind, and watches it from then on.
    pub(in crate::world) fn want_list(&mut self, process: &mut Process, kind: Kind) {
        process.watch(kind).cursor = None;
        let occurrence = self.queue.now().millis();
        let owner = u64::from(process.number);
        // There are as few sets and certificate requests as there are defaults, so their lists take no longer.
        let is_few =
            matches!(kind, Kind::CertificateSigningRequest | Kind::MachineComponentSet | Kind::CanaryRelease);
        let like = if is_few { Kind::ClusterPackageVersion } else { kind };
        let delay = self.draws.within(word("list") ^ word(like.name()), owner, occurrence, LIST);
        self.queue.after(delay, Priority::NORMAL, Event::List { process: process.number, kind });
    }

    /// The list arrives.
    pub(in crate::world) fn list(&mut self, number: u32, kind: Kind) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        let down = self.disturbance.api_down;
        if self.now() < down {
            self.queue.at(down, Priority::NORMAL, Event::List { process: number, kind });
            return self.put_process(process);
        }
        let collection = self.api_servers.home_mut().sorted(kind);
        process.take_in_list(kind, collection.objects().into_iter(), collection.cursor());
        self.turn_soon(&mut process);
        self.put_process(process);
    }

    /// Watches of a kind break and list again.
    pub(in crate::world) fn relist(&mut self, kind: Kind) {
        self.note_occasion(Occasion::Relisted);
        self.rebind(kind, |world, process| world.want_list(process, kind));
    }

    /// Serves watches of a kind from a cache: first its objects, then later changes. A process that has seen more asks
    /// only for later changes, as the kube adapter does, and gets nothing until the cache has caught up.
    pub(in crate::world) fn bind_to_cache(&mut self, kind: Kind, cache: &Cache) {
        self.rebind(kind, |world, process| {
            if process.watch(kind).cursor.is_none_or(|seen| seen < cache.cursor) {
                process.take_in_list(kind, cache.objects.iter(), cache.cursor);
            }
            world.want_delivery(process, kind);
            world.turn_soon(process);
        });
    }

    /// Connects the watches of a kind again that have already listed.
    fn rebind(&mut self, kind: Kind, bind: impl Fn(&mut Self, &mut Process)) {
        for number in self.live.clone() {
            let Some(mut process) = self.take_process(number) else { continue };
            if process.watch(kind).cursor.is_some() {
                bind(self, &mut process);
            }
            self.put_process(process);
        }
    }

    /// A commit of a kind: schedules its delivery to all watches of the kind.
    pub(in crate::world) fn notify(&mut self, kind: Kind) {
        // Events are written for users; no operator watches them.
        if !KINDS.contains(&kind) {
            return;
        }
        for number in self.live.clone() {
            let Some(mut process) = self.take_process(number) else { continue };
            self.want_delivery(&mut process, kind);
            self.put_process(process);
        }
    }

    /// Schedules a delivery of a watch, unless one is due.
    fn want_delivery(&mut self, process: &mut Process, kind: Kind) {
        let (number, now) = (process.number, self.queue.now());
        let watch = process.watch(kind);
        if watch.cursor.is_none() || watch.due {
            return;
        }
        watch.due = true;
        let revision = self.api_servers.home().revision();
        let purpose = word("watch") ^ word(kind.name());
        let delay = self.draws.within(purpose, u64::from(number), revision, DELAY);
        let at = (now + delay + self.disturbance.lag(kind, now)).max(self.disturbance.held_until(kind));
        self.queue.at(at, Priority::NORMAL, Event::Deliver { process: number, kind });
    }

    /// A watch delivers its changes.
    pub(in crate::world) fn deliver(&mut self, number: u32, kind: Kind) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        let (now, held) = (self.queue.now(), self.disturbance.held_until(kind));
        if held > now {
            self.note_occasion(Occasion::WatchHeld);
            self.queue.at(held, Priority::NORMAL, Event::Deliver { process: number, kind });
            return self.put_process(process);
        }
        let watch = process.watch(kind);
        watch.due = false;
        let Some(cursor) = watch.cursor else { return self.put_process(process) };
        match self.show(&mut process, kind, cursor) {
            Ok(later) => {
                if let Some(at) = later {
                    process.watch(kind).due = true;
                    self.queue.at(at, Priority::NORMAL, Event::Deliver { process: number, kind });
                }
                self.turn_soon(&mut process);
            }
            Err(Gone) => {
                self.note_occasion(Occasion::Relisted);
                self.want_list(&mut process, kind);
            }
        }
        self.put_process(process);
    }

    /// Delivers the changes of a watch to a process. If later changes are delayed, returns until when.
    pub(in crate::world) fn show(
        &mut self,
        process: &mut Process,
        kind: Kind,
        mut cursor: Cursor,
    ) -> Result<Option<Timestamp>, Gone> {
        let now = self.queue.now();
        let lag = self.disturbance.lag(kind, now);
        let mut lost = Vec::new();
        if self.rules.lose_events() {
            let changes = self.api_servers.home().collection(kind).since(cursor, now)?;
            let shown: Vec<Change> = changes.take_while(|change| change.at + lag <= now).cloned().collect();
            let shown = shown.iter().filter(|change| self.is_event_lost(process, change));
            lost = shown.map(|change| change.revision).collect();
        }
        let mut later = None;
        for (number, change) in self.api_servers.home().collection(kind).since(cursor, now)?.enumerate() {
            if number.is_multiple_of(WARM_AT_ONCE) {
                let collection = self.api_servers.home().collection(kind);
                let next = collection.since(cursor, now)?.take(WARM_AT_ONCE);
                process.warm_objects(collection.len(), next.map(|change| &change.object));
            }
            if change.at + lag > now {
                later = Some(change.at + lag);
                break;
            }
            if !lost.contains(&change.revision) {
                process.take_in(change);
            }
            cursor = cursor.next();
        }
        process.watch(kind).cursor = Some(cursor);
        Ok(later)
    }
}
