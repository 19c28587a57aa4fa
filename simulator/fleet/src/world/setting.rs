//! What a host is told of its surroundings, borrowed from a world such that its hosts can still be changed.

/// The [`Setting`](crate::world::host::Setting) of the host `$number` in the world `$world`.
macro_rules! setting {
    ($world:expr, $number:expr) => {
        $crate::world::host::Setting {
            draws: &$world.draws,
            number: $number,
            pace: &$world.pace,
            failures: &$world.failures,
            has_room: $world.disturbance.has_room($number),
            downloads: $world.queue.now() >= $world.disturbance.registry_down,
        }
    };
}
