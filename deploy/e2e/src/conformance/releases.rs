//! The releases of `webd` that the script of orders installs.

use anyhow::{Context, Result};

/// A release.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) version: &'static str,
    pub(super) fault: Fault,
    /// Whether a failure leaves it in place.
    pub(super) is_unsafe: bool,
    /// Whether it is tested before it is swapped in, and leaves more behind than itself.
    pub(super) is_careful: bool,
    /// Whether the host is rebooted when it is installed or removed.
    pub(super) reboots: bool,
    /// Within so many seconds it has to be confirmed; 0 when it need not be.
    pub(super) confirm: u16,
}

/// What is wrong with a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// It runs, and its probe fails.
    Sick,
    /// Its artefact is not what it should be.
    WrongDigest,
    /// Its artefact is not there.
    Missing,
    /// Its preflight fails.
    Unfit,
    /// Its removal fails.
    Sticky,
}

const fn release(version: &'static str, fault: Fault, is_unsafe: bool) -> Release {
    Release { version, fault, is_unsafe, is_careful: false, reboots: false, confirm: 0 }
}

const fn careful(version: &'static str, fault: Fault) -> Release {
    Release { version, fault, is_unsafe: false, is_careful: true, reboots: false, confirm: 0 }
}

const fn anew(version: &'static str, fault: Fault) -> Release {
    Release { version, fault, is_unsafe: false, is_careful: false, reboots: true, confirm: 0 }
}

const fn guarded(version: &'static str) -> Release {
    // Long enough for some orders to a busy machine.
    Release { confirm: 20, ..release(version, Fault::None, false) }
}

pub(super) const ALL: [Release; 12] = [
    release("1.0.0", Fault::None, false),
    release("1.1.0", Fault::None, false),
    release("sick", Fault::Sick, false),
    release("sick-unsafe", Fault::Sick, true),
    release("forged", Fault::WrongDigest, false),
    release("lost", Fault::Missing, false),
    careful("careful", Fault::None),
    careful("unfit", Fault::Unfit),
    careful("sticky", Fault::Sticky),
    anew("anew", Fault::None),
    anew("sick-anew", Fault::Sick),
    guarded("guarded"),
];

/// The release of this version, and its number.
pub(super) fn find(version: &str) -> Result<(usize, &'static Release)> {
    let mut all = ALL.iter().enumerate();
    all.find(|(_, release)| release.version == version).with_context(|| format!("no release {version:?}"))
}
