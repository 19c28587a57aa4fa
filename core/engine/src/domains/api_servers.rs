//! The versions of the API servers, as the driver finds them.

use core::time::Duration;

use seaworthy_model::requirement::ApiServers;

use crate::runtime::queue::Priority;
use crate::world::World;

/// Applies an answer of the driver.
pub(super) fn observe(world: &mut World, found: ApiServers) {
    if world.api_servers.find(found) {
        weigh_rules_anew(world);
    }
}

/// Forgets the versions of the API servers once they are older than `memory`.
pub(super) fn forget(world: &mut World, memory: Duration) {
    if world.api_servers.tell_time(world.now, memory) {
        weigh_rules_anew(world);
    }
}

/// The known versions of the API servers have changed: requeues what may wait because of them.
fn weigh_rules_anew(world: &mut World) {
    if world.is_ruled() && !world.stores.home.is_listing() {
        world.touch_owners(Priority::Urgent);
        world.touch_blocked();
    }
}
