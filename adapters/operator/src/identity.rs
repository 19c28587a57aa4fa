//! The identity of this process: a name for people, and a random part that no other process ever has.

use std::fs::File;
use std::io::Read as _;

use anyhow::Context as _;
use seaworthy_model::draw::Seed;

/// The name of this process in the Lease, and the seed of its engine.
pub(crate) struct Identity {
    /// `<name>_<16 hexadecimal digits>`.
    pub(crate) holder: String,
    /// Jitters back-offs and audits, so that two operators do not act at the same moments.
    pub(crate) seed: Seed,
}

/// The longest name: the API server takes no holder beyond 253 bytes, and the rest has to fit as well.
const NAME_MAX: usize = 200;

impl Identity {
    /// Made from `name`, or from the host's name.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn new(name: Option<&str>) -> anyhow::Result<Self> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => host_name(),
        };
        let end =
            name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= NAME_MAX).last();
        let mut random = [0; 16];
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut random))
            .context("cannot read /dev/urandom")?;
        let [first, second] =
            [0, 8].map(|at| random[at..at + 8].iter().fold(0u64, |n, b| n << 8 | u64::from(*b)));
        Ok(Self { holder: format!("{}_{first:016x}", &name[..end.unwrap_or(0)]), seed: Seed(second) })
    }
}

/// In a pod this is the pod's name.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "seaworthy-operator".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_the_same() {
        let (a, b) = (Identity::new(Some("one")).unwrap(), Identity::new(Some("one")).unwrap());
        assert!(a.holder.starts_with("one_") && a.holder.len() == "one_".len() + 16, "{}", a.holder);
        assert_ne!(a.holder, b.holder);
        assert_ne!(a.seed, b.seed);
        assert!(!Identity::new(None).unwrap().holder.starts_with('_'));
        assert!(Identity::new(Some(&"ä".repeat(500))).unwrap().holder.len() <= NAME_MAX + 17);
    }
}
