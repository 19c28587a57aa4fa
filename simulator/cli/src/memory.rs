//! The allocator of the program, and its settings for large runs.

use std::process::Command;

/// A simulated fleet makes millions of small allocations. With the system allocator they take a third of a run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The time that mimalloc keeps freed memory before it returns it to the system. It reads this variable when it starts.
const PURGE_DELAY: &str = "MIMALLOC_PURGE_DELAY";
/// Fewer machines, over all runs, do not use enough memory to matter.
const LARGE: u64 = 5_000;

/// Makes runs of large fleets, or of many fleets, keep freed memory: the program re-executes itself with that setting,
/// unless it is already set. An operator that crashes frees memory that its successor needs a moment later, and so does a run
/// for the next one. To get that memory from the system again takes a tenth of the time.
///
/// If the program cannot re-execute itself, the run continues without the setting.
pub(crate) fn keep(machines: u64) {
    if machines < LARGE || std::env::var_os(PURGE_DELAY).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut again = Command::new(program);
    again.args(std::env::args_os().skip(1)).env(PURGE_DELAY, "-1");
    #[cfg(unix)]
    drop(std::os::unix::process::CommandExt::exec(&mut again));
}
