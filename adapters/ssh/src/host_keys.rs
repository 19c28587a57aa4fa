//! Which host key is accepted.

use std::sync::Arc;

use russh::Preferred;
use russh::keys::ssh_key::EcdsaCurve;
use russh::keys::{Algorithm, HashAlg, PublicKey};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::Connection;
use seaworthy_model::machine::HostKeyPolicy;

/// The kinds of host keys that can be verified, best first.
const SUPPORTED: [Algorithm; 4] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
];

/// The host keys that a connection accepts.
#[derive(Clone, Debug)]
pub(crate) enum HostKeys {
    /// Any of these. Not empty, and all of supported kinds.
    Pinned(Vec<PublicKey>),
    /// The first one that the host shows.
    Any,
}

impl HostKeys {
    /// Reads what `connection` pins.
    pub(crate) fn of(connection: &Connection) -> Result<Self, Cause> {
        let unknown = |detail: String| Cause::new(CauseKind::HostKeyUnknown, detail);
        if connection.host_keys.is_empty() {
            return match connection.host_key_policy {
                HostKeyPolicy::TrustOnFirstUse => Ok(Self::Any),
                HostKeyPolicy::Pinned => Err(unknown(
                    "no host key is pinned and hostKeyPolicy does not trust on first use".to_owned(),
                )),
            };
        }
        let read = |line: &Arc<str>| {
            PublicKey::from_openssh(line.trim()).map_err(|error| {
                unknown(format!("pinned host key `{}` is not readable: {error}", line.trim()))
            })
        };
        let mut keys = connection.host_keys.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        keys.retain(|key| SUPPORTED.contains(&key.algorithm()));
        if keys.is_empty() {
            let detail =
                "the pinned host keys are of kinds that are not supported; pin the ed25519 or ecdsa key";
            return Err(unknown(detail.to_owned()));
        }
        Ok(Self::Pinned(keys))
    }

    fn pinned(&self) -> &[PublicKey] {
        match self {
            Self::Pinned(keys) => keys,
            Self::Any => &[],
        }
    }

    /// Whether `key` is accepted.
    pub(crate) fn accept(&self, key: &PublicKey) -> bool {
        match self {
            Self::Pinned(keys) => keys.iter().any(|pinned| pinned.key_data() == key.key_data()),
            Self::Any => true,
        }
    }

    /// Whether anything is pinned.
    pub(crate) const fn are_pinned(&self) -> bool {
        matches!(self, Self::Pinned(_))
    }

    /// What is negotiated: kinds of pinned keys come first, since a host with keys of several kinds shows only one
    /// of them. The other kinds follow, so that a host with another key is told apart from one without any.
    pub(crate) fn preferred(&self) -> Preferred {
        let pinned = |kind: &Algorithm| self.pinned().iter().any(|key| key.algorithm() == *kind);
        let (mut kinds, rest): (Vec<_>, Vec<_>) = SUPPORTED.into_iter().partition(pinned);
        kinds.extend(rest);
        Preferred { key: kinds.into(), ..Preferred::DEFAULT }
    }

    /// The message for a key that is not accepted.
    pub(crate) fn mismatch(&self, shown: &PublicKey) -> Cause {
        let pinned: Vec<_> = self.pinned().iter().map(fingerprint).collect();
        let detail = format!("the host showed {}, pinned is {}", fingerprint(shown), pinned.join(" or "));
        Cause::new(CauseKind::HostKeyMismatch, detail)
    }
}

/// Kind and SHA-256 fingerprint, as `ssh-keygen -l` prints it.
fn fingerprint(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256))
}

/// A host key as a pin: kind and key, without a comment.
pub(crate) fn line(key: &PublicKey) -> String {
    let bare = PublicKey::new(key.key_data().clone(), "");
    bare.to_openssh().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use russh::keys::PrivateKey;
    use seaworthy_model::machine::{Address, Login};

    use super::*;

    fn fresh(kind: Algorithm) -> PublicKey {
        PrivateKey::random(&mut russh::keys::key::safe_rng(), kind).unwrap().public_key().clone()
    }

    fn connection(host_keys: Vec<String>, host_key_policy: HostKeyPolicy) -> Connection {
        Connection {
            address: Address::default(),
            port: 22,
            login: Arc::new(Login { user: "root".into(), secret_name: "key".into() }),
            host_keys: host_keys.into_iter().map(Arc::from).collect(),
            host_key_policy,
        }
    }

    #[test]
    fn pins_accept_only_themselves_whatever_their_comment() {
        let key = fresh(Algorithm::Ed25519);
        let pins =
            HostKeys::of(&connection(vec![format!(" {} root@host ", line(&key))], HostKeyPolicy::Pinned))
                .unwrap();
        assert!(pins.accept(&key));
        let other = fresh(Algorithm::Ed25519);
        assert!(!pins.accept(&other));
        let cause = pins.mismatch(&other);
        assert_eq!(cause.kind, CauseKind::HostKeyMismatch);
        assert!(cause.detail.contains(&fingerprint(&key)) && cause.detail.contains(&fingerprint(&other)));
    }

    #[test]
    fn an_empty_list_is_accepted_only_when_trust_on_first_use_was_asked_for() {
        let refused = HostKeys::of(&connection(Vec::new(), HostKeyPolicy::Pinned)).unwrap_err();
        assert_eq!(refused.kind, CauseKind::HostKeyUnknown);
        let any = HostKeys::of(&connection(Vec::new(), HostKeyPolicy::TrustOnFirstUse)).unwrap();
        assert!(any.accept(&fresh(Algorithm::Ed25519)));
        let recorded = line(&fresh(Algorithm::Ed25519));
        let second = HostKeys::of(&connection(vec![recorded], HostKeyPolicy::TrustOnFirstUse)).unwrap();
        assert!(!second.accept(&fresh(Algorithm::Ed25519)), "trusted once, not for ever");
    }

    #[test]
    fn an_unreadable_pin_is_named_and_accepts_nothing() {
        let bad = connection(vec!["ssh-ed25519 AAAA".into()], HostKeyPolicy::TrustOnFirstUse);
        let cause = HostKeys::of(&bad).unwrap_err();
        assert_eq!(cause.kind, CauseKind::HostKeyUnknown);
        assert!(cause.detail.contains("ssh-ed25519 AAAA"), "{}", cause.detail);
    }

    #[test]
    fn pins_of_unsupported_kinds_never_mean_any_key() {
        let rsa = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDHTK3CSnKCQd15rYGwA3SwKm6hBE9cD0ugbqJSZbXTHUkvUu4k4eyt8tr7\
                   zBjGyKpgHQnAPGbtoSXZ1pfM8/3WP7Fe9dvUEGRWLbiSdkBm8Ad+WQIhVHUV4EZAzXnLBfpSCbpvHjXrxM8ZZZnwSyGvrW\
                   pQCgH8bJlUBYzPQQ1GOQ==";
        let cause = HostKeys::of(&connection(vec![rsa.into()], HostKeyPolicy::TrustOnFirstUse)).unwrap_err();
        assert_eq!(cause.kind, CauseKind::HostKeyUnknown);
        let key = fresh(Algorithm::Ed25519);
        let both = HostKeys::of(&connection(vec![rsa.into(), line(&key)], HostKeyPolicy::Pinned)).unwrap();
        assert!(both.accept(&key) && !both.accept(&fresh(Algorithm::Ed25519)));
    }

    #[test]
    fn the_kind_of_a_pinned_key_is_negotiated_first() {
        let kind = Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 };
        let pins = connection(vec![line(&fresh(kind.clone()))], HostKeyPolicy::Pinned);
        let preferred = HostKeys::of(&pins).unwrap().preferred();
        assert_eq!(preferred.key.first(), Some(&kind));
        assert_eq!(preferred.key.len(), SUPPORTED.len());
    }
}
