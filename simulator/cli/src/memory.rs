//! The allocator of the binary, and what a large run asks of it.

use std::process::Command;

/// A simulated fleet is millions of small allocations; with the system's allocator they cost a third of a run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long mimalloc keeps memory that was freed before it gives it back to the system; it reads that when it starts.
const PURGE_DELAY: &str = "MIMALLOC_PURGE_DELAY";
/// Fewer machines, in all runs together, do not fill enough memory to matter.
const LARGE: u64 = 5_000;

/// Lets runs of large fleets, or of many, keep the memory that was freed: the program starts once more, in place, with that
/// setting, unless it was set already. An operator that crashes frees what its successor needs a moment later, and a run
/// what the next one does; to get that from the system again costs a tenth of the time.
///
/// Where a program cannot be replaced in place, or it fails, the run goes on as it is.
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
