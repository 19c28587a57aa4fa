//! Sessions that are kept, given up and replaced.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use seaworthy_model::cause::CauseKind;
use seaworthy_ssh::Limits;
use tokio::time::{Instant, sleep};

use crate::fake_host::Wire;
use crate::setting::{PROGRAM, REQUEST, Setting, address, ask, before};
use crate::shell::{Behaviour, Shell, framed};

fn replying() -> Shell {
    Shell::replying(PROGRAM, b"reply")
}

/// Lets everything settle that needs no time.
async fn settle() {
    sleep(Duration::from_millis(10)).await;
}

#[tokio::test(start_paused = true)]
async fn a_kept_session_serves_the_next_order_without_another_look() {
    let setting = Setting::new();
    let host = setting.net.put(&address(1), setting.host(replying()));
    let hosts = setting.hosts();
    for _ in 0..5 {
        ask(&hosts, &setting.connection(1)).await.unwrap();
    }
    assert_eq!(host.connections.load(SeqCst), 1);
    assert_eq!(host.commands_with("sha256sum"), 1);
    assert_eq!(host.commands_with(""), 5, "the look and the first order are one command");
}

#[tokio::test(start_paused = true)]
async fn no_more_sessions_are_kept_than_allowed_and_those_that_go_are_closed() {
    let setting = Setting::new();
    let all: Vec<_> = (1..=3).map(|n| setting.net.put(&address(n), setting.host(replying()))).collect();
    let hosts = setting.hosts_with(Limits { idle: 2, ..Limits::default() });
    for number in 1..=3 {
        ask(&hosts, &setting.connection(number)).await.unwrap();
    }
    settle().await;
    assert_eq!(hosts.idle(), 2);
    let open: Vec<_> = all.iter().map(|host| host.open.load(SeqCst)).collect();
    assert_eq!(open, [0, 1, 1], "the least recently used is closed");
}

#[tokio::test(start_paused = true)]
async fn an_unused_session_is_closed_when_its_time_is_over() {
    let setting = Setting::new();
    let host = setting.net.put(&address(1), setting.host(replying()));
    let hosts = setting.hosts();
    ask(&hosts, &setting.connection(1)).await.unwrap();
    sleep(Limits::default().idle_time - Duration::from_secs(1)).await;
    assert_eq!((hosts.idle(), host.open.load(SeqCst)), (1, 1));
    sleep(Duration::from_secs(2)).await;
    assert_eq!((hosts.idle(), host.open.load(SeqCst)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_was_restarted_meanwhile_gets_its_order_on_a_new_session() {
    for wire in [Wire::Cut, Wire::Silent] {
        let setting = Setting::new();
        let old = setting.net.put(&address(1), setting.host(replying()));
        let hosts = setting.hosts();
        ask(&hosts, &setting.connection(1)).await.unwrap();
        old.set_wire(wire);
        let new = setting.net.put(&address(1), setting.host(Shell::replying(PROGRAM, b"back")));
        let begin = Instant::now();
        assert_eq!(ask(&hosts, &setting.connection(1)).await.unwrap().body, b"back", "{wire:?}");
        assert!(begin.elapsed() <= Limits::default().start, "{wire:?}: {:?}", begin.elapsed());
        assert_eq!(new.commands_with("sha256sum"), 1, "it is looked at anew");
    }
}

#[tokio::test(start_paused = true)]
async fn another_user_gets_another_session() {
    let setting = Setting::new();
    let host = setting.net.put(&address(1), setting.host(replying()));
    let hosts = setting.hosts();
    ask(&hosts, &setting.connection(1)).await.unwrap();
    let mut connection = setting.connection(1);
    Arc::make_mut(&mut connection.login).user = "admin".into();
    before(ask(&hosts, &connection).await, CauseKind::AuthenticationFailed);
    assert_eq!(host.connections.load(SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn orders_to_one_host_wait_for_each_other_up_to_their_deadline() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(Shell::behaving(PROGRAM, Behaviour::Hang)));
    setting.net.put(&address(2), setting.host(replying()));
    let hosts = Arc::new(setting.hosts());
    let (first, connection) = (Arc::clone(&hosts), setting.connection(1));
    let running = tokio::spawn(async move { ask(&first, &connection).await });
    settle().await;
    ask(&hosts, &setting.connection(2)).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let second = hosts.exchange(&setting.connection(1), &framed(REQUEST), deadline).await;
    before(second, CauseKind::HostBusy);
    running.abort();
    assert!(running.await.is_err());
    settle().await;
    let deadline = Instant::now() + Duration::from_secs(30);
    let third = hosts.exchange(&setting.connection(1), &framed(REQUEST), deadline).await;
    assert!(third.is_err_and(|failure| failure.cause().kind == CauseKind::ConnectionFailed), "its turn came");
}

#[tokio::test(start_paused = true)]
async fn an_order_that_is_given_up_closes_its_connection() {
    let setting = Setting::new();
    let host = setting.net.put(&address(1), setting.host(Shell::behaving(PROGRAM, Behaviour::Hang)));
    let hosts = Arc::new(setting.hosts());
    let (asking, connection) = (Arc::clone(&hosts), setting.connection(1));
    let running = tokio::spawn(async move { ask(&asking, &connection).await });
    settle().await;
    assert_eq!(host.open.load(SeqCst), 1);
    running.abort();
    settle().await;
    assert_eq!((host.open.load(SeqCst), hosts.idle()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn only_so_many_handshakes_are_under_way() {
    let setting = Setting::new();
    let limits = Limits { handshakes: 4, ..Limits::default() };
    let login = limits.login;
    let hosts = Arc::new(setting.hosts_with(limits));
    let mut waiting = tokio::task::JoinSet::new();
    for number in 10..18 {
        let mut mute = setting.host(replying());
        mute.mute = true;
        setting.net.put(&address(number), mute);
        let (hosts, connection) = (Arc::clone(&hosts), setting.connection(number));
        waiting.spawn(async move { ask(&hosts, &connection).await });
    }
    let begun = Instant::now();
    while let Some(end) = waiting.join_next().await {
        before(end.unwrap(), CauseKind::ConnectionFailed);
    }
    assert_eq!(begun.elapsed().as_secs(), 2 * login.as_secs(), "four by four");
}

#[tokio::test(start_paused = true)]
async fn hosts_that_accept_no_connection_keep_no_other_waiting() {
    let setting = Setting::new();
    setting.net.put(&address(9), setting.host(replying()));
    let hosts = Arc::new(setting.hosts_with(Limits { handshakes: 1, ..Limits::default() }));
    let mut waiting = tokio::task::JoinSet::new();
    for number in 10..30 {
        let (hosts, connection) = (Arc::clone(&hosts), setting.connection(number));
        waiting.spawn(async move { ask(&hosts, &connection).await });
    }
    settle().await;
    let begun = Instant::now();
    ask(&hosts, &setting.connection(9)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    while let Some(end) = waiting.join_next().await {
        before(end.unwrap(), CauseKind::ConnectionFailed);
    }
}
