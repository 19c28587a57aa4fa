//! File descriptors: every connection takes one, and a fleet needs more of them than a shell or systemd gives at first.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of this process to the most that it may have. The usual 1024 is meant for programs that cannot
/// cope with more.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(?current, ?maximum, %error, "cannot raise the limit of open files");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_becomes_the_most_that_is_allowed() {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let current = Some(maximum.map_or(65_536, |maximum| maximum - 1));
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
        raise_limit();
        assert_eq!(getrlimit(Resource::Nofile), Rlimit { current: maximum, maximum });
    }
}
