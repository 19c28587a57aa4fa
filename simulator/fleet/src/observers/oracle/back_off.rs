//! A host that cannot be reached is tried more and more rarely (`backOff`), judged by the orders that were sent there in
//! vain. What the operator believes about its own waits does not count.

use std::collections::BTreeMap;
use std::time::Duration;

use seaworthy_kernel::Timestamp;

/// So many orders of one process may be sent to a host in vain within an hour. Waits double from 5 s to half an hour, half
/// of each is drawn, so there are at most a dozen in the first hour and four in each after it. A Node that changes its
/// condition, and an order that the network repeats, add some.
const ORDERS_MAX: u32 = 40;
const HOUR: Duration = Duration::from_secs(3600);

/// The orders that did not reach their hosts, by host and process, since the first one of an hour.
#[derive(Clone, Debug, Default)]
pub(super) struct BackOff {
    lost: BTreeMap<(u32, u32), (Timestamp, u32)>,
}

impl BackOff {
    /// An order of a process did not reach its host. Returns the breach, if any.
    pub(super) fn lost(&mut self, host: u32, process: u32, now: Timestamp) -> Option<String> {
        let (since, count) = self.lost.entry((host, process)).or_insert((now, 0));
        if *since + HOUR <= now {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        (*count > ORDERS_MAX).then(|| {
            format!("process {process} has sent {count} orders to host {host} within an hour, and it cannot be reached")
        })
    }

    /// An order has reached a host: the next failure is the first one again.
    pub(super) fn reached(&mut self, host: u32) {
        if !self.lost.is_empty() {
            self.asked(host);
        }
    }

    /// Users have changed the spec of a machine, which is a reason to try its host at once.
    pub(super) fn asked(&mut self, host: u32) {
        while let Some((key, _)) = self.lost.range((host, 0)..=(host, u32::MAX)).next() {
            let key = *key;
            self.lost.remove(&key);
        }
    }

    /// Users have changed the fleet's defaults.
    pub(super) fn all_asked(&mut self) {
        self.lost.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_tried_again_and_again_is_found() {
        let mut back_off = BackOff::default();
        let mut lose = |host, process, seconds: u64| {
            back_off.lost(host, process, Timestamp::from_millis(seconds * 1000))
        };
        assert!((0..u64::from(ORDERS_MAX)).all(|at| lose(1, 0, 5 * at).is_none()));
        assert_eq!(lose(1, 1, 300), None, "another process");
        assert_eq!(lose(2, 0, 300), None, "another host");
        assert!(lose(1, 0, 300).is_some());
        assert_eq!(lose(1, 0, 3600), None, "an hour later");
    }

    #[test]
    fn what_users_ask_for_is_tried_at_once() {
        for forget in [BackOff::all_asked, |back_off: &mut BackOff| back_off.asked(1)] {
            let mut back_off = BackOff::default();
            for _ in 0..ORDERS_MAX {
                assert_eq!(back_off.lost(1, 0, Timestamp::from_millis(0)), None);
            }
            forget(&mut back_off);
            assert_eq!(back_off.lost(1, 0, Timestamp::from_millis(0)), None);
        }
    }
}
