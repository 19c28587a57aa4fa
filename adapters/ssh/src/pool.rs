//! Lanes and idle sessions: one order at a time for each host, and a bounded number of connections kept for later.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use tokio::time::{Instant, sleep_until, timeout_at};

/// Address and port of a host: what may be talked to by one order at a time.
pub(crate) type Endpoint = (Arc<str>, u16);

/// The lanes of all hosts that are in use, and the sessions that are not.
pub(crate) struct Pool<S> {
    shared: Arc<Mutex<Shared<S>>>,
    capacity: usize,
    idle_time: Duration,
}

struct Shared<S> {
    lanes: HashMap<Endpoint, Arc<Turn<()>>>,
    idle: HashMap<Endpoint, Kept<S>>,
    /// Idle sessions by age, oldest first.
    ages: BTreeMap<u64, Endpoint>,
    /// The age of the next session to be kept. It only grows.
    next_age: u64,
    /// Whether a task drops sessions whose time is over.
    reaping: bool,
}

struct Kept<S> {
    session: S,
    age: u64,
    until: Instant,
}

impl<S: Send + 'static> Pool<S> {
    /// Keeps at most `capacity` sessions, each for at most `idle_time`.
    pub(crate) fn new(capacity: usize, idle_time: Duration) -> Self {
        let shared = Shared {
            lanes: HashMap::new(),
            idle: HashMap::new(),
            ages: BTreeMap::new(),
            next_age: 0,
            reaping: false,
        };
        Self { shared: Arc::new(Mutex::new(shared)), capacity, idle_time }
    }

    /// Waits for the lane of `endpoint`, in the order of asking; `None` when it is not free by the deadline.
    pub(crate) async fn enter(&self, endpoint: Endpoint, deadline: Instant) -> Option<Lane<'_, S>> {
        let turn = Arc::clone(lock(&self.shared).lanes.entry(endpoint.clone()).or_default());
        // Made before the wait, so that giving up leaves no lane behind.
        let mut lane = Lane { pool: self, endpoint, turn: Some(Arc::clone(&turn)), guard: None };
        lane.guard = Some(timeout_at(deadline, turn.lock_owned()).await.ok()?);
        Some(lane)
    }

    /// How many sessions are kept.
    pub(crate) fn idle(&self) -> usize {
        lock(&self.shared).idle.len()
    }

    fn keep(&self, endpoint: Endpoint, session: S) {
        let mut shared = lock(&self.shared);
        let until = Instant::now() + self.idle_time;
        let replaced = shared.insert(endpoint, session, until);
        let evicted = (shared.idle.len() > self.capacity).then(|| shared.pop_oldest());
        let reap = !std::mem::replace(&mut shared.reaping, true);
        // Closing a session is not done under the lock.
        drop(shared);
        drop((replaced, evicted));
        if reap {
            tokio::spawn(reap_expired(Arc::downgrade(&self.shared)));
        }
    }
}

impl<S> Shared<S> {
    fn insert(&mut self, endpoint: Endpoint, session: S, until: Instant) -> Option<S> {
        let replaced = self.remove(&endpoint);
        let age = self.next_age;
        self.next_age += 1;
        self.ages.insert(age, endpoint.clone());
        self.idle.insert(endpoint, Kept { session, age, until });
        replaced
    }

    fn remove(&mut self, endpoint: &Endpoint) -> Option<S> {
        let kept = self.idle.remove(endpoint)?;
        self.ages.remove(&kept.age);
        Some(kept.session)
    }

    fn pop_oldest(&mut self) -> Option<S> {
        let (_, endpoint) = self.ages.pop_first()?;
        self.idle.remove(&endpoint).map(|kept| kept.session)
    }

    /// When the time of the oldest session is over.
    fn oldest_until(&self) -> Option<Instant> {
        let (_, endpoint) = self.ages.first_key_value()?;
        self.idle.get(endpoint).map(|kept| kept.until)
    }
}

/// Drops sessions when their time is over, and ends when none is left.
async fn reap_expired<S>(shared: Weak<Mutex<Shared<S>>>) {
    loop {
        let mut expired = Vec::new();
        let next = {
            let Some(shared) = shared.upgrade() else { return };
            let mut shared = lock(&shared);
            let now = Instant::now();
            while shared.oldest_until().is_some_and(|until| until <= now) {
                expired.extend(shared.pop_oldest());
            }
            let next = shared.oldest_until();
            shared.reaping = next.is_some();
            next
        };
        drop(expired);
        match next {
            Some(until) => sleep_until(until).await,
            None => return,
        }
    }
}

/// The right to talk to one host. Dropping it lets the next one in.
pub(crate) struct Lane<'a, S: Send + 'static> {
    pool: &'a Pool<S>,
    endpoint: Endpoint,
    turn: Option<Arc<Turn<()>>>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl<S: Send + 'static> Lane<'_, S> {
    /// The session that was kept for this host.
    pub(crate) fn take(&self) -> Option<S> {
        lock(&self.pool.shared).remove(&self.endpoint)
    }

    /// Keeps a session for this host.
    pub(crate) fn keep(&self, session: S) {
        self.pool.keep(self.endpoint.clone(), session);
    }
}

impl<S: Send + 'static> Drop for Lane<'_, S> {
    fn drop(&mut self) {
        self.guard = None;
        self.turn = None;
        let mut shared = lock(&self.pool.shared);
        if shared.lanes.get(&self.endpoint).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            shared.lanes.remove(&self.endpoint);
        }
    }
}

/// Ignores poisoning: a panic elsewhere leaves nothing half done here, since every change is complete before the lock is
/// released.
fn lock<S>(shared: &Mutex<Shared<S>>) -> MutexGuard<'_, Shared<S>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;
    use tokio_test::{assert_pending, assert_ready, task};

    use super::*;

    impl std::fmt::Debug for Lane<'_, u32> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "Lane({:?})", self.endpoint)
        }
    }

    const IDLE: Duration = Duration::from_secs(60);

    fn host(number: u16) -> Endpoint {
        ("198.18.0.1".into(), number)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(1)
    }

    async fn keep(pool: &Pool<u32>, number: u16, session: u32) {
        pool.enter(host(number), soon()).await.unwrap().keep(session);
    }

    async fn take(pool: &Pool<u32>, number: u16) -> Option<u32> {
        pool.enter(host(number), soon()).await.unwrap().take()
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_session_is_found_again_once() {
        let pool = Pool::new(2, IDLE);
        keep(&pool, 1, 10).await;
        assert_eq!(take(&pool, 1).await, Some(10));
        assert_eq!(take(&pool, 1).await, None);
        assert_eq!(lock(&pool.shared).lanes.len(), 0, "no lane is left behind");
    }

    #[tokio::test(start_paused = true)]
    async fn the_least_recently_used_gives_way() {
        let pool = Pool::new(2, IDLE);
        for number in [1, 2] {
            keep(&pool, number, u32::from(number)).await;
        }
        let first = take(&pool, 1).await.unwrap();
        keep(&pool, 1, first).await;
        keep(&pool, 3, 3).await;
        assert_eq!(pool.idle(), 2);
        assert_eq!(take(&pool, 2).await, None);
        assert_eq!((take(&pool, 1).await, take(&pool, 3).await), (Some(1), Some(3)));
    }

    #[tokio::test(start_paused = true)]
    async fn unused_sessions_go_when_their_time_is_over() {
        let pool = Pool::new(8, IDLE);
        keep(&pool, 1, 1).await;
        tokio::time::sleep(IDLE / 2).await;
        keep(&pool, 2, 2).await;
        tokio::time::sleep(IDLE / 2 + Duration::from_millis(2)).await;
        assert_eq!(pool.idle(), 1);
        tokio::time::sleep(IDLE).await;
        assert_eq!(pool.idle(), 0);
        assert!(!lock(&pool.shared).reaping, "nothing is left to look after");
        keep(&pool, 1, 1).await;
        tokio::time::sleep(IDLE + Duration::from_millis(2)).await;
        assert_eq!(pool.idle(), 0, "it is looked after again");
    }

    #[tokio::test(start_paused = true)]
    async fn one_order_at_a_time_for_a_host_and_no_host_waits_for_another() {
        let pool = Pool::<u32>::new(1, IDLE);
        let lane = pool.enter(host(1), soon()).await.unwrap();
        assert!(pool.enter(host(2), soon()).await.is_some());
        assert!(pool.enter(host(1), soon()).await.is_none(), "busy until the deadline");
        assert_eq!(lock(&pool.shared).lanes.len(), 1);
        drop(lane);
        assert!(pool.enter(host(1), soon()).await.is_some());
        assert_eq!(lock(&pool.shared).lanes.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_enter_in_the_order_of_asking() {
        let pool = Pool::<u32>::new(1, IDLE);
        let lane = pool.enter(host(1), soon()).await.unwrap();
        let mut waiters = [1, 2, 3].map(|_| task::spawn(pool.enter(host(1), soon())));
        for waiter in &mut waiters {
            assert_pending!(waiter.poll());
        }
        drop(lane);
        for next in 0..waiters.len() {
            let woken = waiters.each_ref().map(|waiter| waiter.is_woken());
            assert_eq!(woken, [0, 1, 2].map(|number| number == next), "one is woken, and it is the next");
            let lane = assert_ready!(waiters[next].poll()).unwrap();
            for waiter in &mut waiters[next + 1..] {
                assert_pending!(waiter.poll());
            }
            drop(lane);
            // A future that is done must not be polled again, and its place in the queue is empty.
            waiters[next] = task::spawn(pool.enter(host(1), soon()));
        }
        drop(waiters);
        assert_eq!(lock(&pool.shared).lanes.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_passes_the_turn_on() {
        let pool = Pool::<u32>::new(1, IDLE);
        let lane = pool.enter(host(1), soon()).await.unwrap();
        let mut first = task::spawn(pool.enter(host(1), soon()));
        let mut second = task::spawn(pool.enter(host(1), soon()));
        assert_pending!(first.poll());
        assert_pending!(second.poll());
        drop(lane);
        assert!(first.is_woken() && !second.is_woken());
        // It was given the turn, and never comes to take it.
        drop(first);
        assert!(second.is_woken());
        drop(assert_ready!(second.poll()).unwrap());
        drop(second);
        assert_eq!(lock(&pool.shared).lanes.len(), 0, "no lane is left behind");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_at_its_own_deadline_and_not_before() {
        let pool = Pool::<u32>::new(1, IDLE);
        let lane = pool.enter(host(1), soon()).await.unwrap();
        let mut hasty = task::spawn(pool.enter(host(1), soon()));
        let mut patient = task::spawn(pool.enter(host(1), Instant::now() + IDLE));
        assert_pending!(hasty.poll());
        assert_pending!(patient.poll());
        advance(Duration::from_millis(999)).await;
        assert!(!hasty.is_woken());
        advance(Duration::from_millis(2)).await;
        assert!(hasty.is_woken() && !patient.is_woken());
        assert!(assert_ready!(hasty.poll()).is_none());
        drop(lane);
        assert!(patient.is_woken(), "who has left the queue does not hold it up");
        assert!(assert_ready!(patient.poll()).is_some());
    }
}
