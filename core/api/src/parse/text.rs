//! The formats of texts. Each function answers yes or no; the message for a fault is beside it.

/// Letters for `relative_path` and `absolute_path`.
const PATH: &str = "made of letters, digits and ._@+%=,:-";

pub(super) const LABEL: &str = "must consist of lower-case letters, digits and '-', start and end with a letter or \
                                digit, and have at most 63 characters";
/// A DNS label.
pub(super) fn is_label(text: &str) -> bool {
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes.iter().all(|&byte| byte == b'-' || alphanumeric(Some(&byte)))
}

pub(super) const SUBDOMAIN: &str = "must consist of lower-case letters, digits, '-' and '.', each part between dots \
                                    starting and ending with a letter or digit";
/// A DNS subdomain of at most `max` characters.
pub(super) fn is_subdomain(text: &str, max: usize) -> bool {
    text.len() <= max && text.split('.').all(is_label)
}

pub(super) const LABEL_VALUE: &str = "must consist of letters, digits, '-', '_' and '.', start and end with a letter \
                                      or digit, and have at most 63 characters";
/// The value of a label.
pub(super) fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= 63
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

pub(super) const LABEL_KEY: &str = "keys must be a name of at most 63 letters, digits and -_. that starts and ends with a \
                                    letter or digit, after a DNS subdomain and '/' or alone";
/// The key of a label or taint: a name, or a DNS subdomain, `/` and a name.
pub(super) fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(|prefix| is_subdomain(prefix, 253)) && is_label_value(name)
}

pub(super) const RESERVED_KEY: &str = "keys in kubernetes.io, k8s.io and seaworthy.dev are reserved, but for \
                                       node-role.kubernetes.io/ and node-restriction.kubernetes.io/";

pub(super) const IDENTIFIER: &str = "must be named with letters, digits and '_', not start with a digit, and have at \
                                     most 63 characters";
/// The name of a parameter: templates spell it `parameters.<name>`.
pub(super) fn is_identifier(text: &str) -> bool {
    text.len() <= 63
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(super) fn relative_path_words() -> String {
    format!("must be a relative path without '..', {PATH}")
}

/// A path inside a release: at most 256 characters; no part of it is empty, `.` or `..`.
pub(super) fn is_relative_path(text: &str) -> bool {
    text.len() <= 256 && text.split('/').all(is_path_part)
}

pub(super) fn absolute_path_words() -> String {
    format!("must be an absolute path without '..', {PATH}")
}

/// A path on the host, under the same limits.
pub(super) fn is_absolute_path(text: &str) -> bool {
    text.len() <= 256 && text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_path_part))
}

/// One part of a path: an optional dot, then anything but a dot, then the rest.
fn is_path_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@+%=,:-".contains(&byte);
    let rest = part.strip_prefix('.').unwrap_or(part);
    rest.bytes().next().is_some_and(is_plain) && rest.bytes().all(|byte| byte == b'.' || is_plain(byte))
}

pub(super) const IP: &str = "must be the IPv4 or IPv6 address of a host";
/// An address that one host can have.
pub(super) fn is_host_address(text: &str) -> bool {
    text.parse::<core::net::IpAddr>().is_ok_and(|ip| {
        let mapped = matches!(ip, core::net::IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some());
        let broadcast = ip == core::net::IpAddr::V4(core::net::Ipv4Addr::BROADCAST);
        !ip.is_unspecified() && !ip.is_multicast() && !broadcast && !mapped
    })
}

pub(super) const USER: &str = "must consist of letters, digits, '_', '-' and '.', start with a letter or '_', and \
                               have at most 32 characters";
/// The name of an account.
pub(super) fn is_user(text: &str) -> bool {
    text.len() <= 32
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

pub(super) const URL: &str = "must be an http:// or https:// URL without credentials";
/// Where an artefact is fetched from.
pub(super) fn is_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    text.len() <= 2048
        && !authority.is_empty()
        && authority.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:_[]-".contains(&byte))
        && path.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(super) const UNIT: &str = "must be the name of a service unit, such as webd.service, made of letters, digits and \
                               '_.-'";
/// The name of a service unit.
pub(super) fn is_service(text: &str) -> bool {
    text.len() <= 128
        && text.strip_suffix(".service").is_some_and(|stem| {
            stem.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
                && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        })
}

pub(super) const HOST_KEY: &str = "must be a public host key such as 'ssh-ed25519 AAAA...' (of type ssh-ed25519, \
                                   ecdsa-sha2-nistp256, -nistp384, -nistp521 or ssh-rsa)";
/// Types of host keys, each with the base64 text that every key of the type begins with: the length of the type's
/// name, and the name itself.
const HOST_KEYS: [(&str, &str); 5] = [
    ("ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5"),
    ("ecdsa-sha2-nistp256", "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY"),
    ("ecdsa-sha2-nistp384", "AAAAE2VjZHNhLXNoYTItbmlzdHAzODQ"),
    ("ecdsa-sha2-nistp521", "AAAAE2VjZHNhLXNoYTItbmlzdHA1MjE"),
    ("ssh-rsa", "AAAAB3NzaC1yc2"),
];

/// A host key as `type base64`, without the comment that may follow; `None` when it is not one.
pub(super) fn host_key(text: &str) -> Option<&str> {
    let (kind, rest) = text.split_once(' ')?;
    let blob = rest.split(' ').next()?;
    let (_, start) = HOST_KEYS.into_iter().find(|(name, _)| *name == kind)?;
    let body = blob.trim_end_matches('=');
    let complete = blob.len().is_multiple_of(4) && blob.len() - body.len() <= 2;
    let readable = body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    let long_enough = blob.len() >= 68 && text.len() <= 2048;
    (complete && readable && long_enough && body.starts_with(start))
        .then(|| &text[..kind.len() + 1 + blob.len()])
}

/// Permission bits in octal, three digits with or without a zero before them.
pub(super) fn mode(text: &str) -> Option<u32> {
    let digits = if text.len() == 4 { text.strip_prefix('0')? } else { text };
    if digits.len() != 3 || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return None;
    }
    u32::from_str_radix(digits, 8).ok()
}

/// The longest duration: 8760 h, a year.
const DURATION_MAX_SECONDS: u64 = 8760 * 3600;

/// A duration from 1 s to 8760 h in hours, minutes and seconds, in this order, each at most once: `24h`, `1h30m`.
#[must_use]
pub fn duration(text: &str) -> Option<core::time::Duration> {
    let mut rest = text;
    let mut seconds = 0;
    for (unit, length) in [('h', 3600), ('m', 60), ('s', 1)] {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        if let Some(tail) = tail.strip_prefix(unit)
            && (1..=6).contains(&digits)
        {
            seconds += number.parse::<u64>().ok()? * length;
            rest = tail;
        }
    }
    let fits = rest.is_empty() && (1..=DURATION_MAX_SECONDS).contains(&seconds);
    fits.then(|| core::time::Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn assert_judged(judge: impl Fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(judge(text), "{text:?} should pass");
        }
        for text in bad {
            assert!(!judge(text), "{text:?} should be refused");
        }
    }

    #[test]
    fn names() {
        let long = "a".repeat(64);
        assert_judged(
            is_label,
            &["a", "webd", "a-b", "0a"],
            &["", "-a", "a-", "A", "a.b", "a_b", "é", &long],
        );
        let version = |text: &str| is_subdomain(text, 63);
        assert_judged(version, &["1.0.0", "v1.36.3-rc.1"], &["", "1..0", ".1", "1.", "1.0+k", "1.-0", &long]);
        assert_judged(is_label_value, &["A1", "rack_1.b"], &["", "_a", "a_", "a b", "é", &long]);
        assert_judged(is_identifier, &["_a", "port2"], &["", "2a", "a-b", "a.b", &long]);
        assert_judged(is_user, &["root", "_x", "a.b-c"], &["", "-a", "a b", "a:b", "a;b"]);
        assert_judged(
            is_service,
            &["webd.service"],
            &["webd", ".service", "a/b.service", "a@b.service", "-a.service"],
        );
    }

    #[test]
    fn paths() {
        let long = "a".repeat(257);
        let bad = [
            "", "/", "..", ".", "a/../b", "a/./b", "a//b", "a/", "../a", "...", "a b", "a\0b", "é", "a\\b",
            &long,
        ];
        assert_judged(is_relative_path, &["a", "etc/webd.toml", ".hidden/a", "a..b"], &bad);
        assert_judged(is_relative_path, &[], &["/a"]);
        assert_judged(is_absolute_path, &["/a", "/usr/local/bin/webd"], &bad);
        assert_judged(is_absolute_path, &[], &["a", "//a", "/a/../b", "/a/"]);
    }

    #[test]
    fn places() {
        assert_judged(
            is_host_address,
            &["198.18.0.1", "fd00::1", "127.0.0.1"],
            &[
                "",
                "0.0.0.0",
                "::",
                "224.0.0.1",
                "ff02::1",
                "255.255.255.255",
                "host",
                "10.0.0.1/8",
                "fe80::1%eth0",
                "::ffff:10.0.0.1",
            ],
        );
        assert_judged(
            is_url,
            &["http://a", "https://a.b:8080/c/d?e=f", "http://[fd00::1]:80/x"],
            &[
                "",
                "a",
                "ftp://a/b",
                "http://",
                "http:///b",
                "http://u:p@a/b",
                "http://a b/",
                "http://a/ b",
                "file:///etc/passwd",
            ],
        );
    }

    #[test]
    fn host_keys() {
        let blob = format!("AAAAC3NzaC1lZDI1NTE5{}", "A".repeat(48));
        let key = format!("ssh-ed25519 {blob}");
        assert_eq!(host_key(&format!("{key} root@host")), Some(&*key));
        assert_eq!(host_key(&key), Some(&*key));
        for bad in [
            "",
            "ssh-ed25519",
            &blob,
            &format!("ssh-rsa {blob}"),
            &format!("ssh-dss {blob}"),
            &format!("host {key}"),
            &key[..key.len() - 1],
            &key[..40],
            &format!("{key}===="),
            &key.replace("AAAA", "AA\nA"),
        ] {
            assert_eq!(host_key(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn modes_and_durations() {
        assert_eq!([mode("0644"), mode("755"), mode("000")], [Some(0o644), Some(0o755), Some(0)]);
        for bad in ["", "4755", "0o644", "648", "+64", "1644", "00644", "64"] {
            assert_eq!(mode(bad), None, "{bad}");
        }
        assert_eq!(duration("24h"), Some(Duration::from_secs(86_400)));
        assert_eq!(duration("1h30m5s"), Some(Duration::from_secs(5405)));
        assert_eq!(duration("90s"), Some(Duration::from_secs(90)));
        for bad in
            ["", "0s", "24", "1d", "1m1h", "1h1h", "-1h", "1.5h", "h", "8760h1s", "9999999s", "1h ", "5ms"]
        {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
