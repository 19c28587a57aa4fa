//! Host keys, users, keys and Secrets.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use russh::keys::ssh_key::EcdsaCurve;
use russh::keys::{Algorithm, HashAlg};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Architecture;
use seaworthy_model::machine::HostKeyPolicy;
use seaworthy_ssh::{Hosts, KeyError, Limits, Programs};

use crate::fake_host::{FakeHost, fresh_key, pin};
use crate::setting::{OneKey, PROGRAM, Setting, address, ask, before};
use crate::shell::{Behaviour, Shell};

fn replying() -> Shell {
    Shell::replying(PROGRAM, b"reply")
}

#[tokio::test(start_paused = true)]
async fn an_order_gets_its_reply_and_the_hosts_key() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(replying()));
    let exchange = ask(&setting.hosts(), &setting.connection(1)).await.unwrap();
    assert_eq!(exchange.body, b"reply");
    assert_eq!(exchange.host_key, pin(&setting.host_key));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_host_key_gets_no_login() {
    let setting = Setting::new();
    let impostor = fresh_key(Algorithm::Ed25519);
    let keys = vec![impostor.clone()];
    let host = setting.net.put(&address(1), FakeHost::new(keys, "root", &setting.operator_key, replying()));
    let detail = before(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::HostKeyMismatch);
    for key in [&impostor, &setting.host_key] {
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        assert!(detail.contains(&fingerprint), "{detail} names {fingerprint}");
    }
    assert_eq!(host.attempts.load(SeqCst), 0);
    assert_eq!(setting.hosts().idle(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_a_pin_nobody_is_even_dialed() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(replying()));
    let mut connection = setting.connection(1);
    connection.host_keys = [].into();
    let detail = before(ask(&setting.hosts(), &connection).await, CauseKind::HostKeyUnknown);
    assert!(detail.contains("hostKeyPolicy"), "{detail}");
    assert_eq!(setting.net.dialed(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_key_is_trusted_when_asked_for_and_then_no_other() {
    let setting = Setting::new();
    let host = setting.net.put(&address(1), setting.host(replying()));
    let mut connection = setting.connection(1);
    connection.host_keys = [].into();
    connection.host_key_policy = HostKeyPolicy::TrustOnFirstUse;
    let hosts = setting.hosts();
    let first = ask(&hosts, &connection).await.unwrap();
    assert_eq!(first.host_key, pin(&setting.host_key));
    connection.host_keys = [first.host_key.into()].into();
    ask(&hosts, &connection).await.unwrap();
    assert_eq!(host.connections.load(SeqCst), 1, "recording the key costs no connection");
    connection.host_keys = [pin(&fresh_key(Algorithm::Ed25519)).into()].into();
    before(ask(&hosts, &connection).await, CauseKind::HostKeyMismatch);
    assert_eq!(host.connections.load(SeqCst), 2, "a kept session does not outlive its pin");
}

#[tokio::test(start_paused = true)]
async fn a_host_with_several_keys_shows_the_pinned_one() {
    let setting = Setting::new();
    let ecdsa = fresh_key(Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 });
    let keys = vec![setting.host_key.clone(), ecdsa.clone()];
    setting.net.put(&address(1), FakeHost::new(keys, "root", &setting.operator_key, replying()));
    let mut connection = setting.connection(1);
    connection.host_keys = [pin(&ecdsa).into()].into();
    let exchange = ask(&setting.hosts(), &connection).await.unwrap();
    assert_eq!(exchange.host_key, pin(&ecdsa));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_user_and_a_key_that_is_not_accepted_are_refused() {
    let setting = Setting::new();
    let host = setting.net.put(&address(1), setting.host(replying()));
    let mut connection = setting.connection(1);
    Arc::make_mut(&mut connection.login).user = "nobody-here".into();
    let detail = before(ask(&setting.hosts(), &connection).await, CauseKind::AuthenticationFailed);
    assert!(detail.contains("nobody-here") && detail.contains("publickey"), "{detail}");

    let stranger = Setting { operator_key: fresh_key(Algorithm::Ed25519), ..setting };
    before(ask(&stranger.hosts(), &stranger.connection(1)).await, CauseKind::AuthenticationFailed);
    assert_eq!(host.commands_with(""), 0);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_wants_more_than_a_key_is_an_authentication_failure() {
    let setting = Setting::new();
    let mut host = setting.host(replying());
    host.second_factor = true;
    setting.net.put(&address(1), host);
    let detail = before(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::AuthenticationFailed);
    assert!(detail.contains("more than a key") && detail.contains("password"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn secrets_that_are_missing_invalid_or_unread_are_told_apart() {
    let setting = Setting::new();
    let host = setting.net.put(&address(1), setting.host(replying()));
    for (error, kind) in [
        (KeyError::Missing("Secret fleet-key does not exist".into()), CauseKind::SecretMissing),
        (KeyError::Invalid("Secret fleet-key has no ssh-privatekey".into()), CauseKind::SecretInvalid),
        (KeyError::Unavailable("connection refused".into()), CauseKind::ApiUnavailable),
    ] {
        let programs = Programs::new().with(Architecture::Amd64, PROGRAM.to_vec());
        let keys = OneKey::failing(error);
        let hosts = Hosts::through(setting.net.clone(), keys, programs, Limits::default());
        before(ask(&hosts, &setting.connection(1)).await, kind);
    }
    assert_eq!(host.connections.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_none_is_named() {
    let setting = Setting::new();
    let mut connection = setting.connection(1);
    connection.address.ip = "web-1".into();
    let detail = before(ask(&setting.hosts(), &connection).await, CauseKind::ConnectionFailed);
    assert!(detail.contains("web-1"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn an_account_that_runs_no_commands_is_not_our_host() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(Shell::None));
    setting.net.put(&address(2), setting.host(Shell::NoLogin("This account is currently not available.\n")));
    let hosts = setting.hosts();
    before(ask(&hosts, &setting.connection(1)).await, CauseKind::DeliveryFailed);
    let detail = before(ask(&hosts, &setting.connection(2)).await, CauseKind::DeliveryFailed);
    assert!(detail.contains("currently not available"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn a_host_cannot_open_channels_to_us() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(Shell::behaving(PROGRAM, Behaviour::Intrude)));
    assert_eq!(ask(&setting.hosts(), &setting.connection(1)).await.unwrap().body, b"0");
}
