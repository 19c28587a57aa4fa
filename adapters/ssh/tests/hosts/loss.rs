//! Hosts that do not answer, and hosts that stop answering.

use std::net::SocketAddr;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use seaworthy_api::host::frame;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Architecture;
use seaworthy_ssh::{Hosts, Limits, Programs};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::fake_host::Wire;
use crate::setting::{OneKey, PROGRAM, REQUEST, Setting, address, after, ask, before, later, patient};
use crate::shell::{Behaviour, Shell, framed};

fn behaving(behaviour: Behaviour) -> Shell {
    Shell::behaving(PROGRAM, behaviour)
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_not_there_costs_the_time_of_one_connection() {
    let setting = Setting::new();
    let begin = Instant::now();
    let detail = before(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::ConnectionFailed);
    assert!(detail.contains("timed out"), "{detail}");
    assert_eq!(begin.elapsed().as_secs(), Limits::default().connect.as_secs());
}

#[tokio::test(start_paused = true)]
async fn no_wait_outlasts_the_deadline() {
    let setting = Setting::new();
    let silent = setting.net.put(&address(2), setting.host(behaving(Behaviour::Hang)));
    silent.set_wire(Wire::Silent);
    setting.net.put(&address(3), setting.host(behaving(Behaviour::Hang)));
    let hosts = setting.hosts();
    for number in [1, 2] {
        let deadline = Instant::now() + Duration::from_secs(3);
        before(
            hosts.exchange(&setting.connection(number), &framed(REQUEST), deadline).await,
            CauseKind::ConnectionFailed,
        );
        assert_eq!(Instant::now().duration_since(deadline).as_secs(), 0);
    }
    let deadline = Instant::now() + Duration::from_secs(300);
    let end = hosts.exchange(&setting.connection(3), &framed(REQUEST), deadline).await;
    assert!(after(end, CauseKind::ConnectionFailed).contains("deadline"));
    assert_eq!(Instant::now().duration_since(deadline).as_secs(), 0);
    assert_eq!(hosts.idle(), 0, "a session whose command goes on is not used again");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_given_up_leaves_no_connection_behind() {
    let setting = Setting::new();
    let mut host = setting.host(behaving(Behaviour::Hang));
    host.mute = true;
    let host = setting.net.put(&address(1), host);
    let begin = Instant::now();
    let detail = before(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::ConnectionFailed);
    assert!(detail.contains("login was not complete in time"), "{detail}");
    assert_eq!(begin.elapsed().as_secs(), Limits::default().login.as_secs());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((host.connections.load(SeqCst), host.open.load(SeqCst)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_closes_at_once_is_a_failed_connection() {
    let setting = Setting::new();
    let host = setting.net.put(&address(1), setting.host(behaving(Behaviour::Hang)));
    host.set_wire(Wire::Cut);
    let detail = before(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::ConnectionFailed);
    assert!(detail.contains("handshake"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_lost_in_mid_reply_leaves_the_order_open() {
    for wire in [Wire::Cut, Wire::Silent] {
        let setting = Setting::new();
        let host = setting.net.put(&address(1), setting.host(behaving(Behaviour::BreakWire(wire))));
        let hosts = setting.hosts();
        let begin = Instant::now();
        let detail = after(ask(&hosts, &setting.connection(1)).await, CauseKind::ConnectionFailed);
        assert!(detail.contains("lost"), "{detail}");
        assert!(begin.elapsed() < Duration::from_secs(90), "silence is noticed: {:?}", begin.elapsed());
        assert_eq!((hosts.idle(), host.commands_with(" serve")), (0, 1), "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_never_calls_the_program_does_not_get_the_order() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(Shell::Silent));
    let begin = Instant::now();
    let detail = before(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::ConnectionFailed);
    assert!(detail.contains("did not end in time"), "{detail}");
    assert_eq!(begin.elapsed().as_secs(), Limits::default().survey.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_host_that_says_goodbye_is_quoted() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(behaving(Behaviour::Disconnect)));
    let detail = after(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::ConnectionFailed);
    assert!(detail.contains("going down"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_none_or_too_long_is_a_protocol_error() {
    for bytes in [vec![0xff; 64], b"Welcome to web-1\n".to_vec()] {
        let setting = Setting::new();
        setting.net.put(&address(1), setting.host(behaving(Behaviour::Write(bytes))));
        let hosts = setting.hosts();
        let detail = after(ask(&hosts, &setting.connection(1)).await, CauseKind::ProtocolError);
        assert!(detail.contains("longer than"), "{detail}");
        assert_eq!(hosts.idle(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_ends_without_a_whole_reply_is_told_by_its_exit() {
    for bytes in [Vec::new(), framed(b"half a reply")[..9].to_vec()] {
        let setting = Setting::new();
        setting.net.put(&address(1), setting.host(behaving(Behaviour::Write(bytes))));
        let detail = after(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::DeliveryFailed);
        assert!(detail.contains("exit code 3"), "{detail}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_program_complains_is_kept_within_bounds() {
    let setting = Setting::new();
    setting.net.put(&address(1), setting.host(behaving(Behaviour::Complain(1 << 20))));
    let detail = after(ask(&setting.hosts(), &setting.connection(1)).await, CauseKind::DeliveryFailed);
    assert!(detail.contains("xxx") && detail.len() < 1000, "{} bytes", detail.len());
}

#[tokio::test(start_paused = true)]
async fn the_longest_reply_arrives_whole() {
    let setting = Setting::new();
    let body: Vec<u8> = (0..frame::REPLY_MAX).map(|n| n.to_le_bytes()[1]).collect();
    setting.net.put(&address(1), setting.host(behaving(Behaviour::Reply(body.clone()))));
    let exchange = ask(&setting.hosts(), &setting.connection(1)).await.unwrap();
    assert!(exchange.body == body, "the reply was changed on its way");
}

#[tokio::test(start_paused = true)]
async fn a_program_that_does_not_end_has_still_replied() {
    let setting = Setting::new();
    let host =
        setting.net.put(&address(1), setting.host(behaving(Behaviour::ReplyAndHang(b"done".to_vec()))));
    let hosts = setting.hosts();
    assert_eq!(ask(&hosts, &setting.connection(1)).await.unwrap().body, b"done");
    assert_eq!(hosts.idle(), 0, "its channel is still occupied");
    assert_eq!(ask(&hosts, &setting.connection(1)).await.unwrap().body, b"done");
    assert_eq!(host.connections.load(SeqCst), 2);
}

/// A listener on loopback, and how to get there.
async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn over_tcp(setting: &Setting) -> Hosts<OneKey> {
    let programs = Programs::new().with(Architecture::Amd64, PROGRAM.to_vec());
    Hosts::new(OneKey::from(&setting.operator_key), programs, patient())
}

fn at(setting: &Setting, address: SocketAddr) -> seaworthy_model::host::Connection {
    let mut connection = setting.connection(1);
    connection.address.ip = address.ip().to_string().into();
    connection.port = address.port();
    connection
}

#[tokio::test]
async fn a_port_where_nobody_listens_refuses() {
    let setting = Setting::new();
    let (listener, address) = listener().await;
    drop(listener);
    let end = over_tcp(&setting).exchange(&at(&setting, address), &framed(REQUEST), later()).await;
    let detail = before(end, CauseKind::ConnectionFailed);
    assert!(detail.contains("refused"), "{detail}");
}

#[tokio::test]
async fn a_port_where_something_else_listens_is_no_ssh_server() {
    let setting = Setting::new();
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let page = format!("HTTP/1.1 200 OK\r\nX-Filler: {}\r\n\r\n", "x".repeat(300));
        stream.write_all(page.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let end = over_tcp(&setting).exchange(&at(&setting, address), &framed(REQUEST), later()).await;
    let detail = before(end, CauseKind::ProtocolError);
    assert!(detail.contains("no SSH server"), "{detail}");
}

#[tokio::test]
async fn hosts_are_reached_through_tcp() {
    let setting = Setting::new();
    let (listener, address) = listener().await;
    let host = std::sync::Arc::new(setting.host(behaving(Behaviour::Reply(b"over tcp".to_vec()))));
    let server = std::sync::Arc::clone(&host);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(std::sync::Arc::clone(&server).serve(stream));
        }
    });
    let hosts = over_tcp(&setting);
    for _ in 0..30 {
        let exchange = hosts.exchange(&at(&setting, address), &framed(REQUEST), later()).await.unwrap();
        assert_eq!(exchange.body, b"over tcp");
    }
    assert_eq!(host.connections.load(SeqCst), 1, "thirty orders, one session");
}
