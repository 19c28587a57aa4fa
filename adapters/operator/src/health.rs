//! The health that the operator reports over HTTP, kept where the drive loop never waits for a reader.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A drive loop that has not turned for this long hangs. It turns at least every [`PULSE`]; before it, the cluster's id is
/// asked for, and an API server that does not answer is given up after 30 s.
const ALIVE: Duration = Duration::from_secs(45);

/// A ready operator stays ready for that long when something gets in its way. A restart of the API server breaks its watches,
/// which are back within seconds.
const GRACE: Duration = Duration::from_secs(10);

/// How often the drive loop turns when nothing happens.
pub(crate) const PULSE: Duration = Duration::from_secs(5);

/// Whether the operator is alive and ready.
pub(crate) struct Health {
    state: Mutex<State>,
}

struct State {
    beat: Instant,
    obstacles: BTreeSet<String>,
    /// Since when a ready operator has not been able to do its work.
    hindered: Option<Instant>,
    standby: Option<String>,
}

impl Health {
    /// Alive, and not ready yet.
    pub(crate) fn new() -> Self {
        let obstacles = BTreeSet::from(["starting".to_owned()]);
        Self { state: Mutex::new(State { beat: Instant::now(), obstacles, hindered: None, standby: None }) }
    }

    /// The drive loop turns.
    pub(crate) fn beat(&self) {
        self.lock().beat = Instant::now();
    }

    /// Why the operator cannot do its work; it is ready when nothing is in its way. It stops being ready after [`GRACE`].
    pub(crate) fn set_obstacles(&self, obstacles: BTreeSet<String>) {
        let mut state = self.lock();
        if state.obstacles.is_empty() && !obstacles.is_empty() {
            let since = *state.hindered.get_or_insert_with(Instant::now);
            if since.elapsed() < GRACE {
                return;
            }
        }
        state.hindered = None;
        if state.obstacles == obstacles {
            return;
        }
        let why = obstacles.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        match (state.obstacles.is_empty(), obstacles.is_empty()) {
            (false, true) => tracing::info!("ready"),
            (true, false) => tracing::warn!(why, "not ready any more"),
            _ => tracing::info!(why, "not ready yet"),
        }
        state.obstacles = obstacles;
    }

    /// The leader that the operator stands by for, for people; `None` when it leads itself. A standby is ready: there is
    /// nothing else for it to do.
    pub(crate) fn set_standby(&self, standby: Option<String>) {
        let mut state = self.lock();
        if state.standby != standby {
            match &standby {
                Some(whom) => tracing::info!(whom, "stands by"),
                None => tracing::info!("stands by no more"),
            }
            state.standby = standby;
        }
    }

    /// The leader that the operator stands by for, for people.
    pub(crate) fn standby(&self) -> Option<String> {
        self.lock().standby.clone()
    }

    /// How long ago the drive loop last turned, if that is too long.
    pub(crate) fn hangs(&self) -> Option<Duration> {
        Some(self.lock().beat.elapsed()).filter(|age| *age > ALIVE)
    }

    /// Why the operator cannot do its work.
    pub(crate) fn obstacles(&self) -> BTreeSet<String> {
        self.lock().obstacles.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_does_not_turn_hangs() {
        let health = Health::new();
        tokio::time::advance(ALIVE).await;
        assert_eq!(health.hangs(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(health.hangs().is_some());
        health.beat();
        assert_eq!(health.hangs(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_passes_soon_leaves_it_ready() {
        let health = Health::new();
        let broken = || BTreeSet::from(["cannot watch".to_owned()]);
        health.set_obstacles(BTreeSet::new());
        for is_ready in [true, true, false] {
            health.set_obstacles(broken());
            assert_eq!(health.obstacles().is_empty(), is_ready);
            tokio::time::advance(GRACE / 2).await;
        }
        health.set_obstacles(BTreeSet::new());
        health.set_obstacles(broken());
        tokio::time::advance(GRACE).await;
        health.set_obstacles(BTreeSet::new());
        health.set_obstacles(broken());
        assert!(health.obstacles().is_empty(), "it was able to work in between");
    }
}
