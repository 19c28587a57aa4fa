//! An artefact that is fetched before an operation needs it: it is no operation, and what goes down forgets it.

use std::time::Duration;

use seaworthy_model::cause::CauseKind;

use super::{Answer, Host, Setting, VersionNumber};
use crate::vocabulary::Step;

/// An artefact that is being fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetching {
    /// Which fetch of the host this is: the ends of earlier ones are void.
    number: u32,
    /// The session that waits for its end.
    session: u32,
    version: VersionNumber,
}

/// The end of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The session that waits for it.
    pub session: u32,
    /// Why the artefact was not fetched, if it was not.
    pub failed: Option<CauseKind>,
}

impl Host {
    /// Begins to fetch the artefact of a version, unless another is being fetched.
    pub(super) fn fetch(&mut self, version: VersionNumber, session: u32, setting: &Setting<'_>) -> Answer {
        if self.fetching.is_some() {
            return Answer::Later(CauseKind::HostBusy);
        }
        self.fetches += 1;
        let number = self.fetches;
        self.fetching = Some(Box::new(Fetching { number, session, version }));
        let length = if self.fetched == Some(version) {
            Duration::ZERO
        } else {
            setting.pace.length(setting.draws, u64::from(setting.number), number, Step::Download)
        };
        Answer::Fetching { number, length }
    }

    /// A fetch has ended. `None` when it was cut short.
    pub fn end_fetch(&mut self, number: u32, setting: &Setting<'_>) -> Option<Fetched> {
        let fetching = self.fetching.take_if(|fetching| fetching.number == number)?;
        let Fetching { session, version, .. } = *fetching;
        let failed = self.fails_to_fetch(version, setting);
        if failed.is_none() {
            self.fetched = Some(version);
        }
        Some(Fetched { session, failed })
    }

    /// The session that waits for the end of a fetch, which is cut short.
    pub(super) fn cut_fetch_short(&mut self) -> Option<u32> {
        self.fetching.take().map(|fetching| fetching.session)
    }

    fn fails_to_fetch(&self, version: VersionNumber, setting: &Setting<'_>) -> Option<CauseKind> {
        if self.fetched == Some(version) {
            return None;
        }
        if !setting.downloads {
            return Some(CauseKind::DownloadFailed);
        }
        if !setting.has_room {
            return Some(CauseKind::NoSpace);
        }
        let is_of_artefact =
            |cause: &CauseKind| matches!(cause, CauseKind::DownloadFailed | CauseKind::DigestMismatch);
        setting.failure(version).filter(is_of_artefact)
    }
}
